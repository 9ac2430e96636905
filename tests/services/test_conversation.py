"""A conversation's order, its limits, and what the model is shown of it."""

from typing import Any

from services.conversation import (
    CHARS_MAX,
    MESSAGES_MAX,
    SHOWN_MAX,
    WAITING_MAX,
    Accepted,
    Conversation,
    Known,
    Message,
    Refusal,
    SendRequest,
    earlier,
    over,
    send,
    spoken,
)
from services.messages import Said
from services.raw import CARRIED_BYTES, beyond_text
from services.transcript import Replied


def request(name: str, text: str = "words") -> SendRequest:
    return SendRequest(message_id=name, text=text)


def grown(*names: str) -> Conversation:
    conversation = Conversation()
    for name in names:
        taken = send(conversation, request(name))
        assert isinstance(taken, Accepted)
        conversation = taken.conversation
    return conversation


def ended(conversation: Conversation, name: str, reply: str | None = "answer", state: str = "completed") -> Message:
    message = conversation.find(name)
    assert message is not None
    return message.model_copy(update={"state": state, "reply": reply, "reason": "because"})


def test_the_first_message_starts_and_the_others_wait_in_order() -> None:
    conversation = grown("a", "b", "c")
    assert [message.state for message in conversation.messages] == ["running", "queued", "queued"]
    conversation, following = over(conversation, ended(conversation, "a"))
    assert following is not None and following.message_id == "b"
    conversation, following = over(conversation, ended(conversation, "b"))
    conversation, following = over(conversation, ended(conversation, "c"))
    assert following is None and not conversation.open()


def test_a_report_that_comes_twice_starts_nothing_twice() -> None:
    conversation = grown("a", "b", "c")
    conversation, _ = over(conversation, ended(conversation, "a"))
    conversation, following = over(conversation, ended(conversation, "a"))
    assert following is None


def test_a_message_is_known_by_its_name_and_bound_to_its_text() -> None:
    conversation = grown("a", "b")
    known = send(conversation, request("b"))
    assert isinstance(known, Known) and known.position == 1
    assert isinstance(send(conversation, request("b", "other")), Refusal)


def test_only_so_many_messages_wait() -> None:
    conversation = grown(*(f"m{number}" for number in range(WAITING_MAX + 1)))
    refused = send(conversation, request("more"))
    assert isinstance(refused, Refusal) and refused.status == 429


def test_the_oldest_messages_that_are_over_go_first() -> None:
    conversation = Conversation(
        messages=tuple(Message(message_id=f"m{n}", text="t", state="completed") for n in range(MESSAGES_MAX))
    )
    taken = send(conversation, request("new"))
    assert isinstance(taken, Accepted)
    assert len(taken.conversation.messages) == MESSAGES_MAX and taken.conversation.dropped == 1
    assert taken.conversation.find("m0") is None and taken.conversation.find("new") is not None


def test_the_model_is_shown_questions_with_their_answers_and_no_more_than_allowed() -> None:
    conversation = grown("a", "b")
    conversation, _ = over(conversation, ended(conversation, "a", reply=None, state="failed"))
    said = earlier(conversation, "b")
    assert [(each.role, each.text) for each in said] == [
        ("user", "words"),
        ("assistant", "(not answered: failed. because)"),
    ]
    many = Conversation(
        messages=tuple(Message(message_id=f"m{n}", text="t", state="completed", reply="r") for n in range(100))
    )
    assert len(earlier(many, "new")) == 2 * SHOWN_MAX


def test_the_model_gets_its_own_message_back_where_it_held_more_than_the_reply() -> None:
    own = {"role": "assistant", "content": "long answer", "reasoning_content": "so \ud800"}
    calling: dict[str, Any] = {**own, "tool_calls": [{"id": "1"}]}
    said = (
        Said(role="user", text="a"),
        Said(role="assistant", text="long", message=calling),
        Said(role="assistant", text="short"),
    )
    _, first, second = spoken(said)
    assert isinstance(first, Replied) and first.raw == {**own, "reasoning_content": "so \ufffd"}
    assert isinstance(second, Replied) and second.raw == {"role": "assistant", "content": "short"}


def test_a_message_is_carried_along_only_where_it_holds_more_than_its_text() -> None:
    plain: dict[str, Any] = {"role": "assistant", "content": "x", "refusal": None, "annotations": []}
    assert beyond_text(plain) is None
    assert beyond_text({**plain, "reasoning_content": "hm"}) == {**plain, "reasoning_content": "hm"}
    assert beyond_text({**plain, "reasoning_content": "h" * CARRIED_BYTES}) is None


def test_long_texts_are_kept_to_a_size_and_what_is_open_stays() -> None:
    long = CHARS_MAX // 10
    kept = Conversation(
        messages=tuple(Message(message_id=f"m{n}", text="t", reply="r" * long, state="completed") for n in range(9))
    )
    for n in range(3):
        taken = send(kept, request(f"n{n}", "w" * 60_000))
        assert isinstance(taken, Accepted)
        kept = taken.conversation
    assert sum(message.chars for message in kept.messages) <= CHARS_MAX
    assert [message.message_id for message in kept.messages][-3:] == ["n0", "n1", "n2"]
    assert kept.dropped == 1
    full, _ = over(kept, Message(message_id="n0", text="w" * 60_000, state="completed", reply="r" * CHARS_MAX))
    assert [message.message_id for message in full.messages] == ["n1", "n2"]
