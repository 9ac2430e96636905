"""From the rows of Restate's tables to values, and what stands in the SQL."""

from collections.abc import Sequence
from typing import Any

import pytest
from pydantic import BaseModel

from services.messages import Intent, IntentState, RunRequest, Tombstone
from services.tables import RUNS_PER_QUERY, failure, invocation, look, open_runs, quoted, record, request_of, time_s
from tests.services.seen import KEY, approval, begun, end, intent, row, slots


def entry(name: str, value: BaseModel | bytes, service: str = "Agent") -> dict[str, Any]:
    body = value if isinstance(value, bytes) else value.model_dump_json().encode()
    return {"service_name": service, "service_key": "r1", "key": name, "value": body.hex()}


class Tables:
    """Answers queries from a list; what is in a query's text is remembered."""

    def __init__(self, **rows: Sequence[dict[str, Any]]) -> None:
        self.rows = {"sys_invocation i": [], "FROM state": [], **rows}
        self.asked: list[str] = []

    def __call__(self, sql: str) -> Sequence[dict[str, Any]]:
        self.asked.append(sql)
        if "now()" in sql:
            return [{"now": "2026-11-29T18:17:03.233125350"}]
        return next((rows for name, rows in self.rows.items() if name in sql), [])


def test_times_are_read_with_and_without_a_zone() -> None:
    assert time_s("1970-01-01T00:00:01.5Z") == 1.5
    assert time_s("1970-01-01T00:00:02") == 2
    assert time_s("1970-01-01T00:00:03.233125350") == pytest.approx(3.233125)


def test_every_entry_of_a_run_is_read() -> None:
    kept = record(
        [
            entry("begun", begun()),
            entry("run", row()),
            entry("end", end()),
            entry("root", b'"df34400f-548e-4e88-a608-e4d4c511fbe0"'),
            entry(f"open/{KEY}", intent()),
            entry(f"slots/{KEY}", slots(approval())[KEY], "Decision"),
            entry("stop", b"{}", "Decision"),
        ]
    )
    assert (kept.begun, kept.row, kept.end, kept.intents) == (begun(), row(), end(), (intent(),))
    assert kept.slots == slots(approval())
    assert not kept.unreadable


@pytest.mark.parametrize("backwards", [False, True])
def test_what_is_final_is_believed_before_what_is_open(backwards: bool) -> None:
    rows = [entry(f"intent/{KEY}", intent(IntentState.DONE)), entry(f"open/{KEY}", intent(IntentState.ARMED))]
    kept = record(reversed(rows) if backwards else rows)
    assert [each.state for each in kept.intents] == [IntentState.DONE]


def test_a_tombstone_is_an_end() -> None:
    stone = Tombstone(digest="d", state=end().state, ended_at=4)
    assert record([entry("end", stone)]).end == stone


def test_an_entry_of_another_version_is_named_and_hides_nothing_else() -> None:
    kept = record([entry("begun", begun()), entry("run", b'{"state": "dancing"}'), entry(f"open/{KEY}", b"not JSON")])
    assert kept.begun == begun()
    assert sorted(kept.unreadable) == [f"open/{KEY}", "run"]


@pytest.mark.parametrize("text", ["", "r1", "o'b", "'", "''", "x' OR '1'='1", "\\'", "a\nb", "; DROP TABLE state; --"])
def test_a_text_cannot_leave_its_quotes(text: str) -> None:
    made = quoted(text)
    assert made[0] == made[-1] == "'"
    assert made[1:-1].replace("''", "").count("'") == 0
    assert made[1:-1].replace("''", "'") == text


def test_a_run_id_stands_in_every_query_as_a_quoted_text() -> None:
    tables = Tables()
    assert look(tables, ["x' OR '1'='1"]) == []
    assert [sql for sql in tables.asked if "OR '1'" in sql] == []
    assert sum("'x'' OR ''1''=''1'" in sql for sql in tables.asked) == 2


def test_many_runs_are_asked_for_in_several_queries() -> None:
    tables = Tables()
    look(tables, [f"r{number}" for number in range(2 * RUNS_PER_QUERY + 1)])
    assert sum("sys_invocation i" in sql for sql in tables.asked) == 3


def test_runs_come_in_the_order_in_which_they_were_asked_for() -> None:
    rows = [{**entry("begun", begun()), "service_key": name} for name in ("a", "b")]
    rows += [{**entry("end", end()), "service_key": name} for name in ("a", "b")]
    found = look(Tables(**{"FROM state": rows}), ["b", "nobody", "a"])
    assert [each.run_id for each in found] == ["b", "a"]


def test_open_runs_are_the_live_ones_and_the_begun_ones() -> None:
    tables = Tables(**{"FROM sys_invocation": [{"run_id": "b"}, {"run_id": "a"}], "FROM state r": [{"run_id": "b"}]})
    del tables.rows["FROM state"], tables.rows["sys_invocation i"]
    assert open_runs(tables) == ["a", "b"]


def test_an_invocation_is_read_from_its_row() -> None:
    read = invocation(
        {
            "id": "inv_1",
            "target_service_name": "Agent",
            "target_handler_name": "run",
            "status": "backing-off",
            "created_at": "1970-01-01T00:00:01Z",
            "retry_count": 7,
            "last_start_at": "1970-01-01T00:00:02Z",
            "last_failure": "[500] no",
            "last_failure_error_code": "RT0010",
            "endpoint": "http://w/",
        }
    )
    assert (read.tries, read.last_start_at, read.failure, read.code, read.endpoint) == (
        7,
        2,
        "[500] no",
        "RT0010",
        "http://w/",
    )
    assert (read.start_at, read.live, read.waits) == (None, True, False)


@pytest.mark.parametrize(
    ("kind", "event", "said"),
    [
        ("TransientError", '{"error_message":"no","restate_doc_error_code":"RT0010"}', ("RT0010", "no")),
        ("Paused", '{"last_failure":{"error_message":"no","restate_doc_error_code":"RT0016"}}', ("RT0016", "no")),
        ("Paused", '{"ty":"Paused","last_failure":null}', (None, None)),
        ("Paused", '{"ty":"Paused"}', (None, None)),
    ],
)
def test_a_failure_is_read_from_its_event(kind: str, event: str, said: tuple[str | None, str | None]) -> None:
    row = {
        "event_type": kind,
        "event_json": event,
        "appended_at": "1970-01-01T00:00:09Z",
        "after_journal_entry_index": 4,
    }
    read = failure(row)
    assert (read.at, read.after, read.paused, (read.code, read.text)) == (9, 4, kind == "Paused", said)


EMPTY = '{"Command":{"Input":{"payload":[1,2]}}}'


def test_the_request_is_read_from_the_journal_where_it_is_kept() -> None:
    request = RunRequest(task="refund", unknown="tell")
    payload = list(request.model_dump_json(exclude_none=True).encode())
    kept = [{"id": "inv_1", "entry_json": f'{{"Command":{{"Input":{{"headers":[],"payload":{payload}}}}}}}'}]
    assert request_of(Tables(sys_journal=kept), "inv_1") == request
    assert request_of(Tables(), "inv_1") is None
    assert request_of(Tables(sys_journal=[{**kept[0], "entry_json": EMPTY}]), "inv_1") is None


def test_intents_are_read_as_they_were_written() -> None:
    written = intent(IntentState.UNKNOWN, reason="no answer")
    assert record([entry(f"open/{KEY}", written)]).intents == (Intent.model_validate(written.model_dump()),)
