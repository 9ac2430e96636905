"""Answers of the model's server and what they mean: the table in `services.exchange`, row by row."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import formatdate
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr, TypeAdapter

from services import exchange
from services.answer import Action, ModelAnswer, ModelFailed, ModelReply
from services.exchange import Arrived, judge
from services.loop import Refuse, decide
from services.provider import Provider
from services.reason import Reason
from services.transcript import Cut, Told, Transcript, Usage
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


@dataclass(frozen=True)
class Case:
    row: str
    value: ModelAnswer
    expected: Callable[[ModelAnswer], bool]


OK = "200 with a choice that holds a message"
ERROR_INSIDE = "200 that holds an error"
NO_CHOICE = "200 without a choice, or no JSON"
BROKE_OFF = "200 whose finish reason is the server's error"
STREAM = "any 2xx as text/event-stream"
MOVED = "3xx"
TOO_LONG = "400, 413, 422 about the context's length"
FILTERED = "any 4xx with code content_filter"
NO_ACCESS = "401, 403"
NO_MONEY = "402, and 429 about an empty account"
NOT_FOUND = "404"
BUSY = "429"
DOWN = "408, 409, 425, 5xx"
BAD = "other 4xx"

no_answer = fails(Action.RETRY, Reason.NO_ANSWER)
down = fails(Action.RETRY, Reason.MODEL_UNAVAILABLE)
too_long = fails(Action.TRIM, Reason.CONTEXT_TOO_LONG)
no_money = fails(Action.FAIL, Reason.QUOTA_EXHAUSTED)
busy = fails(Action.WAIT, Reason.RATE_LIMITED)
bad = fails(Action.FAIL, Reason.BAD_REQUEST)
stream = fails(Action.FAIL, Reason.STREAMED, "streams")

CASES = [
    Case(OK, answer(200, body()), replies()),
    Case(OK, answer(200, body(finish=None)), replies()),
    Case(OK, answer(200, body(finish=7, usage=None)), replies()),
    Case(OK, answer(200, body({"content": None, "odd": 1})), replies(None)),
    Case(OK, answer(200, {**body(), "error": None}), replies()),
    Case(OK, answer(201, body()), replies()),
    Case(ERROR_INSIDE, answer(200, error(502)), down),
    Case(ERROR_INSIDE, answer(200, error(None, "boom")), down),
    Case(ERROR_INSIDE, answer(200, error("429")), busy),
    Case(ERROR_INSIDE, answer(200, error("insufficient_quota")), no_money),
    Case(ERROR_INSIDE, answer(200, error("context_length_exceeded")), too_long),
    Case(ERROR_INSIDE, answer(200, error(400, "bad field")), bad),
    Case(ERROR_INSIDE, answer(200, {"error": "overloaded"}), down),
    Case(ERROR_INSIDE, answer(200, {"choices": [{"error": {"code": 502, "message": "x"}}]}), down),
    Case(NO_CHOICE, answer(200, {}), no_answer),
    Case(NO_CHOICE, answer(200, {"choices": []}), no_answer),
    Case(NO_CHOICE, answer(200, {"choices": None}), no_answer),
    Case(NO_CHOICE, answer(200, {"choices": [None]}), no_answer),
    Case(NO_CHOICE, answer(200, {"choices": [{"finish_reason": "stop"}]}), no_answer),
    Case(NO_CHOICE, answer(200, body(message=None)), no_answer),
    Case(NO_CHOICE, answer(200, body(message="hi")), no_answer),
    Case(NO_CHOICE, answer(200, b""), no_answer),
    Case(NO_CHOICE, answer(200, b"<html>login</html>"), no_answer),
    Case(NO_CHOICE, answer(200, b"null"), no_answer),
    Case(NO_CHOICE, answer(200, b"\xff\xfe{"), no_answer),
    Case(NO_CHOICE, answer(200, b"[" * 100_000), no_answer),
    Case(NO_CHOICE, answer(204), no_answer),
    Case(BROKE_OFF, answer(200, body(finish="error")), down),
    Case(BROKE_OFF, answer(200, body(finish="insufficient_system_resource")), down),
    Case(STREAM, answer(200, b'data: {"x":1}\n\n', content_type="text/event-stream"), stream),
    Case(STREAM, answer(200, body(), content_type="text/event-stream; charset=utf-8"), stream),
    Case(MOVED, answer(301, location="https://x.test/v1"), fails(Action.FAIL, Reason.BAD_REQUEST, "https://x.test/v1")),
    Case(MOVED, answer(304), bad),
    Case(TOO_LONG, answer(400, error("context_length_exceeded", "too long")), too_long),
    Case(TOO_LONG, answer(400, error(None, "This model's maximum context length is 8192 tokens")), too_long),
    Case(TOO_LONG, answer(400, error("invalid_request_error", "prompt is too long: 9 tokens > 8 maximum")), too_long),
    Case(TOO_LONG, answer(413, b"Payload Too Large"), too_long),
    Case(TOO_LONG, answer(422, {"detail": "Input is too long for this model"}), too_long),
    Case(FILTERED, answer(400, error("content_filter", "policy")), refuses),
    Case(FILTERED, answer(403, error("content_policy_violation", "policy")), refuses),
    Case(FILTERED, answer(400, {"error": {"innererror": {"code": "ResponsibleAIPolicyViolation"}}}), refuses),
    Case(NO_ACCESS, answer(401, error("invalid_api_key")), fails(Action.FAIL, Reason.UNAUTHORISED)),
    Case(NO_ACCESS, answer(403, b"Forbidden"), fails(Action.FAIL, Reason.UNAUTHORISED, "Forbidden")),
    Case(NO_MONEY, answer(429, error("insufficient_quota")), no_money),
    Case(NO_MONEY, answer(429, error(None, kind="insufficient_quota")), no_money),
    Case(NO_MONEY, answer(402, error("x")), no_money),
    Case(
        NOT_FOUND,
        answer(404, error("model_not_found", "no gpt-9")),
        fails(Action.FAIL, Reason.MODEL_NOT_FOUND, "gpt-9"),
    ),
    Case(NOT_FOUND, answer(404, b"Not Found"), fails(Action.FAIL, Reason.MODEL_NOT_FOUND, "Not Found")),
    Case(BUSY, answer(429, error("rate_limit_exceeded")), busy),
    Case(BUSY, answer(429), busy),
    Case(DOWN, answer(500), down),
    Case(DOWN, answer(503, b"<html>"), down),
    Case(DOWN, answer(529, error("overloaded_error")), down),
    Case(DOWN, answer(599), down),
    Case(DOWN, answer(408), down),
    Case(DOWN, answer(409), down),
    Case(DOWN, answer(425), down),
    Case(DOWN, answer(500, error(None, "context length exceeded")), down),
    Case(BAD, answer(400, error("invalid_value", "messages[2].content: null")), bad),
    Case(BAD, answer(400, {"message": "odd shape"}), fails(Action.FAIL, Reason.BAD_REQUEST, "odd shape")),
    Case(BAD, answer(400, [1, 2]), fails(Action.FAIL, Reason.BAD_REQUEST, "[1, 2]")),
    Case(BAD, answer(405), bad),
    Case(BAD, answer(418, error({"x": 1}, ["y"], 3)), bad),
]


@pytest.mark.parametrize("example", CASES, ids=lambda example: example.row)
def test_an_answer_is_the_value_of_its_row(example: Case) -> None:
    """B08, B10, B16, B20."""
    assert example.expected(example.value), example.value


def test_each_row_of_the_table_has_an_example_and_each_example_a_row() -> None:
    lines = re.findall(r"^\| (.+?) +\| .+\|$", exchange.__doc__ or "", re.MULTILINE)
    rows = [line for line in lines[1:] if not line.startswith("---")]
    assert rows == list(dict.fromkeys(example.row for example in CASES))


@pytest.mark.parametrize(
    "headers, wait_s",
    [
        ({"retry_after": "30"}, 30),
        ({"retry_after": "1.5"}, 1.5),
        ({"retry_after": "7200"}, 7200),
        ({"retry_after_ms": "1500"}, 1.5),
        ({"retry_after_ms": "1500", "retry_after": "9"}, 1.5),
        ({"retry_after": formatdate(AT + 40, usegmt=True), "date": formatdate(AT, usegmt=True)}, 40),
        ({"retry_after": formatdate(AT + 40, usegmt=True), "date": formatdate(AT + 10, usegmt=True)}, 30),
        ({"retry_after": formatdate(AT + 40, usegmt=True)}, 40),
        ({"retry_after": formatdate(AT - 40, usegmt=True)}, None),
        ({"retry_after": "-1"}, None),
        ({"retry_after": "abc"}, None),
        ({"retry_after": "0"}, None),
        ({"retry_after": ""}, None),
        ({"retry_after": "NaN"}, None),
        ({"retry_after": "1e9"}, None),
        ({"retry_after_ms": "-5", "retry_after": "6"}, 6),
        ({}, None),
    ],
)
@pytest.mark.parametrize("status", [429, 503])
def test_every_form_of_a_named_wait_is_read(headers: dict[str, str], wait_s: float | None, status: int) -> None:
    """B15: bad values fall back to our own back-off, which is what None means."""
    value = answer(status, error("x"), **headers)
    assert isinstance(value, ModelFailed)
    assert value.retry_after_s == wait_s


@pytest.mark.parametrize(
    "finish, tokens, cut",
    [
        ("length", 3, Cut.YES),
        ("MAX_TOKENS", 3, Cut.YES),
        ("max_tokens", None, Cut.YES),
        ("tool_calls", 99, Cut.NO),
        ("tool_calls", 100, Cut.MAYBE),
        ("stop", 101, Cut.MAYBE),
        ("stop", None, Cut.NO),
        (None, 3, Cut.NO),
    ],
)
def test_a_reply_says_whether_it_was_cut_off(finish: str | None, tokens: int | None, cut: Cut) -> None:
    """B05."""
    usage = None if tokens is None else {"prompt_tokens": 1, "completion_tokens": tokens}
    value = answer(200, body(finish=finish, usage=usage))
    assert isinstance(value, ModelReply)
    assert value.cut is cut


@pytest.mark.parametrize("finish", ["content_filter", "SAFETY", "refusal"])
def test_a_reply_says_whether_it_was_filtered(finish: str) -> None:
    """B10."""
    assert refuses(answer(200, body(finish=finish)))


@pytest.mark.parametrize(
    "usage", [None, {}, {"prompt_tokens": -1, "completion_tokens": 2}, {"prompt_tokens": "7"}, 5, []]
)
def test_usage_that_is_missing_or_odd_is_estimated_from_sizes(usage: Any) -> None:
    value = answer(200, body(usage=usage))
    assert isinstance(value, ModelReply)
    assert value.usage.estimated
    assert value.usage.tokens_in == 100
    assert value.usage.tokens_out > 10


def test_usage_is_what_the_provider_counted() -> None:
    value = answer(200, body())
    assert isinstance(value, ModelReply)
    assert value.usage == Usage(7, 3)


def test_a_message_stays_as_it_came() -> None:
    """B11."""
    message = {"role": "assistant", "content": None, "reasoning_content": "é…", "x": [1, 2.5, 2**70, {"y": None}]}
    value = answer(200, body(message))
    assert isinstance(value, ModelReply)
    assert json.dumps(value.raw) == json.dumps(message)


def test_poison_in_a_message_is_cleaned_before_it_is_kept() -> None:
    """B52."""
    text = r'{"choices":[{"message":{"content":"a\ud83d\u0000\ud83d\ude00","n":NaN,"i":[Infinity,1e400],"b":1%s}}]}'
    value = answer(200, (text % ("0" * 5_000)).encode())
    assert isinstance(value, ModelReply)
    assert value.raw == {"content": "a\ufffd\ufffd😀", "n": None, "i": [None, None], "b": None}


@pytest.mark.parametrize(
    "words",
    [
        f"Incorrect API key provided: {KEY}",
        "key sk-very*****6789 is wrong",
        f"header was Bearer {KEY}",
        f"<{KEY}>" * 50,
    ],
)
@pytest.mark.parametrize("status", [400, 401, 500, 200])
def test_the_key_is_in_no_value(words: str, status: int) -> None:
    value = answer(status, error("content_filter" if status == 400 else "x", words))
    assert "very" not in repr(value)
    value = answer(status, words.encode())
    assert "very" not in repr(value)
    assert KEY not in repr(PROVIDER) + PROVIDER.model_dump_json()


def test_a_key_of_any_form_is_hidden() -> None:
    provider = Provider(key=SecretStr("0123abcd/+="))
    value = judge(Arrived(401, {}, b"the key 0123abcd/+= is wrong", AT), provider)
    assert isinstance(value, ModelFailed)
    assert value.detail == "status 401: the key *** is wrong"


def test_what_is_far_too_large_is_cut_before_it_is_kept() -> None:
    """B01: two megabytes of arguments are not journalled, and still count as too large."""
    wide = "x" * 2_000_000
    function = {"name": "a", "arguments": wide}
    message = {"content": wide, "tool_calls": [{"id": "1", "function": function, "s": 1}, "odd", {"function": 2}]}
    value = answer(200, body({**message, "function_call": function, "kept": wide}))
    assert isinstance(value, ModelReply)
    assert len(str(value.raw["content"])) <= 400_000
    assert value.raw["kept"] == wide
    calls = value.raw["tool_calls"]
    assert isinstance(calls, list)
    assert calls[1:] == ["odd", {"function": 2}]
    assert len(json.dumps(calls)) < 201_000
    assert len(json.dumps(value.raw["function_call"])) < 201_000
    assert isinstance(calls[0], dict)
    assert calls[0]["s"] == 1


@given(st.integers(200, 599), st.binary(max_size=200) | st.text(max_size=50).map(str.encode))
def test_any_answer_is_some_value_of_bounded_size(status: int, raw: bytes) -> None:
    value = judge(Arrived(status, {}, raw, AT), PROVIDER)
    assert len(ANSWERS.dump_json(value)) < 3_000
