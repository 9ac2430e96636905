"""`may_leave` is asked last of all: when there is a connection, and before a byte is written."""

import asyncio

import pytest

from tests.tools import peer as peers
from tests.tools.peer import Seen, answer, peer, wire_to
from tools.look_up_order import look_up_order
from tools.outcome import Done, NotSent, Unknown
from tools.request import post

POST = post("/charges", {"amount_cents": 5})


async def test_it_is_asked_when_the_connection_is_there_and_nothing_has_arrived() -> None:
    async with peer(answer()) as receiver, wire_to(receiver.url) as wire:
        asked: list[tuple[int, int]] = []

        def may_leave() -> None:
            # The kernel has made the connection; the peer's accept runs in this loop and may be a turn behind.
            asked.append((receiver.connections, len(receiver.seen)))

        await wire.send("receiver", POST, "k", 5, may_leave=may_leave)
        await wire.send("receiver", POST, "k", 5, may_leave=may_leave)
        assert len(asked) == 2
        assert asked[0][1] == 0
        assert asked[1] == (1, 1)


async def test_it_is_not_asked_while_the_request_waits_for_a_connection() -> None:
    order: list[str] = []

    async def slow(request: Seen, writer: asyncio.StreamWriter) -> bool:
        order.append(f"{request.body.decode()} arrived")
        await asyncio.sleep(0.2)
        order.append(f"{request.body.decode()} answered")
        return await answer()(request, writer)

    def asked(name: str) -> None:
        order.append(f"{name} asked")

    async with peer(slow) as receiver, wire_to(receiver.url, connections=1) as wire:
        await asyncio.gather(
            *(wire.send("receiver", post("/x", n), "k", 5, may_leave=lambda n=n: asked(str(n))) for n in (1, 2))  # type: ignore[misc]
        )
    assert order == ["1 asked", "1 arrived", "1 answered", "2 asked", "2 arrived", "2 answered"]


async def test_it_is_not_asked_when_there_is_no_connection() -> None:
    async with wire_to("http://127.0.0.1:1") as wire:
        got = await wire.send("receiver", POST, "k", 5, may_leave=lambda: pytest.fail("asked"))
    assert isinstance(got, NotSent)


async def test_a_sentence_keeps_the_request_here_and_the_connection_in_the_pool() -> None:
    async with peer(answer()) as receiver, wire_to(receiver.url, connections=1) as wire:
        for _ in range(3):
            assert await wire.send("receiver", POST, "k", 5, may_leave=lambda: "too late") == NotSent("too late")
        await asyncio.sleep(0.05)
        assert receiver.seen == []
        assert isinstance(await wire.send("receiver", POST, "k", 5), Done)
        assert receiver.connections == 1


async def test_a_fault_in_it_is_raised_and_costs_no_connection() -> None:
    def broken() -> str:
        raise LookupError("no clock")

    async with peer(answer()) as receiver, wire_to(receiver.url, connections=1) as wire:
        for _ in range(3):
            with pytest.raises(LookupError):
                await wire.send("receiver", POST, "k", 5, may_leave=broken)
        assert isinstance(await wire.send("receiver", POST, "k", 5), Done)
        assert len(receiver.seen) == 1


async def test_a_frozen_exchange_that_had_left_is_a_doubt() -> None:
    async with peer(peers.hang) as receiver, wire_to(receiver.url) as wire:
        assert isinstance(await wire.send("receiver", POST, "k", 0.2, may_leave=lambda: None), Unknown)
        assert len(receiver.seen) == 1


async def test_a_tool_passes_it_on() -> None:
    request = look_up_order.prepare("", {"order_id": "7"})
    async with peer(answer()) as receiver, wire_to(receiver.url) as wire:
        assert await look_up_order.send(wire, "", request, lambda: "too late") == NotSent("too late")
        assert receiver.seen == []
