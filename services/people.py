"""Asking people from a run that stands still meanwhile.

Rule: the question is recorded by the run's `Decision` object; its answer wakes the run at once. The run also asks
again by itself now and then, because a run that was restarted is woken under another name than the one it had told.
Must not know: what the question is about.
"""

from datetime import timedelta

import restate
from restate import ObjectContext, RestateDurableFuture

from services.codec import codec
from services.decision import Heard, Put, put
from services.messages import Question, Ruling
from services.sealed import Parcel

REMIND_FIRST_S = 30.0
REMIND_MAX_S = 3600.0


def pause_s(reminder_s: float, question: Question, heard: Heard, expires_s: float | None) -> float:
    """How long to sleep before the question is put again: the reminder, or less where an approval expires before."""
    if question.kind != "approval" or expires_s is None:
        return reminder_s
    return max(0.0, min(reminder_s, heard.asked_at + expires_s - heard.at))


def put_to(
    ctx: ObjectContext, question: Question, awakeable: str, expires_s: float | None, key: str
) -> RestateDurableFuture[Heard]:
    """The question is put to the run's `Decision`. `key`: what it is sealed under."""
    return ctx.object_call(
        put, ctx.key(), Parcel(Put(question=question, awakeable=awakeable, expires_s=expires_s), key)
    )


async def ask(ctx: ObjectContext, question: Question, expires_s: float | None, key: str) -> tuple[Ruling, float]:
    """The ruling, and for how many seconds the run stood still. `key`: what the question is sealed under."""
    name, answer = ctx.awakeable(serde=codec(Ruling))
    reminder_s = REMIND_FIRST_S
    while True:
        heard = await put_to(ctx, question, name, expires_s, key)
        if heard.ruling is not None:
            return heard.ruling, max(0.0, heard.ruling.at - heard.asked_at)
        timer = ctx.sleep(timedelta(seconds=pause_s(reminder_s, question, heard, expires_s)))
        completed, _ = await restate.wait_completed(answer, timer)
        if answer in completed:
            ruling: Ruling = await answer
            return ruling, max(0.0, ruling.at - heard.asked_at)
        reminder_s = min(REMIND_MAX_S, 2 * reminder_s)
