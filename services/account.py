"""What others see of a run: its row while it goes on, its end, and the notices of both.

Rule: written where something about it is new, and from journalled values only, so that a replay writes the same. A
question is told once, however the row around it changes.
Must not know: how a run goes on, how a notice is delivered.
"""

from dataclasses import dataclass

from restate import ObjectContext

from services import state
from services.encrypted import Parcel
from services.journal import Journal
from services.limits import left, used
from services.messages import Question, RunEnd, RunRow, RunState
from services.notice import TOLD, Event, Tell
from services.outside import Outside
from services.reason import Reason
from services.terms import Terms
from services.transcript import Transcript

REFUSED_MAX = 10
"""Sentences about refused calls that are kept. A run that goes on trying says the same again and again."""


@dataclass(frozen=True, slots=True)
class Moment:
    """Where a run stands. `at` is the newest journalled time, in unix seconds; `refused` are the sentences about calls
    that its grant did not cover."""

    at: float
    pass_number: int
    transcript: Transcript
    refused: tuple[str, ...] = ()


class Account:
    """Of one attempt at a run. `terms` and `provider` are the settings', then those of the pass, once its first step
    has told them."""

    def __init__(
        self, ctx: ObjectContext, digest: str, journal: Journal, outside: Outside, terms: Terms, tell: Tell | None
    ) -> None:
        self.terms = terms
        self.provider = outside.provider
        self._ctx = ctx
        self._digest = digest
        self._journal = journal
        self._watch = outside.watch
        self._tell = tell
        self._shown: object = None
        self._state: RunState | None = None
        self._since = 0.0
        self._told: set[tuple[str, str, int]] = set()

    def afresh(self) -> None:
        """The state holds what another invocation wrote: what was shown before stands there no more."""
        self._shown = self._state = None

    def show(
        self, now: Moment, into: RunState, reason: str, until: float | None, questions: tuple[Question, ...]
    ) -> None:
        """Write the row, where it is new; tell those who are to come, where the run waits for them."""
        what = (into, reason, until, questions, len(now.transcript.entries))
        if what == self._shown:
            return
        self._shown = what
        if into is not self._state:
            self._state, self._since = into, now.at
        self._watch.shown(self._ctx.key(), into, tuple(question.key for question in questions))
        row = RunRow(
            digest=self._digest,
            pass_number=now.pass_number,
            state=into,
            reason=reason,
            since=self._since,
            until=until,
            used=used(now.transcript, self.provider),
            left=left(now.transcript, self.terms.limits, self.provider),
            refused=now.refused[-REFUSED_MAX:],
            questions=questions,
        )
        state.set_run_row(self._ctx, row, self._journal.key)
        asked = {(question.key, question.kind, question.number) for question in questions}
        if into in TOLD and not asked <= self._told:
            self._told |= asked
            self._notify(now.at, now.pass_number, TOLD[into], into, reason, questions)

    def end(self, now: Moment, into: RunState, reason: Reason, detail: str, answer: str | None) -> RunEnd:
        """How the pass ends; nothing is written yet."""
        return RunEnd(
            digest=self._digest,
            state=into,
            reason=reason.value,
            detail=detail,
            answer=answer,
            pass_number=now.pass_number,
            used=used(now.transcript, self.provider),
            refused=now.refused[-REFUSED_MAX:],
            at=now.at,
        )

    def close(self, end: RunEnd) -> None:
        """Write the end and tell of it."""
        self._watch.ended(self._ctx.key(), end)
        state.set_end(self._ctx, end)
        self._notify(end.at, end.pass_number, "ended", end.state, end.detail or end.reason, ())

    def _notify(
        self,
        at: float,
        pass_number: int,
        name: str,
        into: RunState,
        reason: str,
        questions: tuple[Question, ...],
    ) -> None:
        if self._tell is None:
            return
        event = Event(
            name=name,
            run_id=self._ctx.key(),
            pass_number=pass_number,
            state=into,
            reason=reason,
            at=at,
            questions=questions,
        )
        self._ctx.service_send(self._tell, Parcel(event, self._journal.key))
