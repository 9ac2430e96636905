"""How a pass begins, and the ways in which it does not go on.

Rule: the candidate for the root of the keys, the journal's home and the time come from one recorded result.
Must not know: what a pass does.
"""

from dataclasses import dataclass
from typing import Literal
from uuid import UUID, uuid5

from restate import TerminalError

from services.messages import RunEnd
from services.terms import Terms
from services.vault import PLAIN


@dataclass(frozen=True, slots=True)
class Opened:
    """Result of the step that begins a pass: the candidate for the root, the journal's home, when (unix seconds), and
    the terms."""

    candidate: UUID
    invocation: str
    at: float
    terms: Terms
    key: str = PLAIN
    """Name of the key that this journal's writes are encrypted under, so that a replay writes the same."""
    kind: Literal["opened"] = "opened"


def jitter(root: UUID, turn: int, failures: int) -> float:
    """From 0 to 1, to spread waits. Restate's own random is another in another invocation that goes on from the same
    journal, and the wait is shown in the state."""
    return uuid5(root, f"wait {turn}.{failures}").int / 2**128


class Over(Exception):
    """The state says that this task has ended already: answer with that."""

    def __init__(self, end: RunEnd) -> None:
        super().__init__(end.reason)
        self.end = end


class Denied(Exception):
    """A person has decided that the pass shall not go on."""

    def __init__(self, end: RunEnd) -> None:
        super().__init__(end.reason)
        self.end = end


def is_cancel(error: TerminalError) -> bool:
    """The SDK tells a cancellation by this status and text; no step of a run raises a terminal error of its own."""
    return error.status_code == 409 and error.message == "cancelled"
