"""A tool's judge is its author's code: whatever it does, what a 2xx says is not lost."""

import json
from decimal import Decimal
from typing import Any

from tests.tools.peer import answer, in_turn, peer, wire_to
from tools.outcome import Done, Doubt, Rejected, Unknown
from tools.request import get, post

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
