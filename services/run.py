"""One attempt at one run: it asks the decision core what is next and obeys.

Rule: what an earlier pass left in the state is read after the step `begin` only, whose result carries the candidate
for the root of the keys; so every cut of a journal, and a start from scratch, come to the same keys. The one exception
is the question whether the run has ended. Nothing that differs between two invocations is written but from a step's
result.
Must not know: what is in a reply, what a tool does, HTTP.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

from restate import ObjectContext, TerminalError

from services import public, state
from services.account import Account, Moment
from services.admission import ended_before, other_request, well_named
from services.answer import ModelAnswer, ModelFailed, ModelReply
from services.clock import wall_s
from services.conversation import spoken
from services.ending import ledger_full
from services.history import History
from services.journal import Journal, Restarted
from services.ledger import Ledger, changed_declarations, in_order
from services.limits import REASONS
from services.loop import AskMore, CallModel, CallTools, Finish, GiveUp, Refuse, decide
from services.messages import Begun, Choice, Intent, Question, RunEnd, RunRequest, RunRow, RunState
from services.model import Fail, plan
from services.notice import Tell
from services.outside import MODEL, Outside
from services.pace import ask_for_room, said
from services.passes import Denied, Opened, Over, is_cancel, jitter
from services.people import ask as ask_people
from services.phrases import summary
from services.reason import Reason
from services.terms import terms_of
from services.transcript import Answered, Extended, Shortened, Told, Transcript, Waited
from services.turn import Turn
from services.undo import doubts, undo, who_cancelled
from services.vault import encrypts
from services.watch import About
from tools.tool import Tool


class Run:
    """One attempt. `answer` is the whole life of it."""

    history: History
    granted: Mapping[str, Tool]
    """The tools that the model hears of. Both follow from the terms, which the first step tells."""

    def __init__(self, ctx: ObjectContext, request: RunRequest, outside: Outside, tell: Tell | None = None) -> None:
        self.ctx = ctx
        self.request = request
        self.outside = outside
        self.digest = request.digest()
        self.candidate = ctx.uuid()
        self.journal = Journal(ctx, ctx.key(), outside.busy, outside.watch)
        self.terms = terms_of(outside, request)
        self.provider = outside.provider
        self.passes_ended = 0
        self.transcript = Transcript(earlier=spoken(request.earlier))
        self.account = Account(ctx, self.digest, self.journal, outside, self.terms, tell)
        self.at = 0.0
        self.turn: Turn | None = None

    async def answer(self) -> tuple[public.Shown, int | None]:
        """What the caller gets, and the number of the pass that ended by it; None where the record answered."""
        last = await state.end(self.ctx)
        over = ended_before(last, self.request, self.digest, self.ctx.key())
        if over is not None:
            return await self._replayed(over)
        self.passes_ended = last.pass_number if isinstance(last, RunEnd) else 0
        try:
            await self._begin()
            end = await self._to_end()
        except Over as record:
            return await self._replayed(record.end)
        except Denied as denied:
            end = denied.end
        except TerminalError as error:
            if not is_cancel(error):
                raise
            end = await self._cancelled()
        return self._close(end)

    async def _begin(self) -> None:
        opening = Opened(self.candidate, self.journal.invocation, 0.0, self.terms, self.journal.key)

        async def begin() -> Opened:
            return replace(opening, at=wall_s())

        opened: Opened = await self.journal.run("begin", (Opened,), begin)
        self.journal.home, self.journal.key = opened.invocation, opened.key
        self.terms, self.provider = opened.terms, opened.terms.provider(self.outside.provider)
        self.account.terms, self.account.provider = self.terms, self.provider
        self.history = History(self.outside.provider, self.terms.limits)
        self.granted = self.terms.granted(self.outside.tools)
        self._now(opened.at)
        root = await state.root(self.ctx)
        if root is None:
            well_named(self.terms.misnamed)
            state.set_root(self.ctx, opened.candidate)
            self._open(Ledger(opened.candidate, 1))
        else:
            try:
                await self._further_pass(root, {})
            except Restarted:
                await self._refresh()
        told = [self.terms.instructions, summary(self._turn.ledger.rows.values())]
        instructions = (Told(text, "system", self.at) for text in told if text)
        task = Told(self.request.task, at=self.at)
        self.transcript = replace(self.transcript, entries=(*instructions, task, *self.transcript.entries))

    async def _replayed(self, end: RunEnd) -> tuple[public.Shown, None]:
        return public.end(self.ctx.key(), end, await state.intents(self.ctx), replayed=True, withhold=encrypts()), None

    async def _to_end(self) -> RunEnd:
        while True:
            try:
                end = await self._next()
            except Restarted:
                await self._refresh()
                continue
            if end is not None:
                return end

    async def _next(self) -> RunEnd | None:
        """One decision, obeyed."""
        match decide(self.transcript, self.granted, self.terms.limits, self.provider):
            case CallModel(number):
                return await self._ask_model(number)
            case CallTools(number, calls):
                if (full := ledger_full(self._turn.ledger.rows.values())) is not None:
                    return self._end(RunState.FAILED, Reason.LEDGER_FULL, full)
                self._show(RunState.RUNNING)
                texts = await self._turn.perform(number, calls)
                self._now(self._turn.at)
                self.transcript = self.transcript.add(Answered(number, texts, self.at))
                return None
            case Finish(answer, message):
                end = self._end(RunState.COMPLETED, Reason.DONE, answer=answer)
                return end.model_copy(update={"message": None if encrypts() else message})
            case Refuse(text):
                return self._end(RunState.REFUSED, Reason.REFUSED, text, answer=text)
            case GiveUp(reason, text):
                return self._end(RunState.FAILED, reason, text)
            case AskMore() as more:
                return await self._ask_more(more)

    async def _ask_model(self, number: int) -> RunEnd | None:
        failures: list[ModelFailed] = []
        rate = self.terms.rates.get(MODEL)
        while True:
            if rate is not None:
                room = await ask_for_room(self.ctx, rate)
                self._now(room.at)
                await self._pause(room.wait_s, said(rate))
            answer = await self._model_step(number, len(failures) + 1)
            self._now(answer.at)
            if isinstance(answer, ModelReply):
                self.transcript = self.transcript.add(answer.replied(number))
                return None
            drawn = jitter(self._turn.ledger.root, number, len(failures))
            what = plan(failures, answer, self.provider, drawn)
            failures.append(answer)
            if isinstance(what, Fail):
                return self._end(RunState.FAILED, what.reason, what.detail)
            if what.trim_to_bytes is not None:
                self.transcript = self.transcript.add(Shortened(what.trim_to_bytes))
            await self._pause(what.wait_s, answer.detail)

    async def _pause(self, seconds: float, reason: str) -> None:
        if seconds > 0:
            self._show(RunState.WAITING_UNTIL, reason, until=self.at + seconds)
            await self.ctx.sleep(timedelta(seconds=seconds))
            self._now(self.at + seconds)
            self._show(RunState.RUNNING)

    async def _model_step(self, number: int, attempt: int) -> ModelAnswer:
        transcript, tools = self.transcript, self.granted.values()

        async def ask() -> ModelAnswer:
            # The history grows with the run; a replay, which does not come here, need not make it.
            return await self.outside.model.ask(self.history.messages(transcript), tools)

        about = About(turn=number, attempt=attempt)
        return await self.journal.run(f"model {number}", (ModelReply, ModelFailed), ask, about)

    async def _refresh(self) -> None:
        """The journal goes on in another invocation: everything that was read before may be old."""
        await self._further_pass(self._turn.ledger.root, self._turn.asked)

    async def _further_pass(self, root: UUID, asked: Mapping[str, int]) -> None:
        last = await state.end(self.ctx)
        over = ended_before(last, self.request, self.digest, self.ctx.key())
        if over is not None:
            raise Over(over)
        begun = await state.begun(self.ctx)
        if begun is not None and begun.digest != self.digest:
            raise TerminalError(other_request(self.ctx.key()), 422)
        row = await state.run_row(self.ctx)
        passes = [kept.pass_number for kept in (row, last) if isinstance(kept, RunRow | RunEnd)]
        rows = await state.intents(self.ctx)
        self._open(Ledger(root, 1 + max(passes, default=0), {each.key: each for each in rows}, asked))
        await self._check_declarations(rows)

    def _open(self, ledger: Ledger) -> None:
        assert self.journal.home is not None
        begun = Begun(digest=self.digest, task=self.request.task, invocation=self.journal.home)
        state.set_begun(self.ctx, begun, self.journal.key)
        self.turn = Turn(self.ctx, self.journal, self.outside, self.terms, ledger, self._show, self.at, ledger.asked)
        self.account.afresh()
        self._show(RunState.RUNNING)

    async def _check_declarations(self, rows: list[Intent]) -> None:
        """A tool that is not what it was when it made a key could make another key for the same action."""
        sentences = changed_declarations(rows, self.outside.tools)
        if not sentences:
            return
        text = f"{'; '.join(sentences)}. To go on may repeat what was done: approve it, or deny and use a new run id."
        if not await self._ask_person(f"declarations-{self._pass}", text):
            raise Denied(self._end(RunState.FAILED, Reason.TOOLS_CHANGED, text))

    async def _ask_more(self, more: AskMore) -> RunEnd | None:
        count = sum(entry.limit == more.limit for entry in self.transcript.of(Extended)) + 1
        at = f"the limit of {more.limit} is {more.allowed:g} and {more.used:g} are used or asked for"
        text = f"{at}; allow as much again?"
        if not await self._ask_person(f"{more.limit}-{self._pass}-{count}", text):
            return self._end(RunState.FAILED, REASONS[more.limit], f"{text} It was denied.")
        self.transcript = self.transcript.add(Extended(more.limit, more.allowed))
        return None

    async def _ask_person(self, key: str, text: str) -> bool:
        question = Question(key=key, kind="approval", text=text, digest="")
        self._show(RunState.WAITING_APPROVAL, text, questions=(question,))
        ruling, waited_s = await ask_people(self.ctx, self.journal, question, self.terms.approval_expires_s)
        self._now(ruling.at)
        self.transcript = self.transcript.add(Waited(waited_s))
        self._show(RunState.RUNNING)
        return ruling.choice is Choice.APPROVE

    async def _cancelled(self) -> RunEnd:
        """What was under way is recorded first; then Done effects are undone where that was asked for."""
        if self.turn is not None:
            await self.turn.land()
        said = await who_cancelled(self.ctx, self.journal, self.at)
        self._now(said.at)
        undone = await undo(self.turn) if said.undo and self.turn is not None else ""
        doubtful = doubts(self.turn) if self.turn is not None else ""
        return self._end(RunState.CANCELLED, Reason.CANCELLED, f"cancelled by {said.who}{undone}{doubtful}")

    def _close(self, end: RunEnd) -> tuple[public.Shown, int]:
        self.account.close(end)
        rows = [] if self.turn is None else in_order(self.turn.ledger.rows.values())
        return public.end(self.ctx.key(), end, rows, replayed=False, withhold=encrypts()), end.pass_number

    @property
    def _turn(self) -> Turn:
        assert self.turn is not None, "a pass is opened before anything else"
        return self.turn

    @property
    def _pass(self) -> int:
        return self.turn.ledger.pass_number if self.turn is not None else self.passes_ended + 1

    def _moment(self) -> Moment:
        refused = () if self.turn is None else self.turn.refused
        return Moment(self.at, self._pass, self.transcript, refused)

    def _end(self, into: RunState, reason: Reason, detail: str = "", answer: str | None = None) -> RunEnd:
        return self.account.end(self._moment(), into, reason, detail, answer)

    def _show(
        self, into: RunState, reason: str = "", until: float | None = None, questions: tuple[Question, ...] = ()
    ) -> None:
        """Before the pass is open there is nothing to write a row for."""
        if self.turn is not None:
            self._now(self.turn.at)
            self.account.show(self._moment(), into, reason, until, questions)

    def _now(self, at: float) -> None:
        self.at = max(self.at, at)
