"""A conversation within a size: what is left out, and what always stays."""

import json
import time

from services.history import history
from services.transcript import Answered, Entry, Shortened, Told, Transcript
from tests.services.replies import LIMITS, PROVIDER, call, reply, said
from tests.services.sent import answered, sent


def long_run(turns: int, result_bytes: int = 1_000) -> Transcript:
    replies = [reply(f"turn {n}", call("search", "{}", f"id{n}")) for n in range(1, turns + 1)]
    transcript = said(*replies, task="the task").add(Answered(turns, ("last",)))
    entries = [
        Answered(entry.turn, tuple(f"result of {entry.turn} " + "x" * result_bytes for _ in entry.texts))
        if isinstance(entry, Answered)
        else entry
        for entry in transcript.entries
    ]
    return Transcript((Told("Be kind.", "system"), *entries))


def test_trimming_keeps_whole_turns_the_task_and_the_newest() -> None:
    """The note says what is missing."""
    limits = LIMITS.model_copy(update={"history_bytes": 10_000})
    messages = sent(long_run(300), limits)
    assert len(json.dumps(messages, ensure_ascii=False).encode()) <= 10_500
    assert messages[0] == {"role": "system", "content": "Be kind."}
    assert messages[1]["content"].startswith("the task\n\n(Note: ")
    assert "earlier parts of this conversation are left out" in messages[1]["content"]
    assert "search 29" in messages[1]["content"]
    turns = [message["content"] for message in messages if message["role"] == "assistant"]
    assert turns == [f"turn {n}" for n in range(300 - len(turns) + 1, 301)]
    assert len(turns) > 3


def test_what_fits_is_not_trimmed() -> None:
    whole = long_run(20)
    size = sum(len(json.dumps(m, ensure_ascii=False, separators=(",", ":")).encode()) + 1 for m in sent(whole))
    assert sent(whole, LIMITS.model_copy(update={"history_bytes": size})) == sent(whole)
    assert len(sent(whole, LIMITS.model_copy(update={"history_bytes": size - 1}))) < len(sent(whole))


def test_a_shortened_conversation_stays_short() -> None:
    whole = long_run(50)
    shortened = whole.add(Shortened(8_000))
    assert len(json.dumps(sent(shortened)).encode()) < 9_000
    assert len(json.dumps(sent(shortened.add(Shortened(5_000)))).encode()) < 6_000


def test_the_newest_turn_stays_even_where_it_is_too_large_and_its_results_are_cut() -> None:
    limits = LIMITS.model_copy(update={"history_bytes": 5_000})
    big = said(reply(None, call("search", "{}", "a"), call("search", "{}", "b")))
    messages = sent(big.add(Answered(1, ("x" * 30_000, "y" * 30_000))), limits)
    assert [message["role"] for message in messages] == ["user", "assistant", "tool", "tool"]
    assert all("cut here: 30,000 bytes" in message["content"] for message in messages[2:])
    assert len(json.dumps(messages).encode()) <= 5_200


def test_the_newest_turn_stays_where_nothing_of_it_can_be_cut() -> None:
    limits = LIMITS.model_copy(update={"history_bytes": 5_000})
    messages = sent(
        answered(reply("y" * 9_000, call("search", "{}")), reply("x" * 9_000, call("search", "{}"))), limits
    )
    assert [message["content"][:1] for message in messages] == ["d", "x", "r"]


def test_the_turn_before_a_new_task_is_the_newest_one() -> None:
    limits = LIMITS.model_copy(update={"history_bytes": 5_000})
    earlier = said(reply(None, call("search", "{}"))).add(Answered(1, ("x" * 30_000,))).entries
    messages = sent(Transcript((Told("next"),), earlier), limits)
    assert [message["role"] for message in messages] == ["user", "assistant", "tool", "user"]
    assert len(json.dumps(messages).encode()) <= 5_200


def test_the_newest_message_of_the_user_is_never_left_out() -> None:
    earlier: list[Entry] = []
    for number in range(50):
        earlier += [Told(f"question {number}"), reply("answer " * 100)]
    turns = long_run(10).entries[2:]
    transcript = Transcript((Told("the new task"), *turns), tuple(earlier))
    messages = sent(transcript, LIMITS.model_copy(update={"history_bytes": 5_000}))
    users = [message["content"] for message in messages if message["role"] == "user"]
    assert users[0].startswith("question 0\n\n(Note: ")
    assert users[-1] == "the new task"


def test_the_cost_of_a_history_grows_with_its_size_only() -> None:
    """Ten times the turns cost about ten times the work; a quadratic way would cost a hundred times."""

    def seconds(turns: int) -> float:
        transcript = long_run(turns, result_bytes=10)
        times = []
        for _ in range(3):
            began = time.perf_counter()
            history(transcript, PROVIDER, LIMITS)
            times.append(time.perf_counter() - began)
        return min(times)

    assert seconds(2_000) < 40 * seconds(200)
