"""Which reply a history gets, and how it is filled in."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from mocks.answer import Answer, Cut, Hang
from mocks.builtin_scripts import BUILTIN_SCRIPTS
from mocks.completion import complete
from mocks.script import Reply, Script, choose, fill, variant

REPEAT = Script.model_validate({"match": "again", "replies": [{"content": "0"}, {"content": "1"}], "loop": True})
ONCE = Script.model_validate({"match": r"say (?P<word>\w+)", "replies": [{"content": "{word} {other} {}"}]})
SCRIPTS = (("once", ONCE), ("repeat", REPEAT))

USER = {"role": "user", "content": "please say hello"}
ASSISTANT = {"role": "assistant", "content": "x"}


def message_of(messages: list[Any], scripts: Any = SCRIPTS) -> dict[str, Any]:
    chosen = choose(messages, scripts)
    answer = complete(chosen, chosen.reply, 100)
    assert isinstance(answer, Answer)
    message: dict[str, Any] = json.loads(answer.body)["choices"][0]["message"]
    return message


@pytest.mark.parametrize(
    "messages,script,turn,content",
    [
        ([USER], "once", 0, "hello {other} {}"),
        ([{"role": "system", "content": "again"}, USER], "once", 0, "hello {other} {}"),
        ([USER, ASSISTANT], "once", 1, "nothing left in the script"),
        ([{"role": "user", "content": "again"}], "repeat", 0, "0"),
        ([{"role": "user", "content": "again"}, ASSISTANT, {"role": "tool"}], "repeat", 1, "1"),
        ([{"role": "user", "content": "again"}, *[ASSISTANT] * 9], "repeat", 9, "1"),
        ([USER, ASSISTANT, {"role": "user", "content": "again"}], "repeat", 0, "0"),
        ([{"role": "user", "content": [{"type": "text", "text": "say hi"}]}], "once", 0, "hi {other} {}"),
    ],
)
def test_the_last_user_message_and_the_turns_after_it_decide(
    messages: list[Any], script: str, turn: int, content: str
) -> None:
    chosen = choose(messages, SCRIPTS)
    assert (chosen.script, chosen.turn) == (script, turn)
    assert message_of(messages)["content"] == content


def test_without_a_match_the_answer_names_the_scripts() -> None:
    for messages in ([], [{"role": "user", "content": "hm"}], ["odd"], [{"role": "user", "content": 5}]):
        content = message_of(messages)["content"]
        assert "once" in content
        assert "repeat" in content


def test_the_first_script_that_matches_is_taken() -> None:
    other = Script.model_validate({"match": "say", "replies": [{"content": "other"}]})
    assert message_of([USER], (("other", other), *SCRIPTS))["content"] == "other"


def test_a_group_that_took_no_part_is_empty() -> None:
    script = Script.model_validate({"match": "a(?P<b>b)?", "replies": [{"content": "<{b}>"}]})
    assert message_of([{"role": "user", "content": "a"}], (("s", script),))["content"] == "<>"


@settings(max_examples=30)
@given(st.recursive(st.none() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)))
def test_filling_without_groups_changes_nothing(value: Any) -> None:
    assert fill(value, {}) == value


@pytest.mark.parametrize(
    "call,function",
    [
        ({"name": "f", "arguments": {"a": ["{word}"]}}, {"name": "f", "arguments": '{"a": ["hello"]}'}),
        ({"name": "f", "arguments": '{"a": {word}'}, {"name": "f", "arguments": '{"a": hello'}),
        ({"name": "f", "arguments": ""}, {"name": "f", "arguments": ""}),
        ({"name": "f", "arguments": None}, {"name": "f", "arguments": None}),
        ({"name": "f", "arguments": []}, {"name": "f", "arguments": "[]"}),
        ({"name": ""}, {"name": ""}),
    ],
)
def test_arguments_go_out_as_they_are_written(call: dict[str, Any], function: dict[str, Any]) -> None:
    script = Script.model_validate({"match": r"say (?P<word>\w+)", "replies": [{"tool_calls": [call]}]})
    assert message_of([USER], (("s", script),))["tool_calls"] == [
        {"id": "call_0_0", "type": "function", "function": function}
    ]


def test_ids_are_unique_over_a_conversation_unless_they_are_given() -> None:
    replies = [{"tool_calls": [{"name": "f"}, {"name": "f", "id": "same"}, {"name": "f", "id": ""}]}]
    scripts = (("s", Script.model_validate({"match": "", "replies": replies})),)
    ids = [call["id"] for call in message_of([USER, ASSISTANT, USER], scripts)["tool_calls"]]
    assert ids == ["call_1_0", "same", ""]


def test_fields_beyond_the_api_are_sent_along() -> None:
    call = {"name": "f", "arguments": {}, "extra_content": {"google": {"thought_signature": "{word}"}}}
    reply = {"tool_calls": [call], "extra": {"reasoning_content": "hm"}}
    message = message_of([USER], (("s", Script.model_validate({"match": r"say (?P<word>\w+)", "replies": [reply]})),))
    assert message["reasoning_content"] == "hm"
    assert message["tool_calls"][0]["extra_content"] == {"google": {"thought_signature": "hello"}}


@pytest.mark.parametrize(
    "reply,reason",
    [
        ({"content": "x"}, "stop"),
        ({"tool_calls": [{"name": "f"}]}, "tool_calls"),
        ({"tool_calls": [{"name": "f"}], "finish_reason": "length"}, "length"),
        ({"message": {"content": None, "refusal": "no"}, "finish_reason": "content_filter"}, "content_filter"),
    ],
)
def test_the_finish_reason_fits_unless_it_is_given(reply: dict[str, Any], reason: str) -> None:
    answer = complete(choose([USER], SCRIPTS), Reply.model_validate(reply), 400)
    assert isinstance(answer, Answer)
    body = json.loads(answer.body)
    assert body["choices"][0]["finish_reason"] == reason
    assert body["usage"]["prompt_tokens"] == 100
    assert body["usage"]["total_tokens"] == 100 + body["usage"]["completion_tokens"]


@pytest.mark.parametrize(
    "reply,status,body",
    [
        ({"status": 429, "headers": {"Retry-After": "30"}, "body": {"error": {}}}, 429, b'{"error": {}}'),
        ({"body": "not json"}, 200, b"not json"),
        ({"body_base64": "//4A"}, 200, b"\xff\xfe\x00"),
    ],
)
def test_a_raw_answer_replaces_the_completion(reply: dict[str, Any], status: int, body: bytes) -> None:
    answer = complete(choose([USER], SCRIPTS), Reply.model_validate(reply), 0)
    assert isinstance(answer, Answer)
    assert (answer.status, answer.body) == (status, body)


def test_a_status_alone_is_an_error_of_the_api_s_shape() -> None:
    answer = complete(choose([USER], SCRIPTS), Reply(status=503, headers={"x": "y"}), 0)
    assert isinstance(answer, Answer)
    assert set(json.loads(answer.body)["error"]) == {"message", "type", "param", "code"}
    assert ("x", "y") in answer.headers


def test_faults_of_the_connection() -> None:
    chosen = choose([USER], SCRIPTS)
    assert complete(chosen, Reply(cut=True), 0) == Cut()
    assert complete(chosen, Reply(hang=True), 0) == Hang()
    slow = complete(chosen, Reply(content="x", trickle_bytes_per_s=5), 0)
    assert isinstance(slow, Answer)
    assert slow.trickle_bytes_per_s == 5


@pytest.mark.parametrize(
    "drift,seen,content",
    [(False, 0, "a0"), (False, 1, "a1"), (False, 7, "a1"), (True, 0, "own"), (True, 1, "d1"), (True, 9, "d2")],
)
def test_what_identical_requests_get(drift: bool, seen: int, content: str) -> None:
    attempts = (Reply(content="a0"), Reply(content="a1"))
    reply = Reply(content="own", attempts=attempts, drift=(Reply(content="d1"), Reply(content="d2")))
    assert variant(reply, seen, drift).content == content


@pytest.mark.parametrize(
    "script",
    [
        {"match": "(", "replies": [{"content": "x"}]},
        {"match": "x", "replies": []},
        {"match": "x", "replies": [{"contents": "x"}]},
        {"match": "x", "replies": [{"attempts": [{"attempts": [{}]}]}]},
        {"match": "x", "replies": [{"tool_calls": [{"arguments": {}}]}]},
        {"match": "x"},
    ],
)
def test_a_wrong_script_is_refused(script: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Script.model_validate(script)


@pytest.mark.parametrize(
    "task,tools",
    [
        (
            "Refund order 17, please",
            [
                ("look_up_order", {"order_id": "17"}),
                ("refund_payment", {"payment_id": "pay_17", "amount_cents": 4900, "reason": "refund of order 17"}),
                (
                    "update_crm",
                    {
                        "customer_id": "cus_17",
                        "fields": {"refunded": True, "refunded_order": "17", "refunded_cents": 4900},
                    },
                ),
                (
                    "send_email",
                    {
                        "to": "customer-17@example.test",
                        "subject": "Your refund for order 17",
                        "body": "We have refunded 49.00 EUR for order 17.",
                    },
                ),
            ],
        ),
        (
            "charge customer cus_5 1200",
            [("charge_card", {"customer_id": "cus_5", "amount_cents": 1200, "currency": "EUR"})],
        ),
        (
            "transfer 300 to DE77",
            [("transfer_money", {"to_account": "DE77", "amount_cents": 300, "currency": "EUR"})],
        ),
        ("pay out 500 to acc_1", [("pay_out", {"account": "acc_1", "amount_cents": 500})]),
        ("text +4917", [("send_sms", {"to": "+4917", "text": "Your order is on its way."})]),
    ],
)
def test_the_scripts_that_are_always_there(task: str, tools: list[tuple[str, dict[str, Any]]]) -> None:
    messages: list[Any] = [{"role": "user", "content": task}]
    called = []
    for _ in range(10):
        message = message_of(messages, BUILTIN_SCRIPTS)
        messages.append(message)
        for call in message.get("tool_calls", []):
            called.append((call["function"]["name"], json.loads(call["function"]["arguments"])))
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": "{}"})
        if not message.get("tool_calls"):
            break
    assert called == tools
    assert "{" not in messages[-1]["content"]


@pytest.mark.parametrize(
    ("task", "calls"),
    [
        ("refund order 17", 2),
        ("charge customer 5 1200", 1),
        ("transfer 3 to D", 1),
        ("pay out 3 to D", 1),
        ("text 4", 1),
    ],
)
def test_they_do_not_say_that_something_was_done_that_was_refused(task: str, calls: int) -> None:
    messages: list[Any] = [{"role": "user", "content": task}]
    for _ in range(calls):
        (call,) = (message := message_of(messages, BUILTIN_SCRIPTS))["tool_calls"]
        last = len(messages) // 2 == calls - 1
        told = "it was denied by ann and not run." if last else "{}"
        messages += [message, {"role": "tool", "tool_call_id": call["id"], "content": told}]
    said = message_of(messages, BUILTIN_SCRIPTS)
    assert "tool_calls" not in said and "as far as I know. it was denied by ann" in said["content"]
