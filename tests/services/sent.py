"""The messages of a conversation, checked by the strict mock's own rules."""

from typing import Any

from mocks.strict import what_is_malformed
from services.history import history
from services.limits import Limits
from services.transcript import Answered, Replied, Transcript
from tests.services.replies import LIMITS, PROVIDER, said


def sent(transcript: Transcript, limits: Limits = LIMITS, **settings: Any) -> list[dict[str, Any]]:
    messages = history(transcript, PROVIDER.model_copy(update=settings), limits)
    assert what_is_malformed(messages) is None
    return messages


def answered(*replies: Replied, task: str = "do it") -> Transcript:
    """The conversation with the calls of its last reply answered too."""
    transcript = said(*replies, task=task)
    calls = replies[-1].raw.get("tool_calls")
    texts = tuple(f"result {i}" for i in range(len(calls) if isinstance(calls, list) else 0))
    return transcript.add(Answered(len(replies), texts)) if texts else transcript
