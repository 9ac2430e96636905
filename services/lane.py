"""One call of a turn on its way, and where a turn stands as a whole.

Rule: what a person sees of a turn is a pure function of its lanes.
Must not know: who starts the moves and hands over what comes back.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from restate import RestateDurableFuture

from services.messages import Question, RunState
from services.moves import Move, Progress
from services.people import REMIND_FIRST_S

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

    @property
    def key(self) -> str | None:
        return self.progress.intent.key if self.progress.intent is not None else None

    @property
    def alone(self) -> bool:
        return self.progress.intent is not None and self.progress.policy.alone


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
