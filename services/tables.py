"""What Restate's own tables say about runs, as values: the only SQL.

Rule: invocations are read before the records, so that a run that ends in between is seen as ended, not as abandoned.
Whatever comes from outside stands in the SQL as a quoted text. No worker is needed for any of this.
Must not know: HTTP, what is made of the values.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from services import state
from services.codec import codec
from services.decision import encrypted_slots, slots_of
from services.encrypted import PartlyEncrypted
from services.ledger import in_order
from services.messages import Begun, DecideRequest, RunEnd, RunRequest, RunRow, Tombstone
from services.overview import Overview, Record, Seen, overview
from services.rulings import Slots
from services.trouble import Cause, Failure, Invocation
from services.vault import Unreadable
from services.versions import Open

T = TypeVar("T")
B = TypeVar("B", bound=BaseModel)
Row = dict[str, Any]
Query = Callable[[str], Sequence[Row]]
"""Runs one SELECT; the rows by column name."""

RUNS_PER_QUERY = 100
"""So many run ids stand in one query: with ids of the longest allowed size that is a query of some 20 kB."""
SERVICES = "('Agent', 'Decision')"
SLOTS = slots_of("")
CANCEL_SIGNAL = '%"Signal":{"id":{"Index":1}%'
"""Restate's number for the signal that cancels an invocation."""


def look(query: Query, run_ids: Sequence[str], *, whole: bool = True) -> list[Overview]:
    """The runs that are known, as they stand, in the order of the ids. `whole`: with what is final in the ledger."""
    found = {each.run_id: each for each in _look(query, run_ids, whole)}
    doubtful = [name for name, each in found.items() if each.trouble is not None and each.trouble.cause is Cause.ABSENT]
    # A pass that began between the two readings looks like one that nobody carries on: a second look tells.
    found |= {each.run_id: each for each in _look(query, doubtful, whole)}
    return [found[run_id] for run_id in run_ids if run_id in found]


def open_runs(query: Query) -> list[str]:
    """Ids of all runs that have not ended: those that Restate carries on, and those that were killed."""
    live = query(
        "SELECT DISTINCT target_service_key AS run_id FROM sys_invocation WHERE status <> 'completed'"
        " AND target_service_name = 'Agent' AND target_handler_name IN ('run', 'submit', 'decide', 'cancel')"
    )
    begun = query(
        "SELECT r.service_key AS run_id FROM state r LEFT JOIN state e"
        " ON e.service_name = r.service_name AND e.service_key = r.service_key AND e.key = 'end'"
        " WHERE r.service_name = 'Agent' AND r.key = 'run' AND (e.key IS NULL OR"
        " json_get_int(e.value_utf8, 'pass_number') < json_get_int(r.value_utf8, 'pass_number'))"
    )
    return sorted({str(row["run_id"]) for row in (*live, *begun)})


def doubtful_runs(query: Query) -> list[str]:
    """Ids of the runs that may be stuck: something of them has failed or is paused, or was killed since Restate last
    cleared away what has ended. A closer look tells."""
    rows = query(
        "SELECT DISTINCT target_service_key AS run_id FROM sys_invocation"
        f" WHERE target_service_name IN {SERVICES} AND ("
        "(status <> 'completed' AND (status = 'paused' OR last_failure IS NOT NULL))"
        " OR (status = 'completed' AND target_handler_name = 'run' AND completion_failure LIKE '%killed%'))"
    )
    return sorted(str(row["run_id"]) for row in rows)


def open_calls(query: Query) -> tuple[Open, ...]:
    """How many calls have not ended, by the deployment that they are bound to, target and state."""
    rows = query(
        "SELECT pinned_deployment_id, target_service_name, target_handler_name, status, count(1) AS calls"
        " FROM sys_invocation WHERE status <> 'completed'"
        " GROUP BY pinned_deployment_id, target_service_name, target_handler_name, status"
    )
    return tuple(
        Open(
            row.get("pinned_deployment_id"),
            f"{row['target_service_name']}/{row['target_handler_name']}",
            row["status"],
            int(row["calls"]),
        )
        for row in rows
    )


def runs_on(query: Query, deployment: str, most: int) -> list[str]:
    """Open runs that are bound to a deployment, the oldest first."""
    rows = query(
        "SELECT target_service_key FROM sys_invocation WHERE status <> 'completed' AND target_service_name = 'Agent'"
        f" AND target_handler_name = 'run' AND pinned_deployment_id = {quoted(deployment)}"
        f" ORDER BY created_at LIMIT {most}"
    )
    return [row["target_service_key"] for row in rows]


def ended_calls(query: Query, run_id: str, session: str | None = None) -> list[str]:
    """The ended calls in whose journals something of this run may stand: its own, those of the session that it belongs
    to and the one that carried it for that, and those that told others of it."""
    run = quoted(run_id)
    own = f"target_service_name IN {SERVICES} AND target_service_key = {run}"
    rows = query(f"SELECT id, status, invoked_by_id FROM sys_invocation WHERE {own}")
    ids = {str(row["id"]) for row in rows}
    around = {str(row["invoked_by_id"]) for row in rows if row.get("invoked_by_id")}
    known = ", ".join(quoted(each) for each in sorted(ids | around)) or "''"
    rows = query(
        "SELECT id FROM sys_invocation WHERE status = 'completed' AND"
        f" (id IN ({known}) OR (target_service_name = 'Notice' AND (invoked_by_id IN ({known})"
        "  OR invoked_by_service_name = 'Lookout'))"
        f" OR (target_service_name = 'Session' AND target_service_key = {quoted(session or '')}))"
    )
    return sorted(str(row["id"]) for row in rows)


def request_of(query: Query, invocation: str) -> RunRequest | None:
    """The request that began a run; None where Restate no longer keeps its journal."""
    return inputs(query, [invocation], RunRequest).get(invocation)


def inputs(query: Query, invocations: Sequence[str], kind: type[B]) -> dict[str, B]:
    """The bodies that calls came with, by invocation; without those that are not kept or do not fit."""
    found: dict[str, B] = {}
    if not invocations:
        return found
    ids = ", ".join(quoted(each) for each in invocations)
    for row in query(f"SELECT id, entry_json FROM sys_journal WHERE id IN ({ids}) AND index = 0"):
        command = json.loads(row["entry_json"]).get("Command", {}).get("Input", {})
        with suppress(ValidationError, ValueError):
            found[row["id"]] = kind.model_validate_json(bytes(command.get("payload", [])))
    return found


def quoted(value: str) -> str:
    """A text as SQL writes it."""
    return "'" + value.replace("'", "''") + "'"


def _look(query: Query, run_ids: Sequence[str], whole: bool) -> Iterator[Overview]:
    for start in range(0, len(run_ids), RUNS_PER_QUERY):
        some = run_ids[start : start + RUNS_PER_QUERY]
        ids = ", ".join(quoted(run_id) for run_id in some)
        at = time_s(query("SELECT now() AS now")[0]["now"])
        invocations = _by_run(_invocations(query, ids))
        live = [each for listed in invocations.values() for each in listed if each.live]
        failures = _failures(query, [each.id for each in live if each.failure or each.status == "paused"])
        given = inputs(query, [each.id for each in live if each.handler == "decide"], DecideRequest)
        cancelled = _cancelled(query, [each.id for each in live if each.handler == "run" and not each.waits])
        entries: dict[str, list[Row]] = {}
        for row in _entries(query, ids, whole):
            entries.setdefault(row["service_key"], []).append(row)
        for run_id in some:
            kept = record(entries.get(run_id, []))
            calls = tuple(asking(each, given.get(each.id)) for each in invocations.get(run_id, ()))
            seen = Seen(run_id, at, kept, calls, failures, cancelled)
            if (found := overview(seen)) is not None:
                yield found


def asking(call: Invocation, given: DecideRequest | None) -> Invocation:
    """With what it asks for, where it is a decision that no worker has answered yet."""
    return call if given is None else replace(call, asks=f"{given.decision.value} {given.key}")


def _invocations(query: Query, ids: str) -> Sequence[Row]:
    return query(
        "SELECT i.id, i.target_service_name, i.target_service_key, i.target_handler_name, i.status, i.created_at,"
        " i.scheduled_start_at, i.retry_count, i.last_start_at, i.last_failure, i.last_failure_error_code,"
        " i.completion_failure, d.endpoint FROM sys_invocation i LEFT JOIN sys_deployment d"
        " ON d.id = COALESCE(i.pinned_deployment_id, i.last_attempt_deployment_id)"
        f" WHERE i.target_service_name IN {SERVICES} AND i.target_service_key IN ({ids})"
        " AND (i.status <> 'completed' OR i.target_handler_name = 'run') AND i.target_handler_name <> 'bury'"
        " ORDER BY i.created_at"
    )


def _by_run(rows: Iterable[Row]) -> dict[str, list[Invocation]]:
    found: dict[str, list[Invocation]] = {}
    for row in rows:
        found.setdefault(row["target_service_key"], []).append(invocation(row))
    return found


def invocation(row: Row) -> Invocation:
    return Invocation(
        id=row["id"],
        service=row["target_service_name"],
        handler=row["target_handler_name"],
        status=row["status"],
        created_at=time_s(row["created_at"]),
        start_at=time_s(row["scheduled_start_at"]) if row.get("scheduled_start_at") else None,
        tries=int(row.get("retry_count") or 0),
        last_start_at=time_s(row["last_start_at"]) if row.get("last_start_at") else None,
        failure=row.get("last_failure"),
        code=row.get("last_failure_error_code"),
        endpoint=row.get("endpoint"),
        ended_with=row.get("completion_failure"),
    )


def _failures(query: Query, invocations: Sequence[str]) -> dict[str, list[Failure]]:
    found: dict[str, list[Failure]] = {}
    if not invocations:
        return found
    ids = ", ".join(quoted(each) for each in invocations)
    for row in query(
        "SELECT id, appended_at, after_journal_entry_index, event_type, event_json FROM sys_journal_events"
        f" WHERE id IN ({ids}) AND event_type IN ('TransientError', 'Paused')"
    ):
        found.setdefault(row["id"], []).append(failure(row))
    return found


def failure(row: Row) -> Failure:
    paused = row["event_type"] == "Paused"
    event = json.loads(row["event_json"])
    said = (event.get("last_failure") or {}) if paused else event
    return Failure(
        at=time_s(row["appended_at"]),
        after=int(row["after_journal_entry_index"]),
        paused=paused,
        code=said.get("restate_doc_error_code"),
        text=said.get("error_message"),
    )


def _cancelled(query: Query, invocations: Sequence[str]) -> frozenset[str]:
    if not invocations:
        return frozenset()
    ids = ", ".join(quoted(each) for each in invocations)
    rows = query(
        f"SELECT DISTINCT id FROM sys_journal WHERE id IN ({ids}) AND entry_type = 'Notification: Signal'"
        f" AND entry_json LIKE {quoted(CANCEL_SIGNAL)}"
    )
    return frozenset(str(row["id"]) for row in rows)


def _entries(query: Query, ids: str, whole: bool) -> Sequence[Row]:
    some = "" if whole else f" AND key NOT LIKE {quoted(state.INTENT + '%')}"
    return query(
        "SELECT service_name, service_key, key, value FROM state"
        f" WHERE service_name IN {SERVICES} AND service_key IN ({ids}){some}"
    )


def record(rows: Iterable[Row]) -> Record:
    """The entries of one run. `value` is the entry's bytes in hex, as the run wrote them."""
    begun: Begun | None = None
    single: RunRow | None = None
    end: RunEnd | Tombstone | None = None
    intents: dict[str, Any] = {}
    slots: dict[str, Slots] = {}
    unreadable: dict[str, str] = {}
    # What is final is believed before what is open, as the run itself does.
    for row in sorted(rows, key=lambda row: row["key"].startswith(state.INTENT)):
        run_id, name, value = row["service_key"], row["key"], bytes.fromhex(row["value"])
        try:
            if row["service_name"] == "Decision":
                if name.startswith(SLOTS):
                    parcel = encrypted_slots(run_id, name).deserialize(value)
                    slots[name.removeprefix(SLOTS)] = parcel.open() if parcel is not None else Slots()
            elif name.startswith((state.OPEN, state.INTENT)):
                intents[name.rpartition("/")[2]] = state.encrypted_intent(run_id, name).deserialize(value)
            elif name == state.BEGUN:
                begun = lenient(state.encrypted_begun, run_id, value, unreadable, name)
            elif name == state.RUN:
                single = lenient(state.encrypted_row, run_id, value, unreadable, name)
            elif name == state.END:
                end = codec(RunEnd, Tombstone).deserialize(value)
        except Unreadable as error:
            unreadable[name] = str(error)
    return Record(
        begun=begun,
        row=single,
        end=end,
        intents=tuple(in_order(intents.values())),
        slots=slots,
        unreadable=unreadable,
    )


def lenient(
    codec_of: Callable[..., PartlyEncrypted[T]], run_id: str, value: bytes, unreadable: dict[str, str], name: str
) -> T | None:
    """The row; what of it is encrypted under a key that is not here is blank, and named."""
    try:
        return codec_of(run_id).deserialize(value)
    except Unreadable as error:
        unreadable[name] = str(error)
        return codec_of(run_id, lenient=True).deserialize(value)


def time_s(text: str) -> float:
    """Unix seconds of a time as the tables write it; without a zone it is UTC."""
    read = datetime.fromisoformat(text)
    return (read if read.tzinfo is not None else read.replace(tzinfo=UTC)).timestamp()
