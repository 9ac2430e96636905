"""Answers of the model's server and what they mean: the table in `services.exchange`, row by row."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import formatdate

import pytest

from lab.paths import ROOT
from services import exchange
from services.answer import Action, ModelAnswer, ModelFailed
from services.reason import Reason
from tests.services.answers import AT, PROVIDER, answer, body, error, fails, refuses, replies


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
NO_MONEY = "402, any 4xx whose code is of an empty account"
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
    Case(OK, answer(200, b"\xef\xbb\xbf" + json.dumps(body()).encode()), replies()),
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
    Case(STREAM, answer(200, body(), content_type="Text/Event-Stream; charset=utf-8"), stream),
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
    Case(NO_MONEY, answer(429, error("insufficient_quota")), no_money),
    Case(NO_MONEY, answer(429, error(None, kind="insufficient_quota")), no_money),
    Case(NO_MONEY, answer(403, error("billing_not_active")), no_money),
    Case(NO_MONEY, answer(402, error("x")), no_money),
    Case(NO_ACCESS, answer(401, error("invalid_api_key")), fails(Action.FAIL, Reason.UNAUTHORISED)),
    Case(NO_ACCESS, answer(403, b"Forbidden"), fails(Action.FAIL, Reason.UNAUTHORISED, "Forbidden")),
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
    assert example.expected(example.value), example.value


def test_each_row_of_the_table_has_an_example_and_each_example_a_row() -> None:
    lines = re.findall(r"^\| (.+?) +\| .+\|$", exchange.__doc__ or "", re.MULTILINE)
    rows = [line for line in lines[1:] if not line.startswith("---")]
    assert rows == list(dict.fromkeys(example.row for example in CASES))


def test_the_text_for_people_has_the_same_rows() -> None:
    text = (ROOT / "docs" / "providers.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (.+?) \| .+ \|$", text[text.index("| answer |") :], re.MULTILINE)
    assert rows[2:-1] == list(dict.fromkeys(example.row for example in CASES))


@pytest.mark.parametrize(
    ("headers", "wait_s"),
    [
        ({"retry-after": "3"}, 3),
        ({"x-retry-after": "3"}, None),
        ({"llm_provider-retry-after": "3"}, 3),
        ({"llm_provider-retry-after": "3", "retry-after": "5"}, 5),
        ({"llm_provider-retry-after": formatdate(AT + 9, usegmt=True), "date": formatdate(AT + 1, usegmt=True)}, 8),
    ],
)
def test_a_wait_that_a_gateway_passes_on_counts(headers: dict[str, str], wait_s: float | None) -> None:
    value = exchange.judge(exchange.Arrived(429, headers, b"", AT), PROVIDER)
    assert isinstance(value, ModelFailed)
    assert value.retry_after_s == wait_s


@pytest.mark.parametrize(
    ("base", "asked"),
    [
        ("http://127.0.0.1:1", "http://127.0.0.1:1 (should PAWL_MODEL_URL end in /v1?)"),
        ("https://api.example.com/v1/", "https://api.example.com/v1"),
    ],
)
def test_a_model_that_is_not_there_is_named_with_the_address_that_was_asked(base: str, asked: str) -> None:
    provider = PROVIDER.model_copy(update={"base_url": base, "name": "m"})
    value = exchange.judge(exchange.Arrived(404, {}, b"Not Found", AT), provider)
    assert isinstance(value, ModelFailed)
    assert value.detail == f"there is no model m at {asked}: status 404: Not Found"
