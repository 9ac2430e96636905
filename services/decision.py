"""The object `Decision`, keyed by run id: what people were asked about a run's intents, and what they answered.

Rule: each handler is exclusive and short; it records first and wakes the run afterwards. So of two decisions at once
one gets 409, and a decision survives a kill of the run and may come before the run asks. Questions hold texts, so they
are encrypted under the key of the run that asks; an answer is as readable as the request that it came with.
Must not know: how a run goes on with an answer.
"""

from restate import ObjectContext, TerminalError, VirtualObject

from services.codec import codec
from services.encrypted import Parcel, ParcelCodec
from services.messages import DecideRequest, Kept, Question, Ruling
from services.rulings import Conflict, Slots, ask, decide
from services.vault import PLAIN, Unreadable

decision = VirtualObject("Decision", ingress_private=True)

STOP = "stop"


class Put(Kept):
    """A run asks. `expires_s`: an approval that is undecided so long after it was first asked is denied; None never."""

    question: Question
    awakeable: str
    expires_s: float | None = None


class Heard(Kept):
    """What a run hears: the ruling where there is one, since when it asks and what time it is (unix seconds)."""

    ruling: Ruling | None
    asked_at: float
    at: float


class Decided(Kept):
    request: DecideRequest
    who: str


class Stop(Kept):
    """Who cancelled which invocation of a run, and whether its Done effects are to be undone. `at` (unix seconds) is
    when the run asked."""

    who: str
    undo: bool = False
    invocation: str = ""
    at: float = 0.0


class Stopped(Kept):
    """A run that is being cancelled asks who did it."""

    invocation: str


class Nothing(Kept):
    pass


def slots_of(key: str) -> str:
    return f"slots/{key}"


def encrypted_slots(run_id: str, name: str) -> ParcelCodec[Slots]:
    return ParcelCodec(codec(Slots), f"Decision/{run_id}/{name}")


@decision.handler(name="ask", input_serde=ParcelCodec(codec(Put), "ask"), output_serde=codec(Heard))
async def put(ctx: ObjectContext, parcel: Parcel[Put]) -> Heard:
    arrived = parcel.open()
    at = await ctx.time()
    name = slots_of(arrived.question.key)
    serde = encrypted_slots(ctx.key(), name)
    kept = await ctx.get(name, serde=serde) or Parcel(Slots())
    slots, slot = ask(kept.open(), arrived.question, arrived.awakeable, arrived.expires_s, at)
    ctx.set(name, Parcel(slots, parcel.key), serde=serde)
    return Heard(ruling=slot.ruling, asked_at=slot.asked_at or at, at=at)


@decision.handler(name="decide", input_serde=codec(Decided), output_serde=codec(Ruling))
async def take(ctx: ObjectContext, arrived: Decided) -> Ruling:
    at = await ctx.time()
    name = slots_of(arrived.request.key)
    serde = encrypted_slots(ctx.key(), name)
    kept = await ctx.get(name, serde=serde) or Parcel(Slots(), PLAIN)
    try:
        slots = kept.open()
    except Unreadable as error:
        raise TerminalError(str(error), 503) from None
    taken = decide(slots, arrived.request, arrived.who, at)
    if isinstance(taken, Conflict):
        raise TerminalError(taken.sentence, taken.status)
    ctx.set(name, Parcel(taken.slots, kept.key), serde=serde)
    if taken.wake is not None:
        ctx.resolve_awakeable(taken.wake, taken.ruling, serde=codec(Ruling))
    return taken.ruling


@decision.handler(name="stop", input_serde=codec(Stop), output_serde=codec(Nothing))
async def stop(ctx: ObjectContext, arrived: Stop) -> Nothing:
    ctx.set(STOP, joined(await ctx.get(STOP, serde=codec(Stop)), arrived), serde=codec(Stop))
    return Nothing()


def joined(before: Stop | None, arrived: Stop) -> Stop:
    """Of several cancels of one invocation the first says who; an undo that one of them asks for is not taken back."""
    if before is None or before.invocation != arrived.invocation:
        return arrived
    return before.model_copy(update={"undo": before.undo or arrived.undo})


@decision.handler(name="stopped", input_serde=codec(Stopped), output_serde=codec(Stop))
async def stopped(ctx: ObjectContext, asked: Stopped) -> Stop:
    """Who cancelled the run; the operator where nobody said so here (it came through the admin API).

    A cancel of an earlier invocation, which had ended before it was reached, says nothing.
    """
    # The time comes first: a further cancel of the run reaches this call too, and then nothing has been taken away.
    at = await ctx.time()
    said: Stop | None = await ctx.get(STOP, serde=codec(Stop))
    ctx.clear(STOP)
    known = said if said is not None and said.invocation == asked.invocation else Stop(who="the operator")
    return known.model_copy(update={"at": at})


@decision.handler(name="forget", output_serde=codec(Nothing))
async def forget(ctx: ObjectContext) -> Nothing:
    ctx.clear_all()
    return Nothing()
