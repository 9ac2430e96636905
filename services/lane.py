"""One call of a turn on its way, and where a turn stands as a whole.

Rule: what a person sees of a turn is a pure function of its lanes.
Must not know: who starts the moves and hands over what comes back.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from restate import RestateDurableFuture

from services.ledger import Ledger
from services.messages import Question, RunState
from services.moves import Move, Progress
from services.people import REMIND_FIRST_S
from services.watch import About

SHOWN_WAIT_S = 1.0
"""A shorter wait is not worth a write of the run's row."""

Where = tuple[RunState, str, float | None, tuple[Question, ...]]
"""State, reason, until when (unix seconds), and what people are asked."""


@dataclass(slots=True)
class Lane:
    """One call on its way: where it is, what is to be started next, what it waits for."""

    progress: Progress
    move: Move | None
    text: str | None = None
    doing: str = ""
    until: float | None = None
    question: Question | None = None
    awakeable: tuple[str, RestateDurableFuture[Any]] | None = None
    remind_s: float = REMIND_FIRST_S
    room: bool = False
    """There is room in the receiver's rate for the next request."""

    @property
    def place(self) -> str:
        """Turn and number of the call, for names of steps."""
        return f"{self.progress.call.turn}.{self.progress.call.index}"

    @property
    def key(self) -> str | None:
        return self.progress.intent.key if self.progress.intent is not None else None

    @property
    def alone(self) -> bool:
        return self.progress.intent is not None and self.progress.policy.alone

    def about(self, *, looks: bool) -> About:
        """What the step that is next is about, for those who watch. `looks`: it is a look-up."""
        progress, intent = self.progress, self.progress.intent
        sends = intent.attempts if intent is not None else progress.sends
        return About(
            turn=progress.call.turn,
            tool=progress.does.name,
            keys=(intent.key,) if intent is not None else (),
            attempt=1 + (progress.look_ups if looks else sends),
            arguments=progress.arguments,
        )


def about_seal(turn: int, lanes: Sequence[Lane]) -> About:
    return About(turn=turn, keys=tuple(lane.key for lane in lanes if lane.key is not None))


def text_of(lanes: Sequence[Lane], ledger: Ledger, key: str) -> str | None:
    """What the model is told of the intent with that key; None where its lane has not come to that yet."""
    for lane in lanes:
        if lane.key == key:
            return lane.text
    row = ledger.rows.get(key)
    return row.result or f"{row.tool} is {row.state.value}" if row is not None else "there is no result"


def standing(lanes: Sequence[Lane], at: float) -> Where | None:
    """Where a turn stands at a time, for `status`; None where nothing about it is worth telling."""
    questions = tuple(lane.question for lane in lanes if lane.question is not None)
    waits = [lane for lane in lanes if lane.until is not None]
    if any(lane.doing == "step" for lane in lanes):
        return RunState.RUNNING, "", None, questions
    doubts = [question.text for question in questions if question.kind == "unknown"]
    if doubts:
        return RunState.OUTCOME_UNKNOWN, "; ".join(doubts), None, questions
    if questions:
        return RunState.WAITING_APPROVAL, "; ".join(question.text for question in questions), None, questions
    if waits and (until := min(lane.until or 0.0 for lane in waits)) > at + SHOWN_WAIT_S:
        return RunState.WAITING_UNTIL, "; ".join(lane.doing for lane in waits), until, ()
    return None
