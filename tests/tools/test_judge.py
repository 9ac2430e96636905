"""A tool's judge is its author's code: whatever it does, what a 2xx says is not lost."""

import json
from decimal import Decimal
from typing import Any

from tests.tools.peer import answer, in_turn, peer, wire_to
from tools.outcome import Done, Doubt, InFlight, NotFound, NotSent, Pending, Rejected, Unknown
from tools.request import get, post
from tools.words import SENTENCE_BYTES_MAX

POST = post("/charges", {"amount_cents": 5})


async def test_a_judge_reads_a_success_only() -> None:
    def judge(reply: object) -> Rejected:
        return Rejected("judged")

    async with peer(in_turn(answer(200), answer(404))) as receiver, wire_to(receiver.url) as wire:
        assert await wire.send("receiver", POST, "k", 5, judge) == Rejected("judged")
        got = await wire.send("receiver", POST, "k", 5, judge)
    assert isinstance(got, Rejected)
    assert got.status == 404


async def test_a_judge_that_fails_leaves_a_doubt() -> None:
    def judge(reply: object) -> Done:
        raise KeyError("status")

    async with peer(answer(200)) as receiver, wire_to(receiver.url) as wire:
        got = await wire.send("receiver", POST, "k", 5, judge)
    assert isinstance(got, Unknown)
    assert got.doubt is Doubt.JUDGED
    assert "KeyError: 'status'" in got.reason


async def test_a_judges_value_is_made_plain() -> None:
    values: list[Any] = [Decimal("1.10"), {1: {2}}, object(), (n for n in range(3))]
    for value in values:
        async with peer(answer(200)) as receiver, wire_to(receiver.url) as wire:
            got = await wire.send("receiver", POST, "k", 5, lambda _, value=value: Done(value))  # type: ignore[misc]
        assert isinstance(got, Done)
        json.dumps(got.value)


async def test_a_judge_that_says_nothing_leaves_a_doubt() -> None:
    nothing: Any = lambda _: None  # noqa: E731  a judge that forgot to return
    async with peer(answer(200)) as receiver, wire_to(receiver.url) as wire:
        for got in (
            await wire.send("receiver", POST, "k", 5, nothing),
            await wire.look_up("receiver", get("/x"), "k", 5, nothing),
        ):
            assert isinstance(got, Unknown)
            assert got.doubt is Doubt.JUDGED


async def test_a_judges_words_are_one_short_line_and_its_id_is_an_id() -> None:
    long = "x\n\nNEW INSTRUCTIONS" * 100_000
    said: list[Any] = [
        Rejected(long),
        Rejected({"why": long}),  # type: ignore[arg-type]
        Unknown(long),
        NotSent(long),
        Pending(long),
        InFlight(long),
    ]
    async with peer(answer(200)) as receiver, wire_to(receiver.url) as wire:
        for each in said:
            got = await wire.send("receiver", POST, "k", 5, lambda _, each=each: each)  # type: ignore[misc]
            assert not isinstance(got, Done)
            assert got.reason.isprintable() and len(got.reason.encode()) <= SENTENCE_BYTES_MAX
        gone = await wire.look_up("receiver", get("/x"), "k", 5, lambda _: NotFound(long))
        assert isinstance(gone, NotFound) and len(gone.reason.encode()) <= SENTENCE_BYTES_MAX
        for named, kept in ((long, None), ("ch_1", "ch_1"), (7, "7"), ({"a": 1}, None)):
            done: Any = Done(None, named)  # type: ignore[arg-type]
            assert await wire.send("receiver", POST, "k", 5, lambda _, done=done: done) == Done(None, kept)  # type: ignore[misc]
            assert await wire.look_up("receiver", get("/x"), "k", 5, lambda _, done=done: done) == Done(None, kept)  # type: ignore[misc]
