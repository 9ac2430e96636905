"""Answers of a model's server in a few words, and what they must mean."""

import json
from collections.abc import Callable
from typing import Any

from pydantic import SecretStr, TypeAdapter

from services.answer import Action, ModelAnswer, ModelFailed, ModelReply
from services.exchange import Arrived, judge
from services.loop import Refuse, decide
from services.provider import Provider
from services.reason import Reason
from services.transcript import Told, Transcript
from tests.services.replies import LIMITS, TOOLSET

KEY = "sk-verysecret-0123456789"
PROVIDER = Provider(key=SecretStr(KEY), max_output_tokens=100)
AT = 1_800_000_000.0
ANSWERS: TypeAdapter[ModelAnswer] = TypeAdapter(ModelAnswer)


def body(message: Any = ..., finish: Any = "stop", usage: Any = ..., **more: Any) -> dict[str, Any]:
    """A chat completion."""
    raw = {"role": "assistant", "content": "hi"} if message is ... else message
    counted = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10} if usage is ... else usage
    return {"choices": [{"index": 0, "message": raw, "finish_reason": finish}], "usage": counted, **more}


def error(code: Any = None, message: Any = "no", kind: Any = None) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "code": code, "param": None}}


def answer(status: int, content: Any = b"", **headers: str) -> ModelAnswer:
    """The value of an answer; it also goes through the journal's form, unchanged and without the key."""
    raw = content if isinstance(content, bytes) else json.dumps(content).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    value = judge(Arrived(status, named, raw, AT, sent_bytes=400, history_bytes=300), PROVIDER)
    written = ANSWERS.dump_json(value)
    assert KEY.encode() not in written
    assert ANSWERS.validate_json(written) == value
    return value


def replies(content: Any = "hi") -> Callable[[ModelAnswer], bool]:
    return lambda value: isinstance(value, ModelReply) and value.raw["content"] == content and not value.filtered


def refuses(value: ModelAnswer) -> bool:
    """The loop ends it as a refusal, after exactly this one request."""
    if not isinstance(value, ModelReply):
        return False
    transcript = Transcript((Told("x"),)).add(value.replied(1))
    return isinstance(decide(transcript, TOOLSET, LIMITS, PROVIDER), Refuse)


def fails(action: Action, reason: Reason, words: str = "") -> Callable[[ModelAnswer], bool]:
    return lambda value: (
        isinstance(value, ModelFailed)
        and (value.action, value.reason) == (action, reason)
        and words in value.detail
        and (value.history_bytes, value.at) == (300, AT)
    )
