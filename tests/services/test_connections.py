"""Broken connections, each by a raw server that sees the request and then does this."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from services.answer import Action, ModelFailed, ModelReply
from services.model import Model
from services.provider import Provider
from services.reason import Reason
from tests.services.model_server import ANSWER, Server, ask, conversation, serving


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with serving() as running:
        yield running


Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def close_at_once(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.close()


async def reset(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.transport.abort()


async def close_after_request(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.close()


def say(words: bytes) -> Talk:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(words)
        await writer.drain()
        writer.close()

    return talk


CUT_BODY = b'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 900\r\n\r\n{"choices": ['
CUT_CHUNK = b'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{"cho\r\n'
BAD_GZIP = b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 9\r\n\r\nnot gzip!"
LONG_HEADER = b"HTTP/1.1 200 OK\r\nx: " + b"y" * 100_000 + b"\r\n\r\n"
CUT_ERROR = b"HTTP/1.1 500 Oh\r\ncontent-length: 900\r\n\r\nbo"


@pytest.mark.parametrize(
    "talk",
    [
        close_at_once,
        reset,
        close_after_request,
        say(b""),
        say(b"not http at all\r\n\r\n"),
        say(b"HTTP/1.1 200"),
        say(b"SSH-2.0-OpenSSH\r\n"),
        say(CUT_BODY),
        say(CUT_CHUNK),
        say(BAD_GZIP),
        say(LONG_HEADER),
        say(CUT_ERROR),
    ],
)
async def test_a_broken_connection_is_a_value_and_one_request(talk: Talk) -> None:
    """Every class of connection error is worth another try, which is not the client's to make."""
    connections = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        await talk(reader, writer)

    listener = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with listener:
        port = listener.sockets[0].getsockname()[1]
        value = await ask(f"http://127.0.0.1:{port}/v1", deadline_s=5)
    assert isinstance(value, ModelFailed)
    assert (value.action, value.reason) == (Action.RETRY, Reason.MODEL_UNAVAILABLE)
    assert value.detail.startswith("no answer: ")
    assert connections == 1


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:1/v1", "http://no-such-host.invalid/v1", "https://{plain}/v1", "http://[::1]:1/v1"]
)
async def test_a_server_that_cannot_be_reached_is_a_value(server: Server, url: str) -> None:
    plain = server.url.removeprefix("http://").removesuffix("/v1")
    value = await ask(url.replace("{plain}", plain), deadline_s=5)
    assert isinstance(value, ModelFailed)
    assert (value.action, value.reason) == (Action.RETRY, Reason.MODEL_UNAVAILABLE)


async def test_a_connection_that_died_while_it_was_idle_costs_no_hidden_request() -> None:
    """The library's transport must not send a second time by itself."""
    requests = 0
    whole = json.dumps(ANSWER).encode()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal requests
        head = await reader.readuntil(b"\r\n\r\n")
        size = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        await reader.readexactly(size)
        requests += 1
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(whole) + whole)
        await writer.drain()
        await reader.readuntil(b"\r\n\r\n")
        requests += 1
        writer.close()

    listener = await asyncio.start_server(serve, "127.0.0.1", 0)
    model = Model(Provider(base_url=f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/v1"))
    async with listener:
        assert isinstance(await model.ask(conversation()), ModelReply)
        assert isinstance(await model.ask(conversation()), ModelFailed)
        await model.close()
    assert requests == 2
