"""One turn's calls, from the plan to the texts that the model is told. It obeys `progress` and does the waiting.

Rule: everything that Restate journals is created here in program order on one task. Calls go side by side, each on a
lane of its own; those whose class goes alone go one after the other. A call that waits for a person holds up nobody.
Must not know: what decides the next move, models.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import restate
from restate import ObjectContext, RestateDurableFuture, TerminalError

from services import send, state
from services.calls import Call
from services.codec import codec
from services.decision import Heard
from services.ending import landed
from services.journal import Journal, Restarted
from services.lane import Lane, about_seal, standing, text_of
from services.ledger import Beyond, Go, Ledger, Resolve, plan
from services.messages import Intent, IntentState, Question, Ruling, RunState
from services.moves import (
    Answered,
    Ask,
    Event,
    Follow,
    LookedUp,
    LookUp,
    Move,
    Nudged,
    Seal,
    SealedAt,
    Send,
    Settled,
    Wait,
)
from services.outside import Outside
from services.pace import next_move
from services.people import REMIND_MAX_S, listening, naming, pause_s, put_to
from services.phrases import unkeyed
from services.progress import advance, begin
from services.terms import Terms
from tools.size import cap

CANCELS_MAX = 50
"""A run that is being cancelled is not held up by this many further cancels."""

Show = Callable[[RunState, str, float | None, tuple[Question, ...]], None]


@dataclass(slots=True)
class Turn:
    """Performs turns of one attempt. `ledger` is what it knows of the run's ledger; `at` the newest journalled time."""

    ctx: ObjectContext
    journal: Journal
    outside: Outside
    terms: Terms
    ledger: Ledger
    show: Show
    at: float = 0.0
    asked: Mapping[str, int] = field(default_factory=dict)
    """How often each identity was asked for in the turns that are over: a turn that is done anew counts its asks
    anew."""
    lanes: list[Lane] = field(default_factory=list)
    pending: dict[RestateDurableFuture[Any], Callable[[], Awaitable[None]]] = field(default_factory=dict)
    steps: dict[RestateDurableFuture[Any], str] = field(default_factory=dict)
    refused: tuple[str, ...] = ()
    """What was said of calls that the grant did not cover."""
    seals: int = 0
    """Seals so far; their names must differ within an attempt."""
    alone: Lane | None = None

    async def perform(self, number: int, calls: tuple[Call, ...]) -> tuple[str, ...]:
        """The texts that answer the calls, in their order."""
        self.lanes, self.pending, self.steps, self.alone = [], {}, {}, None
        for call in calls:
            terms = self.terms
            self.ledger, planned = plan(self.ledger, call, self.outside.tools, terms.grant, terms.approve_above_cents)
            if isinstance(planned, Beyond):
                self.refused += (planned.text,)
            self.lanes.append(Lane(*begin(call, planned, terms.caps(), self.at)))
        await self._drive(number)
        self.asked = self.ledger.asked
        texts = (unkeyed(lane.text or "", self.ledger.rows) for lane in self.lanes)
        return tuple(str(cap(text, self.terms.limits.result_bytes)) for text in texts)

    async def perform_undo(self, call: Call, planned: Go | Resolve, number: int) -> IntentState:
        """One undo, also while further cancels arrive; people are not asked."""
        caps = replace(self.terms.caps(), unknown="tell")
        self.lanes, self.pending, self.steps, self.alone = [Lane(*begin(call, planned, caps, self.at))], {}, {}, None
        for _ in range(CANCELS_MAX):
            try:
                await self._drive(number)
                break
            except TerminalError:
                continue
        intent = self.lanes[0].progress.intent
        return intent.state if intent is not None else IntentState.UNKNOWN

    async def _drive(self, number: int) -> None:
        while any(lane.text is None for lane in self.lanes):
            self._start(number)
            if not self.pending:
                continue
            self._show()
            await self._arrive(*self.pending)

    async def _arrive(self, *futures: RestateDurableFuture[Any]) -> None:
        """Waits for the first of the futures and hands over what has come."""
        completed, _ = await restate.wait_completed(*futures)
        for future in completed:
            # An answer that came takes its reminder along, so either may be gone by now.
            arrived = self.pending.pop(future, None)
            self.steps.pop(future, None)
            if arrived is not None:
                await arrived()

    def _start(self, number: int) -> None:
        """Starts the next move of each lane, in the order of the calls."""
        sealing: list[Lane] = []
        for lane in self.lanes:
            match next_move(self.ctx, self.terms.rates, lane, self.pending):
                case None:
                    pass
                case Settled(text):
                    self._settle(lane, text)
                case Follow(key) as move:
                    lane.text = text_of(self.lanes, self.ledger, key)
                    lane.move = move if lane.text is None else None
                case Seal(into) as move if lane.alone and into is IntentState.ARMED and self.alone not in (None, lane):
                    lane.move = move
                case Seal(into):
                    self.alone = lane if lane.alone and into is IntentState.ARMED else self.alone
                    lane.progress = lane.progress.with_intent(state=into, sealed_at=None)
                    sealing.append(lane)
                case Send():
                    self._send(lane)
                case LookUp():
                    self._look_up(lane)
                case Wait(seconds, then, reason):
                    self._wait(lane, seconds, then, reason)
                case Ask(question):
                    self._ask(lane, question)
        if sealing:
            self._seal(number, sealing)

    def _settle(self, lane: Lane, text: str) -> None:
        lane.text, lane.doing, lane.question = text, "", None
        self._release(lane)
        if lane.progress.intent is not None:
            self.outside.watch.settled(lane.progress.intent)
            self._keep(lane.progress.intent)

    def _keep(self, intent: Intent) -> None:
        self.ledger = self.ledger.put(intent)
        state.set_intent(self.ctx, intent, self.journal.key)

    def _release(self, lane: Lane) -> None:
        if self.alone is lane:
            self.alone = None

    def _step(
        self, lane: Lane, name: str, kind: type[Any], act: Callable[[], Awaitable[Any]], event: Any, **how: bool
    ) -> None:
        step = self.journal.step(name, (kind,), act, lane.about(looks=kind is send.Looked), **how)
        lane.doing = "step"

        async def arrived() -> None:
            self._next(lane, event(await self.journal.result(step)))

        self.pending[step.future], self.steps[step.future] = arrived, name

    def _next(self, lane: Lane, event: Event) -> None:
        lane.doing, lane.until = "", None
        if isinstance(event, SealedAt | Answered | LookedUp | Ruling):
            self.at = max(self.at, event.at)
        lane.progress, lane.move = advance(lane.progress, event)

    def _seal(self, number: int, lanes: list[Lane]) -> None:
        """The rows, then the one step that makes them durable; its result holds the bytes."""
        self.seals += 1
        name = f"seal {number}.{self.seals}"
        intents = [(lane.progress.does, lane.progress.row) for lane in lanes]
        for lane in lanes:
            self._keep(lane.progress.row)
            lane.doing = "step"

        async def act() -> send.Sealed:
            return send.seal(intents)

        step = self.journal.step(name, (send.Sealed,), act, about_seal(number, lanes))

        async def arrived() -> None:
            sealed: send.Sealed = await self.journal.result(step)
            for lane in lanes:
                self._next(lane, SealedAt(sealed.prepared[lane.progress.row.key], sealed.at, name))
                if lane.progress.intent is not None and not isinstance(lane.move, Settled):
                    self._keep(lane.progress.intent)

        self.pending[step.future], self.steps[step.future] = arrived, name

    def _send(self, lane: Lane) -> None:
        progress, wire = lane.progress, self.outside.wire
        name = f"call {progress.call.turn}.{progress.call.index} {progress.tool.name if progress.tool else ''}"
        if progress.intent is None:
            self._step(
                lane, name, send.Told, lambda: send.read(wire, progress), lambda told: Answered(told.answer, told.at)
            )
            return
        seal = progress.seal or ""

        async def act() -> send.Told:
            async with self.outside.doorway:
                return await send.send(wire, progress, lambda: self.journal.ran_here(seal), self.outside.busy)

        looks_itself = not progress.policy.repeats_after_crash
        self._step(lane, name, send.Told, act, lambda told: Answered(told.answer, told.at), while_leaving=looks_itself)

    def _look_up(self, lane: Lane) -> None:
        progress, wire = lane.progress, self.outside.wire
        self._release(lane)
        name = f"find {progress.call.turn}.{progress.call.index}"
        act = lambda: send.look_up(wire, progress)  # noqa: E731
        self._step(lane, name, send.Looked, act, lambda looked: LookedUp(looked.found, looked.at))

    def _wait(self, lane: Lane, seconds: float, then: Move, reason: str) -> None:
        lane.doing, lane.until = reason, self.at + seconds
        future = self.ctx.sleep(timedelta(seconds=seconds))

        async def arrived() -> None:
            await future
            self.at = max(self.at, lane.until or 0.0)
            lane.doing, lane.until = "", None
            lane.move = then

        self.pending[future] = arrived

    def _ask(self, lane: Lane, question: Question) -> None:
        """Puts a question to people. What is asked and what is answered is recorded by the run's `Decision` object."""
        self._release(lane)
        if lane.progress.intent is not None and lane.question != question:
            self._keep(lane.progress.intent)
        asked = lane.question is not None and (lane.question.number, lane.question.kind)
        lane.question, lane.doing = question, "ask"
        if asked == (question.number, question.kind):
            self._put(lane, question)
            return
        own, answer = self.ctx.awakeable(serde=codec(Ruling))
        step = naming(self.journal, lane.place, own)

        async def named() -> None:
            lane.awakeable = (await self.journal.result(step)).awakeable, answer
            self._put(lane, question)

        self.pending[step.future] = named

    def _put(self, lane: Lane, question: Question) -> None:
        assert lane.awakeable is not None
        name, answer = lane.awakeable
        call = put_to(self.ctx, question, name, self.terms.approval_expires_s, self.journal.key)

        async def heard() -> None:
            said: Heard = await call
            self.at = max(self.at, said.at)
            if said.ruling is not None:
                self._ruled(lane, said.ruling)
            else:
                self._listen(lane, question, answer, said)

        self.pending[call] = heard

    def _listen(self, lane: Lane, question: Question, answer: RestateDurableFuture[Any], heard: Heard) -> None:
        seconds = pause_s(lane.remind_s, question, heard, self.terms.approval_expires_s)
        lane.remind_s = min(REMIND_MAX_S, 2 * lane.remind_s)
        timer = self.ctx.sleep(timedelta(seconds=seconds))
        step = listening(self.journal, lane.place)

        async def listens() -> None:
            await self.journal.result(step)

        async def decided() -> None:
            self.pending.pop(timer, None)
            self._ruled(lane, await answer)

        async def reminded() -> None:
            await timer
            self.pending.pop(answer, None)
            self._next(lane, Nudged(question))

        self.pending[answer], self.pending[timer], self.pending[step.future] = decided, reminded, listens

    def _ruled(self, lane: Lane, ruling: Ruling) -> None:
        lane.question = None
        self._next(lane, ruling)

    def _show(self) -> None:
        where = standing(self.lanes, self.at)
        if where is not None:
            self.show(*where)

    async def land(self) -> None:
        """The run is cancelled: what is under way is awaited and recorded, nothing else is started."""
        for _ in range(CANCELS_MAX):
            if not self.steps:
                break
            try:
                await self._arrive(*self.steps)
            except TerminalError:
                continue
            except Restarted:
                # What is known here is older than the state: what stands there stays.
                self.lanes = []
        for lane in self.lanes:
            if lane.text is None and (row := landed(lane.progress)) is not None:
                self._keep(row)
        self.lanes, self.pending, self.steps = [], {}, {}
