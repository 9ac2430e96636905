"""How a call's way ends: the text that the model is told, and what stays in its row. Pure.

Rule: the bytes go when the outcome is final; their digest and size stay.
Must not know: how it came to this end.
"""

from collections.abc import Iterable
from typing import Any

from pydantic import JsonValue

from services.messages import FINAL, Intent, IntentState
from services.moves import Move, Progress, Settled
from tools.request import canonical_text
from tools.size import cap

KEPT_VALUE_BYTES = 16_384
"""Of an answer that is kept for an undo: far more than the fields that one needs. Half a whole answer of what is not
kept would undo half an effect, so it is all or nothing."""

LEDGER_BYTES = 20_000_000
"""Rows of a run, all passes together. Restate takes no message of more than 32 MiB, and a handler gets the whole state
in one, so a run beyond that could be neither shown nor cancelled. A turn of 32 calls of the largest size adds 8 MB."""


def settle(progress: Progress, text: str, at: float, **outcome: Any) -> tuple[Progress, Move]:
    """The call is answered. `outcome`: what that means for its row, where it has one. Where the outcome is final the
    bytes go; their digest and size stay. The row keeps the text as the model is told it, and the receiver's answer only
    where an undo may need it."""
    text = str(cap(text, progress.caps.result_bytes))
    if progress.intent is not None:
        kept = None if outcome.get("state", progress.row.state) in FINAL else progress.row.request
        if "value" in outcome:
            outcome |= _for_undo(progress, outcome["value"])
        progress = progress.with_intent(**outcome, request=kept, result=text, settled_at=at)
    return progress, Settled(text)


def _for_undo(progress: Progress, value: JsonValue) -> dict[str, Any]:
    wanted = progress.does.undo is not None and not progress.row.undoes
    left_out = not wanted or len(canonical_text(value).encode(errors="surrogatepass")) > KEPT_VALUE_BYTES
    return {"value": None if left_out else value, "value_left_out": left_out}


def ledger_full(rows: Iterable[Intent]) -> str | None:
    """The sentence with which a run ends whose ledger holds as much as it may; None where there is room."""
    kept = sum(kept_bytes(row) for row in rows)
    if kept <= LEDGER_BYTES:
        return None
    most = LEDGER_BYTES / 1e6
    return f"its effects, of all passes, take {kept / 1e6:.0f} MB, and a run keeps {most:.0f}: use a new run id"


def kept_bytes(row: Intent) -> int:
    """What a row takes at most, about: its arguments stand in it as such, as identity and in the request; then the
    result, and the answer where it is kept."""
    text = row.result or ""
    result = len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))
    return 3 * row.size_bytes + result + (KEPT_VALUE_BYTES if row.value is not None else 0)


def landed(progress: Progress) -> Intent | None:
    """The row of a call whose run is being cancelled, after what was under way has ended. Nothing further is
    started."""
    intent = progress.intent
    if intent is None or intent.state in FINAL or intent.state is IntentState.NOT_SENT:
        return intent
    if progress.doubt is not None or intent.state is IntentState.UNKNOWN:
        reason = progress.doubt.reason if progress.doubt is not None else intent.reason
        return intent.model_copy(update={"state": IntentState.UNKNOWN, "reason": reason})
    reason = "the run was cancelled before this was sent"
    return intent.model_copy(update={"state": IntentState.NOT_SENT, "reason": reason})


def text_of(value: JsonValue) -> str:
    """What the model is told of a result: a text as it is, anything else as JSON."""
    if value is None:
        return "done, no value"
    if value == "":
        return "done, an empty text"
    return value if isinstance(value, str) else canonical_text(value)
