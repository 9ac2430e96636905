"""What callers see of a run: its end, its status, its ledger. Pure.

Rule: outward names are stable and few; a caller never sees the bytes of a request, only their digest and size. Restate
keeps answers as they are, so a worker that encrypts withholds texts and arguments from them.
Must not know: Restate, how anything is kept.
"""

from collections.abc import Sequence

from pydantic import JsonValue

from services.messages import Begun, Intent, Question, RunEnd, RunRow, RunState, Tombstone

Shown = dict[str, JsonValue]


WITHHELD: Shown = {"arguments": None, "identity": None, "result": None, "reason": None, "withheld": True}
"""In place of what would be readable in Restate's tables, because answers are kept there as they are."""
WITHHELD_TEXT = "withheld, as this worker encrypts: `python -m services.cli status` shows it to who has the key"


def intent(row: Intent, *, withhold: bool = False) -> Shown:
    """One row of the ledger."""
    shown: Shown = row.model_dump(mode="json", exclude={"request", "schema_number", "pass_number", "value"})
    return {"key": row.key, "pass": row.pass_number, **shown, **(WITHHELD if withhold else {})}


def question(row: Question, *, withhold: bool = False) -> Shown:
    texts: Shown = {"text": WITHHELD_TEXT, "evidence": []} if withhold else {}
    return {**row.model_dump(mode="json"), **texts, "choices": [choice.value for choice in row.choices()]}


def end(run_id: str, row: RunEnd, rows: Sequence[Intent], *, replayed: bool, withhold: bool = False) -> Shown:
    """The answer to `run`: how it ended, and what happened outside."""
    return {
        "run_id": run_id,
        "state": row.state.value,
        "reason": row.reason,
        "detail": row.detail,
        "answer": row.answer,
        **({} if row.message is None else {"message": row.message}),
        "pass": row.pass_number,
        **row.used.model_dump(mode="json"),
        "replayed": replayed,
        "ended_at": row.at,
        "refused": list(row.refused),
        **anew(row),
        "ledger": [intent(each, withhold=withhold) for each in rows],
    }


def anew(row: RunEnd) -> Shown:
    """How a run that did not complete is begun anew. Asked for again as it was, it is answered from the record."""
    if row.state is RunState.COMPLETED:
        return {}
    further = row.pass_number + 1
    return {"anew": f'the same request with "again": {further} begins a further pass; what is done is not repeated'}


def status(
    run_id: str,
    begun: Begun,
    row: RunRow | None,
    last: RunEnd | None,
    rows: Sequence[Intent],
    *,
    withhold: bool = False,
) -> Shown:
    """The answer to `status`: where the run stands, what it waits for and since when, what it has used."""
    if last is not None and (row is None or last.pass_number >= row.pass_number):
        return {
            **end(run_id, last, rows, replayed=False, withhold=withhold),
            "task": begun.task,
            "invocation_id": begun.invocation,
        }
    if row is None:
        row = RunRow(
            digest=begun.digest, pass_number=1, state=RunState.RUNNING, reason="the first reply is awaited", since=0
        )
    return {
        "run_id": run_id,
        "state": row.state.value,
        "reason": WITHHELD_TEXT if withhold and row.reason else row.reason,
        "since": row.since or None,
        "until": row.until,
        "pass": row.pass_number,
        **row.used.model_dump(mode="json"),
        "left": dict(row.left),
        "refused": list(row.refused),
        "questions": [question(each, withhold=withhold) for each in row.questions],
        "task": begun.task,
        "invocation_id": begun.invocation,
        "ledger": [intent(each, withhold=withhold) for each in rows],
    }


def gone(run_id: str, stone: Tombstone) -> str:
    ended = f"run {run_id} ended as {stone.state.value} and is forgotten, or past its retention"
    return f"{ended}; only that is kept of it. Use a new run id."
