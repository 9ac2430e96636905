"""How a call's way ends: the text that the model is told, and what stays in its row. Pure.

Rule: the bytes go when the outcome is final; their digest and size stay.
Must not know: how it came to this end.
"""

from typing import Any

from pydantic import JsonValue

from services.messages import FINAL, Intent, IntentState
from services.moves import Move, Progress, Settled
from tools.request import canonical_text
from tools.size import cap

KEPT_VALUE_BYTES = 16_384
"""Of an answer that is kept for an undo: far more than the fields that one needs. Half a whole answer of what is not
kept would undo half an effect, so it is all or nothing."""


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
