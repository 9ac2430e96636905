"""What runs inside the steps that reach a receiver: seal, send, look up.

Rule: each returns what happened and never raises for it. An effect leaves only within its send deadline and while the
receiver remembers its key, and one that may leave only once leaves only in the attempt that sealed it.
Must not know: Restate, what is done with an answer.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from services.busy import Busy
from services.clock import wall_s
from services.messages import Intent
from services.moves import Prepared, Progress
from tools.outcome import Answer, Doubt, Found, NotSent, Rejected, Unknown
from tools.plain import MISTAKES, describe
from tools.request import Request
from tools.status import only_of_itself
from tools.tool import Tool
from tools.wire import Wire

LEAVING = "the worker was leaving"
LEFT_OUT = (
    "the receiver's answer, which the undo is made from, was not kept: it was too large, or the tool had no undo when"
    " it came; take the effect back at the receiver"
)


@dataclass(frozen=True, slots=True)
class Sealed:
    """Result of a seal: the bytes of each intent, by key, and when (unix seconds)."""

    at: float
    prepared: dict[str, Prepared]
    kind: Literal["sealed"] = "sealed"


@dataclass(frozen=True, slots=True)
class Told:
    """Result of a send."""

    answer: Annotated[Answer, Field(discriminator="kind")]
    at: float
    kind: Literal["told"] = "told"


@dataclass(frozen=True, slots=True)
class Looked:
    """Result of a look-up."""

    found: Annotated[Found, Field(discriminator="kind")]
    at: float
    kind: Literal["looked"] = "looked"


def seal(intents: Sequence[tuple[Tool, Intent]]) -> Sealed:
    return Sealed(wall_s(), {intent.key: prepare(tool, intent) for tool, intent in intents})


def prepare(tool: Tool, intent: Intent) -> Prepared:
    """The bytes that were fixed before, or else new ones."""
    try:
        if intent.request is not None:
            request = Request.from_json(intent.request)
        elif intent.undoes is not None:
            assert tool.undo is not None
            if intent.value_left_out:
                return Prepared(None, failed=LEFT_OUT)
            request = tool.undo(intent.key, intent.value, **intent.arguments)
        else:
            request = tool.prepare(intent.key, intent.arguments)
    except MISTAKES as error:  # a tool author's code; nothing has left, so its failure is an answer
        return Prepared(None, failed=describe(error))
    return Prepared(request.to_json(), request.digest(), len(request.body))


async def read(wire: Wire, progress: Progress) -> Told:
    """A call that changes nothing."""
    assert progress.tool is not None
    try:
        request = progress.tool.prepare("", progress.arguments)
    except MISTAKES as error:  # a tool author's code, as above
        return Told(NotSent(describe(error), last=True), wall_s())
    return Told(await progress.tool.send(wire, "", request), wall_s())


async def send(wire: Wire, progress: Progress, sealed_here: Callable[[], bool], busy: Busy) -> Told:
    """One send of a sealed intent. `sealed_here`: this attempt ran the seal, so no earlier one can have sent.

    Where that is not so, "not sent" speaks of this attempt only, and the answer is Unknown.
    """
    intent, tool = progress.intent, progress.tool
    assert intent is not None and tool is not None and intent.request is not None
    first = sealed_here()
    if not first and not progress.policy.repeats_after_crash:
        return Told(Unknown("the worker died after this was armed; it may have been sent", Doubt.CRASHED), wall_s())
    request = Request.from_json(intent.request)
    may_leave = gate(progress, intent.armed_at or progress.sealed_at, busy)
    if intent.undoes is None:
        answer = await tool.send(wire, intent.key, request, may_leave)
    else:
        answer = await tool.send_undo(wire, intent.key, request, may_leave)
    if isinstance(answer, NotSent) and not first:
        answer = Unknown(
            f"a worker died after this was armed, and the repeat was not sent: {answer.reason}", Doubt.CRASHED
        )
    if isinstance(answer, Rejected) and not first and only_of_itself(answer):
        answer = Unknown(
            f"a worker died after this was armed, and the repeat was turned away: {answer.reason}", Doubt.CRASHED
        )
    return Told(answer, wall_s())


def gate(progress: Progress, armed_at: float, busy: Busy) -> Callable[[], str | None]:
    """The last look at the clock before the bytes leave. What a next worker could not repeat does not leave from a
    worker that is leaving itself: here it still can be recorded that it was not sent."""
    assert progress.tool is not None
    until = progress.sealed_at + progress.tool.send_deadline_s
    age_s = progress.caps.safe_age_s(progress.tool) if progress.policy.within_lifetime else None

    def may_leave() -> str | None:
        now = wall_s()
        if busy.leaving and not progress.policy.repeats_after_crash:
            return LEAVING
        if now > until:
            return f"the send deadline was over by {now - until:.1f} s"
        if age_s is not None and now > armed_at + age_s:
            return f"the key is {now - armed_at:.0f} s old; the receiver may have forgotten it"
        return None

    return may_leave


async def look_up(wire: Wire, progress: Progress) -> Looked:
    intent, tool = progress.intent, progress.tool
    assert intent is not None and tool is not None
    return Looked(await tool.look_up(wire, intent.key, intent.arguments), wall_s())
