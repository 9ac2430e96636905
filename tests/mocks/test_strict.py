"""Histories that a strict provider takes and refuses."""

from typing import Any

import pytest

from mocks import strict
from mocks.script import Script
from mocks.switches import Switches, missing_fields, refusal

SYSTEM = {"role": "system", "content": "be kind"}
USER = {"role": "user", "content": "hello"}
FINAL = {"role": "assistant", "content": "done"}


def call(call_id: Any = "c1", arguments: Any = "{}", name: Any = "f", **fields: Any) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}, **fields}


def calling(*calls: Any, content: Any = None, **fields: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, "tool_calls": list(calls), **fields}


def result(call_id: str = "c1", content: Any = "ok") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


@pytest.mark.parametrize(
    "messages",
    [
        [USER],
        [SYSTEM, USER],
        [SYSTEM, USER, calling(call()), result()],
        [USER, calling(call("a"), call("b"), content="both"), result("a"), result("b")],
        [USER, calling(call("a")), result("a"), calling(call("b")), result("b"), FINAL, USER],
        [USER, USER],
        [USER, {"role": "assistant", "content": None, "refusal": "no"}, USER],
        [USER, {"role": "assistant", "tool_calls": [call()]}, result(content="")],
        [USER, calling(call(arguments='{"a": "\\ud83d\\ude00"}')), result()],
        [{"role": "user", "content": [{"type": "text", "text": "hi"}]}],
    ],
)
def test_a_well_formed_history_passes(messages: list[Any]) -> None:
    assert strict.what_is_malformed(messages) is None


@pytest.mark.parametrize(
    "messages,words",
    [
        ([], "empty"),
        (["text"], "role is not one of"),
        ([{"role": "robot", "content": "x"}], "role is not one of"),
        ([SYSTEM], "last message"),
        ([USER, FINAL], "last message"),
        ([FINAL, USER], "after nothing"),
        ([USER, FINAL, FINAL, USER], "after assistant"),
        ([USER, SYSTEM, USER], "system message after the beginning"),
        ([{"role": "user", "content": None}], "needs content"),
        ([USER, calling(call())], "no tool message"),
        ([USER, calling(call()), USER], "no tool message yet for c1"),
        ([USER, calling(call("a"), call("b")), result("a")], "no tool message for b"),
        ([USER, calling(call("a"), call("b")), result("b"), result("a")], "the answer to a is due"),
        ([USER, calling(call("a")), result("a"), result("a")], "no tool call is open"),
        ([USER, calling(call("a")), result("b")], "the answer to a is due"),
        ([USER, result()], "no tool call is open"),
        ([USER, calling(call("a"), call("a")), result("a"), result("a")], "used before"),
        ([USER, calling(call("a")), result("a"), calling(call("a")), result("a")], "used before"),
        ([USER, calling(call("")), result("")], "the id is empty"),
        ([USER, calling(call(arguments="")), result()], "not a JSON object"),
        ([USER, calling(call(arguments="[]")), result()], "not a JSON object"),
        ([USER, calling(call(arguments="{")), result()], "not a JSON object"),
        ([USER, calling(call(arguments={"a": 1})), result()], "not a JSON object"),
        ([USER, calling(call(arguments=None)), result()], "not a JSON object"),
        ([USER, calling(call(arguments='{"a": NaN}')), result()], "not a JSON object"),
        ([USER, calling(call(arguments='{"a": "\\ud83d"}')), result()], "arguments holds a lone surrogate"),
        ([USER, calling(call(name="")), result()], "has no name"),
        ([USER, calling({"id": "c1", "type": "function"}), result()], "not a function call"),
        ([USER, calling("c1"), result()], "not a function call"),
        ([USER, calling(), USER], "at least one call"),
        ([USER, {"role": "assistant", "content": None}, USER], "neither content nor"),
        ([USER, {"role": "assistant", "content": ""}, USER], "neither content nor"),
        ([USER, calling(call()), result(content=None)], "needs content"),
        ([USER, calling(call()), result(content="cut \ud83d here")], "lone surrogate"),
        ([{"role": "user", "content": [{"text": "\ude00"}]}], "lone surrogate"),
    ],
)
def test_a_malformed_history_is_refused_with_the_reason(messages: list[Any], words: str) -> None:
    assert words in (strict.what_is_malformed(messages) or "")


def test_content_null_and_empty_are_refused_separately() -> None:
    null, empty, absent = calling(call()), calling(call(), content=""), {"role": "assistant", "tool_calls": [call()]}
    assert [bool(strict.null_content([USER, m])) for m in (null, empty, absent, FINAL)] == [True, False, False, False]
    assert [bool(strict.empty_content([USER, m])) for m in (null, empty, absent, FINAL)] == [False, True, False, False]
    assert strict.empty_content([USER, calling(call()), result(content="")]) is None


@pytest.mark.parametrize(
    "message,known",
    [
        (calling(call()), True),
        ({**FINAL, "refusal": None}, True),
        (calling(call(), reasoning_content="hm"), False),
        (calling(call(extra_content={})), False),
        ({**USER, "id": 1}, False),
        (calling({"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}", "strict": True}}), False),
    ],
)
def test_fields_that_the_api_does_not_define(message: dict[str, Any], known: bool) -> None:
    assert (strict.unknown_fields([message]) is None) == known


THINKING = Script.model_validate(
    {
        "match": "hello",
        "replies": [
            {
                "tool_calls": [{"name": "f", "arguments": {}, "extra_content": {"signature": "s"}}],
                "extra": {"reasoning_content": "hm"},
            },
            {"content": "done"},
        ],
    }
)
CAME_BACK = calling(call("call_0_0", extra_content={"signature": "s"}), reasoning_content="hm")


@pytest.mark.parametrize(
    "message,passes",
    [
        (CAME_BACK, True),
        (calling(call("renamed", extra_content={"signature": "s"}), content="", reasoning_content="hm"), True),
        (calling(call("call_0_0", extra_content={"signature": "s"})), False),
        (calling(call("call_0_0"), reasoning_content="hm"), False),
        (calling(call("call_0_0", extra_content={"signature": "S"}), reasoning_content="hm"), False),
    ],
)
def test_fields_that_were_sent_must_come_back(message: dict[str, Any], passes: bool) -> None:
    assert (missing_fields([USER, message, result("call_0_0")], [("s", THINKING)]) is None) == passes


def test_a_reply_that_came_at_a_later_attempt_must_come_back_like_any_other() -> None:
    sent = {"content": "x", "extra": {"reasoning_content": "hm"}}
    script = Script.model_validate(
        {"match": "hello", "replies": [{"attempts": [{"status": 500}, {"cut": True}, sent]}]}
    )
    kept = {"role": "assistant", "content": "x", "reasoning_content": "hm"}
    assert missing_fields([USER, kept, USER], [("s", script)]) is None
    assert missing_fields([USER, FINAL, USER], [("s", script)]) is not None


def test_the_end_of_an_earlier_conversation_may_come_back_without_its_turns_with_calls() -> None:
    sent = {"content": "done", "extra": {"reasoning_content": "so"}}
    script = Script.model_validate({"match": "hello", "replies": [*THINKING.replies[:1], sent]})
    following = {"role": "user", "content": "something else"}
    assert missing_fields([USER, {**FINAL, "reasoning_content": "so"}, following], [("s", script)]) is None
    assert missing_fields([USER, FINAL, following], [("s", script)]) is not None
    assert missing_fields([USER, {**FINAL, "reasoning_content": "so"}], [("s", script)]) is not None


def test_fields_of_an_earlier_conversation_must_come_back_too() -> None:
    lost = calling(call("call_0_0"))
    history = [USER, lost, result("call_0_0"), FINAL, {"role": "user", "content": "something else"}]
    assert missing_fields(history, [("s", THINKING)]) is not None


@pytest.mark.parametrize(
    "switches,messages,code",
    [
        (Switches(), [FINAL], None),
        (Switches(strict=True), [FINAL], "invalid_request"),
        (Switches(strict=True), [USER], None),
        (Switches(reject_null=True), [USER, calling(call())], "invalid_request"),
        (Switches(reject_empty=True), [USER, calling(call(), content="")], "invalid_request"),
        (Switches(reject_unknown_fields=True), [{**USER, "x": 1}], "invalid_request"),
        (Switches(require_fields=True), [USER, calling(call())], "invalid_request"),
        (Switches(max_request_bytes=99), [USER], "context_length_exceeded"),
        (Switches(max_request_bytes=100), [USER], None),
    ],
)
def test_each_switch_refuses_its_own_kind(switches: Switches, messages: list[Any], code: str | None) -> None:
    refused = refusal(switches, messages, 100, [("s", THINKING)])
    if code is None:
        assert refused is None
    else:
        assert refused is not None
        assert refused.status == 400
        assert f'"code": "{code}"'.encode() in refused.body
