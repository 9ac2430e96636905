"""What is kept of an answer: waits, usage, signs of a cut, text without poison, never the key."""

import json
from email.utils import formatdate
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr, ValidationError

from services.answer import ModelFailed, ModelReply
from services.exchange import Arrived, judge
from services.provider import Provider
from services.transcript import Cut, Usage
from tests.services.answers import ANSWERS, AT, KEY, PROVIDER, answer, body, error, refuses


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
    """Bad values fall back to our own back-off, which is what None means."""
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
    usage = None if tokens is None else {"prompt_tokens": 1, "completion_tokens": tokens}
    value = answer(200, body(finish=finish, usage=usage))
    assert isinstance(value, ModelReply)
    assert value.cut is cut


@pytest.mark.parametrize("finish", ["content_filter", "SAFETY", "refusal"])
def test_a_reply_says_whether_it_was_filtered(finish: str) -> None:
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
    message = {"role": "assistant", "content": None, "reasoning_content": "é…", "x": [1, 2.5, 2**70, {"y": None}]}
    value = answer(200, body(message))
    assert isinstance(value, ModelReply)
    assert json.dumps(value.raw) == json.dumps(message)


def test_poison_in_a_message_is_cleaned_before_it_is_kept() -> None:
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


@pytest.mark.parametrize(
    "settings",
    [
        {"key": "sk-\u2026secret"},
        {"key": "sk-secret\n"},
        {"key": ""},
        {"extra": {"stream": True}},
        {"base_url": "x"},
        {"base_url": "http://user:secret@h/v1"},
        {"attempts": -1},
        {"unknown": 1},
    ],
)
def test_settings_that_cannot_work_are_refused_without_being_quoted(settings: dict[str, Any]) -> None:
    with pytest.raises(ValidationError) as caught:
        Provider.model_validate(settings)
    assert "secret" not in str(caught.value)


def test_a_key_of_any_form_is_hidden() -> None:
    provider = Provider(key=SecretStr("0123abcd/+="))
    value = judge(Arrived(401, {}, b"the key 0123abcd/+= is wrong", AT), provider)
    assert isinstance(value, ModelFailed)
    assert value.detail == "status 401: the key *** is wrong"


def test_what_is_far_too_large_is_cut_before_it_is_kept() -> None:
    """Two megabytes of arguments are not journalled, and still count as too large."""
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
