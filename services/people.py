"""Asking people from a run that stands still meanwhile.

Rule: the question is recorded by the run's `Decision` object; its answer wakes the run at once. The name that wakes it
belongs to one invocation and is told in a call, so it comes from a recorded result: another invocation that goes on
from this journal must make the same call. It learns from the step after the timer that it is another one, and asks
anew. The run also asks again by itself now and then.
Must not know: what the question is about.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

import restate
from restate import ObjectContext, RestateDurableFuture

from services.codec import codec
from services.decision import Heard, Put, put
from services.encrypted import Parcel
from services.journal import Journal, Step
from services.messages import Question, Ruling

REMIND_FIRST_S = 30.0
REMIND_MAX_S = 3600.0


@dataclass(frozen=True, slots=True)
class Named:
    """Result of the step before a question: the name that wakes the run."""

    awakeable: str
    kind: Literal["named"] = "named"


@dataclass(frozen=True, slots=True)
class Listening:
    """Result of the step after the timer of a wait."""

    kind: Literal["listening"] = "listening"


def naming(journal: Journal, about: str, awakeable: str) -> Step[Named]:
    async def name() -> Named:
        return Named(awakeable)

    return journal.step(f"ask {about}", (Named,), name)


def listening(journal: Journal, about: str) -> Step[Listening]:
    async def listen() -> Listening:
        return Listening()

    return journal.step(f"listen {about}", (Listening,), listen)


def pause_s(reminder_s: float, question: Question, heard: Heard, expires_s: float | None) -> float:
    """How long to sleep before the question is put again: the reminder, or less where an approval expires before."""
    if question.kind != "approval" or expires_s is None:
        return reminder_s
    return max(0.0, min(reminder_s, heard.asked_at + expires_s - heard.at))


def put_to(
    ctx: ObjectContext, question: Question, awakeable: str, expires_s: float | None, key: str
) -> RestateDurableFuture[Heard]:
    """The question is put to the run's `Decision`. `key`: what it is encrypted under."""
    return ctx.object_call(
        put, ctx.key(), Parcel(Put(question=question, awakeable=awakeable, expires_s=expires_s), key)
    )


async def ask(
    ctx: ObjectContext, journal: Journal, question: Question, expires_s: float | None
) -> tuple[Ruling, float]:
    """The ruling, and for how many seconds the run stood still."""
    own, answer = ctx.awakeable(serde=codec(Ruling))
    named = await journal.result(naming(journal, question.key, own))
    reminder_s = REMIND_FIRST_S
    while True:
        heard = await put_to(ctx, question, named.awakeable, expires_s, journal.key)
        if heard.ruling is not None:
            return heard.ruling, max(0.0, heard.ruling.at - heard.asked_at)
        timer = ctx.sleep(timedelta(seconds=pause_s(reminder_s, question, heard, expires_s)))
        await journal.result(listening(journal, question.key))
        completed, _ = await restate.wait_completed(answer, timer)
        if answer in completed:
            ruling: Ruling = await answer
            return ruling, max(0.0, ruling.at - heard.asked_at)
        reminder_s = min(REMIND_MAX_S, 2 * reminder_s)
