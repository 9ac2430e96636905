"""The object `Agent`, keyed by run id: what callers can ask of a run.

Rule: `run` is exclusive; what may be asked while it works or waits is shared and answers at once. A request that does
not fit is answered with 400 and a sentence that names the field. An expected end of a run is never an error.
Must not know: how a run goes on (that is `run`), how a decision is recorded (that is `decision`).
"""

from datetime import timedelta
from typing import Any, TypeVar

import restate
from restate import ObjectContext, ObjectSharedContext, RestateDurableFuture, Service, TerminalError, VirtualObject

from services import public, state
from services.admission import ended_before, other_request, well_named
from services.codec import AnswerCodec, BodyCodec, Refused, codec
from services.decision import Decided, Stop, forget, stop, take
from services.grants import misnamed
from services.held import told
from services.journal import recorded
from services.messages import (
    CancelRequest,
    DecideRequest,
    Intent,
    Kept,
    RunEnd,
    RunRequest,
    RunRow,
    Tombstone,
)
from services.names import run_id_fault
from services.outgoing import at_once
from services.outside import Outside
from services.rulings import Conflict, ahead
from services.run import Run
from services.vault import encrypts

Body = TypeVar("Body")

GLANCE_S = 0.2
"""How long `submit` looks whether an invocation that is said to run is still there."""


class Bury(Kept):
    """Sent by a run to itself, to arrive after its retention: the pass whose record may then go."""

    pass_number: int


def agent_object(outside: Outside, notices: Service) -> VirtualObject:
    """The object, bound to what its runs work with and to who tells others of them."""
    tell: Any = notices.handlers["tell"].fn if outside.people.webhook_path else None
    timeouts = outside.timeouts
    agent = VirtualObject(
        "Agent",
        inactivity_timeout=timedelta(seconds=timeouts.inactivity_s),
        abort_timeout=timedelta(seconds=timeouts.abort_s),
    )
    answers: Any = AnswerCodec()

    @agent.handler(name="run", input_serde=BodyCodec(RunRequest), output_serde=answers)
    async def run(ctx: ObjectContext, body: RunRequest) -> public.Shown:
        """Runs the task to its end; queues behind one that is running under the same id."""
        try:
            shown, pass_number = await Run(ctx, checked(ctx, body), outside, tell).answer()
        finally:
            outside.watch.left(ctx.key())
        if pass_number is not None:
            delay = timedelta(seconds=outside.retention_s)
            ctx.object_send(bury, ctx.key(), Bury(pass_number=pass_number), send_delay=delay)
        at_once()
        return shown

    @agent.handler(name="submit", kind="shared", input_serde=BodyCodec(RunRequest), output_serde=answers)
    async def submit(ctx: ObjectSharedContext, body: RunRequest) -> public.Shown:
        """Accepted, running (with its invocation, to attach to) or ended (with the end); 422 for another request."""
        request = checked(ctx, body)
        known = await known_already(ctx, request, outside)
        if known is not None:
            return known
        sent = ctx.object_send(run, ctx.key(), request)
        return {"status": "accepted", "run_id": ctx.key(), "invocation_id": await sent.invocation_id()}

    @agent.handler(name="status", kind="shared", output_serde=answers)
    async def status(ctx: ObjectSharedContext) -> public.Shown:
        """Where the run stands; 404 where none has started, 410 past its retention."""
        check_run_id(ctx)
        return await standing(ctx)

    @agent.handler(name="decide", kind="shared", input_serde=BodyCodec(DecideRequest), output_serde=answers)
    async def decide(ctx: ObjectSharedContext, body: DecideRequest) -> public.Shown:
        """A decision on one intent: 200 once, then 409 with who decided what."""
        request, who = checked(ctx, body), actor(ctx, outside)
        recorded = await decided(ctx, request, who)
        outside.watch.asked("decided", ctx.key(), who, key=request.key, decision=request.decision.value)
        return recorded

    @agent.handler(name="cancel", kind="shared", input_serde=BodyCodec(CancelRequest), output_serde=answers)
    async def cancel(ctx: ObjectSharedContext, body: CancelRequest) -> public.Shown:
        """Stops the run; what it has done stays in the ledger."""
        request, who = checked(ctx, body), actor(ctx, outside)
        begun = await cancelling(ctx, request, who)
        outside.watch.asked("cancel", ctx.key(), who, undo=request.undo, cancelling=begun["cancelling"])
        return begun

    @agent.handler(name="forget", kind="shared", output_serde=answers)
    async def forget_now(ctx: ObjectSharedContext) -> public.Shown:
        """Forgets an ended run before its retention is over: only its tombstone stays."""
        check_run_id(ctx)
        pass_number = await forgettable(ctx)
        # A further pass may begin meanwhile, so what counts is what the handler says that waits its turn.
        if pass_number is not None and not await ctx.object_call(bury, ctx.key(), Bury(pass_number=pass_number)):
            raise TerminalError(f"run {ctx.key()} has begun a further pass; forget it once that has ended.", 409)
        return {"run_id": ctx.key(), "forgotten": True}

    @agent.handler(name="bury", input_serde=codec(Bury), output_serde=codec(bool), ingress_private=True)
    async def bury(ctx: ObjectContext, due: Bury) -> bool:
        """After the retention: only the tombstone stays, unless a further pass has begun since. Whether that is so."""
        last = await over(ctx, await state.run_row(ctx))
        if isinstance(last, RunEnd) and last.pass_number == due.pass_number:
            state.bury(ctx, Tombstone(digest=last.digest, state=last.state, ended_at=last.at))
            ctx.object_send(forget, ctx.key(), None)
            return True
        return isinstance(last, Tombstone)

    return agent


@told
async def known_already(ctx: ObjectSharedContext, request: RunRequest, outside: Outside) -> public.Shown | None:
    """What `submit` answers for a run that is there already; None where it is to be started. Raises 400 where one that
    is new has a grant that names what is not there."""
    run_id, digest = ctx.key(), request.digest()
    over = ended_before(await state.end(ctx), request, digest, run_id)
    if over is not None:
        rows = await state.intents(ctx)
        return {"status": "ended", **public.end(run_id, over, rows, replayed=True, withhold=encrypts())}
    begun = await state.begun(ctx)
    if begun is not None and begun.digest != digest:
        raise TerminalError(other_request(run_id), 422)
    if begun is not None and await still_there(ctx, begun.invocation):
        return {"status": "running", "run_id": run_id, "invocation_id": begun.invocation}
    if begun is None and request.grant is not None:
        # Recorded: a replay by a version with other tools must come to the same answer.
        well_named(await recorded(ctx, "names", lambda: misnamed(request.grant, outside.tools)))
    return None


@told
async def standing(ctx: ObjectSharedContext) -> public.Shown:
    """What `status` answers. Raises 404, and 410 past the retention."""
    begun, last = await state.begun(ctx, texts=True), await state.end(ctx)
    if isinstance(last, Tombstone):
        raise TerminalError(public.gone(ctx.key(), last), 410)
    if begun is None and last is not None:
        # It was cancelled before its first step.
        return public.end(ctx.key(), last, (), replayed=False, withhold=encrypts())
    if begun is None:
        raise TerminalError(f"no run has started under the id {ctx.key()!r}; a submitted one may be queued.", 404)
    row, rows = await state.run_row(ctx, texts=True), await state.intents(ctx)
    return public.status(ctx.key(), begun, row, last, rows, withhold=encrypts())


@told
async def decided(ctx: ObjectSharedContext, request: DecideRequest, who: str) -> public.Shown:
    """Hands a decision to `Decision`, where somebody waits for it or is about to; what was recorded. Raises 404 and
    409."""
    row = await state.run_row(ctx)
    asked = {question.key for question in row.questions} if row is not None else set()
    intent = await state.intent(ctx, request.key) if request.key not in asked else None
    if request.key not in asked and intent is None:
        raise TerminalError(f"run {ctx.key()} has no intent with the key {request.key}; `status` lists them.", 404)
    if await over(ctx, row):
        raise TerminalError(too_late(ctx.key(), request.key, await state.intent(ctx, request.key)), 409)
    if intent is not None:
        early = ahead(intent, request)
        if isinstance(early, Conflict):
            raise TerminalError(early.sentence, early.status)
        request = early
    ruling = await ctx.object_call(take, ctx.key(), Decided(request=request, who=who))
    return {"recorded": True, **ruling.model_dump(mode="json")}


def too_late(run_id: str, key: str, intent: Intent | None) -> str:
    """What a decision is answered that comes after the end."""
    if intent is None or not intent.rulings:
        return f"run {run_id} has ended; nobody waits for a decision on {key}."
    return f"run {run_id} has ended, and {key} was {intent.rulings[-1].decided()}."


@told
async def cancelling(ctx: ObjectSharedContext, request: CancelRequest, who: str) -> public.Shown:
    """Says who cancels and cancels; what `cancel` answers, also where nothing is left to cancel. Raises 404."""
    begun, row = await state.begun(ctx), await state.run_row(ctx)
    if begun is None:
        raise TerminalError(f"no run has started under the id {ctx.key()!r}; a submitted one may be queued.", 404)
    ended = await over(ctx, row)
    if ended is not None:
        return {"cancelling": False, "run_id": ctx.key(), "state": ended.state.value}
    if not await still_there(ctx, begun.invocation):
        reason = "nothing of it is at work: it has just ended, or an operator has killed it or begun it anew"
        return {"cancelling": False, "run_id": ctx.key(), "reason": reason}
    await ctx.object_call(stop, ctx.key(), Stop(who=who, undo=request.undo, invocation=begun.invocation))
    ctx.cancel_invocation(begun.invocation)
    return {"cancelling": True, "run_id": ctx.key(), "invocation_id": begun.invocation}


@told
async def forgettable(ctx: ObjectSharedContext) -> int | None:
    """The number of the pass whose record may go; None where it has gone. Raises 404, and 409 while the run goes on."""
    last = await over(ctx, await state.run_row(ctx))
    if isinstance(last, Tombstone):
        return None
    if last is None:
        if await state.begun(ctx) is None:
            raise TerminalError(f"no run has started under the id {ctx.key()!r}.", 404)
        raise TerminalError(f"run {ctx.key()} has not ended; cancel it first, then it can be forgotten.", 409)
    return last.pass_number


async def over(ctx: ObjectContext | ObjectSharedContext, row: RunRow | None) -> RunEnd | Tombstone | None:
    """The end of the run's last pass, where it has come."""
    last = await state.end(ctx)
    if isinstance(last, RunEnd) and row is not None and row.pass_number > last.pass_number:
        return None
    return last


def checked(ctx: ObjectContext | ObjectSharedContext, body: Body | Refused) -> Body:
    """The body where it fits and the run id is one; raises 400 with the sentence otherwise."""
    if isinstance(body, Refused):
        raise TerminalError(f"the request does not fit: {body.sentence}", 400)
    check_run_id(ctx)
    return body


def check_run_id(ctx: ObjectContext | ObjectSharedContext) -> None:
    fault = run_id_fault(ctx.key())
    if fault is not None:
        raise TerminalError(fault, 400)


def actor(ctx: ObjectSharedContext, outside: Outside) -> str:
    """Who acts, from the header that the gateway sets; raises 401 where one is required and absent."""
    headers = {name.lower(): value for name, value in ctx.request().headers.items()}
    who = headers.get(outside.people.actor_header.lower(), "").strip()
    if not who and outside.people.actor_required:
        raise TerminalError(f"the header {outside.people.actor_header} must say who acts.", 401)
    return who or "somebody"


async def still_there(ctx: ObjectSharedContext, invocation: str) -> bool:
    """Whether an invocation goes on. One that was killed or purged is not there, and the run may be started again."""
    ended: RestateDurableFuture[Any] = ctx.attach_invocation(invocation)
    timer = ctx.sleep(timedelta(seconds=GLANCE_S))
    completed, _ = await restate.wait_completed(ended, timer)
    return ended not in completed
