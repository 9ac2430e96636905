"""The balancer deals connections out in turn and changes nothing on them; the clients' histories have their length."""

import asyncio
import contextlib
from itertools import cycle

import pytest

from lab.bench.balance import Front
from lab.bench.client_cost import LENGTHS, cpu_ms, history
from lab.ports import free_port

SETTLE_S = 0.1
"""For both ends of each line to see that it has ended."""


async def echo(name: bytes) -> tuple[asyncio.Server, int]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(name)
        with contextlib.suppress(ConnectionResetError):
            while data := await reader.read(1000):
                writer.write(data)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    return server, server.sockets[0].getsockname()[1]


async def front(*ports: int) -> tuple[asyncio.Server, int]:
    turns = cycle(ports)
    server = await asyncio.get_running_loop().create_server(lambda: Front(turns), "127.0.0.1", 0)
    return server, server.sockets[0].getsockname()[1]


async def test_connections_are_led_to_the_workers_in_turn_and_bytes_arrive_as_they_were_sent() -> None:
    (one, first), (two, second) = await echo(b"1"), await echo(b"2")
    server, port = await front(first, second)
    met = []
    for _ in range(4):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        # Sent at once: the line to the worker may not be there yet.
        writer.write(b"x" * 100_000)
        met.append(await reader.readexactly(1))
        assert await reader.readexactly(100_000) == b"x" * 100_000
        writer.close()
    assert met == [b"1", b"2", b"1", b"2"]
    for each in (one, two, server):
        each.close()
    await asyncio.sleep(SETTLE_S)


async def test_a_worker_that_is_down_refuses_through_the_balancer() -> None:
    server, port = await front(free_port())
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    said = b""
    with contextlib.suppress(ConnectionResetError):
        said = await asyncio.wait_for(reader.read(1), 5)
    assert said == b""
    writer.close()
    server.close()
    await asyncio.sleep(SETTLE_S)


@pytest.mark.parametrize("length", LENGTHS)
def test_a_history_is_as_long_as_it_says_and_pairs_are_whole(length: int) -> None:
    messages = history(length)
    assert len(messages) == length
    asked = [call["id"] for each in messages for call in each.get("tool_calls", ())]
    assert asked == [each["tool_call_id"] for each in messages if each["role"] == "tool"]
    assert len(set(asked)) == len(asked)


async def test_the_time_of_a_call_is_that_of_the_processor() -> None:
    """A call that only waits costs next to nothing."""

    async def wait(_: int) -> None:
        await asyncio.sleep(0.02)

    assert await cpu_ms(wait, 32) < 5
