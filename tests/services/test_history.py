"""The history that is sent: what goes back as it came, and what is changed."""

import json
from typing import Any

import pytest

from mocks.strict import empty_content, null_content, unknown_fields
from services.history import CUT_NOTE, NO_CALL_NOTE, NO_RESULT, history
from services.limits import Limits
from services.provider import Provider
from services.transcript import Answered, Cut, Entry, Extended, Replied, Told, Transcript, Waited
from tests.services.replies import MAIL, ORDER, call, reply, said
from tests.services.sent import answered, sent


def echoed(arguments: Any) -> Any:
    messages = sent(answered(reply(None, call("search", arguments))))
    return messages[1]["tool_calls"][0]["function"]["arguments"]


def test_a_turn_is_the_reply_and_one_answer_for_each_call_in_order() -> None:
    messages = sent(answered(reply("I look.", call("search", "{}", "a"), call("look_up_order", ORDER, "b"))))
    assert messages == [
        {"role": "user", "content": "do it"},
        {
            "role": "assistant",
            "content": "I look.",
            "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "search", "arguments": "{}"}},
                {"id": "b", "type": "function", "function": {"name": "look_up_order", "arguments": ORDER}},
            ],
        },
        {"role": "tool", "tool_call_id": "a", "content": "result 0"},
        {"role": "tool", "tool_call_id": "b", "content": "result 1"},
    ]


def test_fields_that_must_come_back_are_the_same() -> None:
    """Reasoning and signatures return unchanged, in the message, in the call and in its function."""
    signed = call("search", '{ "limit" : 1 }', extra_content={"google": {"thought_signature": "a+/=é\\u0301"}}, index=0)
    signed["function"]["note"] = [1.5, 2**70, None]
    message = sent(answered(reply(None, signed, reasoning_content="hm… 🤔", annotations=[])))[1]
    assert message["reasoning_content"] == "hm… 🤔"
    assert message["tool_calls"] == [signed]
    assert json.dumps(message["tool_calls"][0]["extra_content"]) == json.dumps(signed["extra_content"])


def test_unknown_fields_are_left_out_for_providers_that_refuse_them() -> None:
    signed = call("search", "{}", extra_content={"x": 1}, index=0)
    signed["function"]["note"] = 1
    messages = sent(answered(reply(None, signed, reasoning_content="hm", annotations=[])), keep_unknown=False)
    assert unknown_fields(messages) is None
    assert "reasoning_content" not in messages[1]


@pytest.mark.parametrize("content", [None, "", " ", ..., []])
@pytest.mark.parametrize(
    "setting, refused", [("null", empty_content), ("empty", null_content), ("omit", empty_content)]
)
def test_one_setting_says_how_empty_content_goes_back(content: Any, setting: str, refused: Any) -> None:
    turn = reply(content, call("search", "{}"))
    if content is ...:
        turn.raw.pop("content")
    messages = sent(answered(turn), echo_empty=setting)
    assert refused(messages) is None
    assert ("content" in messages[1]) == (setting != "omit")


@pytest.mark.parametrize("arguments", ["", "  ", None, ..., "null", {}])
def test_arguments_that_were_not_given_go_back_as_an_empty_object(arguments: Any) -> None:
    assert echoed(arguments) == "{}"


@pytest.mark.parametrize("arguments", ['{"a"', "[]", '"x"', "5", "x" * 1_000_000, '{"limit": 1}}', [1, 2]])
def test_arguments_that_are_no_object_go_back_as_an_object_that_shows_them(arguments: Any) -> None:
    back = json.loads(echoed(arguments))
    assert list(back) == ["unreadable_arguments"]
    assert len(back["unreadable_arguments"]) < 600


def test_arguments_go_back_as_they_were_written_unless_they_are_poison() -> None:
    """What a strict reader would refuse is cleaned, everything else keeps its white space and order."""
    assert echoed('{ "b":1,"a" :1.50}') == '{ "b":1,"a" :1.50}'
    assert echoed(r'{"query": "\ud83d!"}') == '{"query": "\ufffd!"}'
    assert json.loads(echoed('{"limit": NaN}')) == {"limit": "NaN"}


def test_arguments_that_are_too_large_do_not_stay_in_the_history() -> None:
    large = json.dumps({"query": "x" * 100_000})
    assert len(echoed(large)) < 700


@pytest.mark.parametrize(
    "name, back",
    [
        ("", "unnamed"),
        (None, "unnamed"),
        ("functions.search", "functions_search"),
        ("süß", "s__"),
        ("x" * 99, "x" * 64),
    ],
)
def test_a_name_that_no_provider_takes_goes_back_in_characters_that_all_take(name: Any, back: str) -> None:
    assert sent(answered(reply(None, call(name, "{}"))))[1]["tool_calls"][0]["function"]["name"] == back


@pytest.mark.parametrize("entry", ["text", 5, None, [], {}, {"function": "x"}, {"type": "custom", "id": "c"}])
def test_an_entry_that_is_no_call_goes_back_as_one_and_is_answered(entry: Any) -> None:
    messages = sent(answered(reply(None, entry)))
    assert messages[1]["tool_calls"][0]["function"]["name"] == "unnamed"
    assert messages[2]["content"] == "result 0"


def test_the_older_form_of_a_call_goes_back_in_the_newer() -> None:
    old = Replied(1, {"content": None, "function_call": {"name": "search", "arguments": "{}"}})
    message = sent(said(old).add(Answered(1, ("found",))))[1]
    assert "function_call" not in message
    assert message["tool_calls"] == [
        {"id": "t0001c000", "type": "function", "function": {"name": "search", "arguments": "{}"}}
    ]


def test_ids_are_unique_in_the_whole_history_and_kept_where_they_can_be() -> None:
    """Here the same id comes twice in a turn and again in the next, then an empty one."""
    first = reply(None, call("search", "{}", "call_1"), call("search", "{}", "call_1"))
    turns = [first, reply(None, call("search", "{}", "call_1")), reply(None, call("search", "{}", ""))]
    messages = sent(answered(*turns))
    ids = [each["id"] for message in messages for each in message.get("tool_calls", [])]
    assert ids == ["call_1", "t0001c001", "t0002c000", "t0003c000"]


@pytest.mark.parametrize("identifier", ["", None, 7, " ", "a b", "ä", "x" * 200, "line\nbreak"])
def test_an_id_that_cannot_go_back_is_replaced(identifier: Any) -> None:
    assert sent(answered(reply(None, call("search", "{}", identifier))))[1]["tool_calls"][0]["id"] == "t0001c000"


def test_a_provider_that_uses_our_form_of_id_does_not_collide_with_us() -> None:
    turns = [reply(None, call("search", "{}", "t0002c000")), reply(None, call("search", "{}", ""))]
    assert said(*turns).ids.of == (("t0002c000",), ("t0002c000x1",))


def test_an_id_does_not_change_when_the_conversation_goes_on() -> None:
    turns = [reply(None, call("search", "{}", each)) for each in ("a", "a", "", "t0002c000", "b")]
    whole = said(*turns).ids.of
    for length in range(1, 6):
        assert said(*turns[:length]).ids.of == whole[:length]


def test_calls_that_were_never_answered_get_an_answer() -> None:
    """Calls beside a refusal are not run, and the session goes on."""
    refused = said(reply(None, call("send_email", MAIL), refusal="No."))
    messages = sent(Transcript((Told("and now?"),), earlier=refused.entries))
    assert [message["content"] for message in messages if message["role"] == "tool"] == [NO_RESULT]


@pytest.mark.parametrize("nothing", [reply(""), reply(None), reply("  "), reply(None, reasoning_content="hm")])
def test_a_reply_that_holds_nothing_is_not_sent_back(nothing: Replied) -> None:
    """The next request is the same as the one before."""
    assert sent(said(nothing)) == sent(said())


def test_a_text_that_was_cut_off_is_asked_for_again_with_a_note() -> None:
    messages = sent(said(reply("half", finish="length", cut=Cut.YES)))
    assert messages == [{"role": "user", "content": f"do it\n\n({CUT_NOTE})"}]
    assert sent(said(reply("", cut=Cut.YES)))[0]["content"].endswith(f"({CUT_NOTE})")


def test_an_announced_call_that_was_not_made_is_asked_for_again_with_a_note() -> None:
    assert sent(said(reply("calling", finish="tool_calls")))[0]["content"] == f"do it\n\n({NO_CALL_NOTE})"


def test_a_note_goes_when_the_model_has_gone_on() -> None:
    turns = [reply("half", finish="length", cut=Cut.YES), reply(None, call("search", "{}"))]
    messages = sent(said(*turns).add(Answered(2, ("found",))))
    assert [message["role"] for message in messages] == ["user", "assistant", "tool"]
    assert messages[0]["content"] == "do it"


def test_instructions_are_one_message_at_the_beginning() -> None:
    earlier: tuple[Entry, ...] = (Told("Be kind.", "system"), Told("first"), reply("yes"))
    now: tuple[Entry, ...] = (Told("Be kind.", "system"), Told("Done before: x", "system"), Told("second"))
    messages = sent(Transcript(now, earlier))
    assert messages == [
        {"role": "system", "content": "Be kind.\n\nDone before: x"},
        {"role": "user", "content": "first"},
        {"role": "assistant", "content": "yes"},
        {"role": "user", "content": "second"},
    ]


def test_entries_that_are_not_part_of_the_conversation_change_nothing() -> None:
    from services.reason import Limit

    plain = answered(reply(None, call("search", "{}")))
    mixed = Transcript((*plain.entries[:2], Extended(Limit.CALLS, 5), Waited(9), plain.entries[2], Waited(1)))
    assert sent(mixed) == sent(plain)


def test_poison_in_a_task_or_a_result_does_not_reach_the_request() -> None:
    transcript = said(reply(None, call("search", "{}")), task="a\ud83d").add(Answered(1, ("b\x00\udfff",)))
    messages = sent(transcript)
    assert (messages[0]["content"], messages[2]["content"]) == ("a\ufffd", "b\ufffd\ufffd")


def test_ids_of_a_session_are_unique_without_a_search() -> None:
    """Each run of a session counts its turns from 1, and providers that give no ids are common."""
    turn = (reply(None, call("search", "{}", "")), Answered(1, ("found",)), reply("yes", turn=2))
    ids = Transcript(earlier=turn * 200).ids.of
    assert [each for each in ids if each] == [(f"t{number:04d}c000",) for number in range(1, 400, 2)]


def test_a_provider_is_made_from_defaults() -> None:
    assert history(said(), Provider(), Limits()) == [{"role": "user", "content": "do it"}]
