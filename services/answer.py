"""What one request to the model yields: a reply, or a failure with what to do about it.

Rule: plain values that are journalled; told apart by `kind`. No value holds the API key.
Must not know: HTTP, the client library.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from services.reason import Reason
from services.transcript import Cut, Replied, Usage
from tools.plain import Plain


class Action(StrEnum):
    """What a failed request asks for."""

    RETRY = "retry"
    """The same again, after our own back-off or the wait that the server named."""
    WAIT = "wait"
    """The same again, not before the time that the server named; without one, after our own back-off."""
    TRIM = "trim"
    """Once more with a shorter history."""
    FAIL = "fail"
    """Asking again would give the same."""


@dataclass(frozen=True, slots=True)
class ModelReply:
    """One assistant message, as it came but for text that cannot be stored. `at` is unix seconds."""

    raw: dict[str, Plain]
    finish_reason: str | None
    usage: Usage
    cut: Cut
    at: float
    filtered: bool = False
    kind: Literal["model_reply"] = "model_reply"

    def replied(self, turn: int) -> Replied:
        """The entry of the transcript."""
        return Replied(turn, self.raw, self.finish_reason, self.usage, self.cut, self.filtered, self.at)


@dataclass(frozen=True, slots=True)
class ModelFailed:
    """No reply. `detail` is a sentence for a person; `history_bytes` is the size of the messages that were sent."""

    action: Action
    reason: Reason
    detail: str
    retry_after_s: float | None = None
    status: int | None = None
    history_bytes: int = 0
    at: float = 0.0
    kind: Literal["model_failed"] = "model_failed"


ModelAnswer = ModelReply | ModelFailed
