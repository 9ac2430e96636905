"""The model's client against a small server of the test's own: what leaves, what comes back, what it survives."""

import asyncio
import gzip
import json
import logging
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import web
from pydantic import SecretStr

from services.answer import Action, ModelFailed, ModelReply
from services.history import history
from services.model import Model, functions
from services.provider import Provider
from services.reason import Reason
from services.transcript import Answered, Cut, Usage
from tests.services.replies import LIMITS, TOOLSET, call, reply, said

KEY = "sk-verysecret-0123456789"
ANSWER = {
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "hé"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 7, "completion_tokens": 3},
}
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass
class Server:
    """Records every request and answers with `handler`."""

    url: str = ""
    seen: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    handler: Handler | None = None

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.seen.append(({name.lower(): value for name, value in request.headers.items()}, await request.read()))
        assert self.handler is not None
        return await self.handler(request)


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    server = Server(handler=json_answer(ANSWER))
    app = web.Application(client_max_size=10**8)
    app.router.add_route("*", "/v1/chat/completions", server.handle)
    app.router.add_route("*", "/elsewhere", server.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    server.url = f"http://{host}:{port}/v1"
    yield server
    await runner.cleanup()


def json_answer(value: object, status: int = 200, **headers: str) -> Handler:
    async def handle(_: web.Request) -> web.StreamResponse:
        named = {name.replace("_", "-"): text for name, text in headers.items()}
        return web.Response(
            body=json.dumps(value), status=status, headers={"content-type": "application/json", **named}
        )

    return handle


def conversation() -> list[dict[str, Any]]:
    transcript = said(reply("I look. é\u2028🤔", call("search", '{ "limit" :1}', extra={"s": 1.50}), reasoning="hm"))
    return history(transcript.add(Answered(1, ("nothing\n",))), Provider(), LIMITS)


async def ask(server: Server | str, **settings: Any) -> ModelReply | ModelFailed:
    url = server if isinstance(server, str) else server.url
    model = Model(Provider(base_url=url, key=SecretStr(KEY), **settings), clock=lambda: 5.0)
    try:
        return await model.ask(conversation(), TOOLSET.values())
    finally:
        await model.close()


async def test_a_reply_is_what_the_server_sent(server: Server) -> None:
    assert await ask(server) == ModelReply({"role": "assistant", "content": "hé"}, "stop", Usage(7, 3), Cut.NO, 5.0)


@pytest.mark.parametrize("settings", [{}, {"parallel_calls": False, "max_output_tokens": 50, "extra": {"seed": 1}}])
async def test_the_same_json_and_headers_leave_as_with_the_library_s_own_call(
    server: Server, settings: dict[str, Any]
) -> None:
    """The short way through the library is not another request."""
    import httpx2
    import openai

    await ask(server, **settings)
    timeout = httpx2.Timeout(120, connect=10)
    async with openai.AsyncOpenAI(
        api_key=KEY, base_url=server.url, max_retries=0, timeout=timeout, http_client=openai.DefaultAioHttpClient()
    ) as client:
        more: Any = {"parallel_tool_calls": False, "max_tokens": 50, "seed": 1} if settings else {}
        tools: Any = functions(TOOLSET.values())
        messages: Any = conversation()
        await client.chat.completions.create(model="mock", messages=messages, tools=tools, **more)
    (our_headers, our_body), (their_headers, their_body) = server.seen
    assert json.loads(our_body) == json.loads(their_body)
    assert sorted(our_body) == sorted(their_body)
    for headers in (our_headers, their_headers):
        headers.pop("host")
    assert our_headers == their_headers
    assert our_headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("status", [500, 503, 429, 408, 409])
async def test_one_question_is_one_request(server: Server, status: int) -> None:
    """B17: also where the library would have tried again by itself."""
    server.handler = json_answer({"error": {"message": "no"}}, status, retry_after="0.01", x_should_retry="true")
    value = await ask(server)
    assert isinstance(value, ModelFailed)
    assert value.action in (Action.RETRY, Action.WAIT)
    assert len(server.seen) == 1


async def test_a_redirect_is_not_followed(server: Server) -> None:
    server.handler = json_answer({}, 307, location=server.url.replace("/v1", "/elsewhere"))
    value = await ask(server)
    assert isinstance(value, ModelFailed)
    assert (value.action, value.reason) == (Action.FAIL, Reason.BAD_REQUEST)
    assert len(server.seen) == 1


async def test_retry_after_comes_through(server: Server) -> None:
    """B15."""
    server.handler = json_answer({"error": {"message": "slow down"}}, 429, retry_after="30")
    value = await ask(server)
    assert isinstance(value, ModelFailed)
    assert (value.action, value.retry_after_s) == (Action.WAIT, 30)


async def hang(_: web.Request) -> web.StreamResponse:
    await asyncio.sleep(60)
    raise AssertionError


async def trickle(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"content-type": "application/json"})
    await response.prepare(request)
    for byte in json.dumps(ANSWER).encode() * 100:
        await response.write(bytes([byte]))
        await asyncio.sleep(0.05)
    return response


async def trickled_error(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(status=500)
    await response.prepare(request)
    while True:
        await response.write(b"x")
        await asyncio.sleep(0.05)


@pytest.mark.parametrize("handler", [hang, trickle, trickled_error])
async def test_the_deadline_covers_everything(server: Server, handler: Handler) -> None:
    """B18: a byte now and then does not keep a request alive."""
    await ask(server)
    server.handler = handler
    began = asyncio.get_running_loop().time()
    value = await ask(server, deadline_s=0.5)
    assert asyncio.get_running_loop().time() - began < 3
    assert isinstance(value, ModelFailed)
    assert (value.action, value.reason) == (Action.RETRY, Reason.MODEL_UNAVAILABLE)
    assert len(server.seen) == 2


async def large(request: web.Request) -> web.StreamResponse:
    return web.Response(body=b"x" * 300_000)


async def bomb(request: web.Request) -> web.StreamResponse:
    packed = gzip.compress(b"x" * 20_000_000)
    assert len(packed) < 50_000
    return web.Response(body=packed, headers={"content-encoding": "gzip"})


async def large_error(request: web.Request) -> web.StreamResponse:
    return web.Response(body=b"x" * 300_000, status=500)


@pytest.mark.parametrize("handler", [large, bomb, large_error])
async def test_an_answer_is_read_up_to_a_size(server: Server, handler: Handler) -> None:
    server.handler = handler
    value = await ask(server, reply_bytes=100_000)
    assert isinstance(value, ModelFailed)
    assert value.action is Action.FAIL
    assert "larger than the 100,000 bytes" in value.detail


async def test_a_packed_answer_is_unpacked(server: Server) -> None:
    async def packed(_: web.Request) -> web.StreamResponse:
        return web.Response(body=gzip.compress(json.dumps(ANSWER).encode()), headers={"content-encoding": "gzip"})

    server.handler = packed
    assert isinstance(await ask(server), ModelReply)


async def test_a_server_that_streams_gets_a_clear_error(server: Server) -> None:
    async def stream(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        await response.write(b'data: {"choices":[{"delta":{"content":"h"}}]}\n\ndata: [DONE]\n\n')
        return response

    server.handler = stream
    value = await ask(server)
    assert isinstance(value, ModelFailed)
    assert (value.action, value.reason) == (Action.FAIL, Reason.STREAMED)


# Broken connections, each by a raw server that sees the request and then does this.

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
    """B17, B18: every class of connection error is worth another try, which is not the client's to make."""
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


async def test_the_key_is_in_no_log_and_no_value(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    server.handler = json_answer({"error": {"message": f"Incorrect API key provided: {KEY}"}}, 401)
    value = await ask(server)
    assert isinstance(value, ModelFailed)
    assert value.reason is Reason.UNAUTHORISED
    await ask("http://127.0.0.1:1/v1")
    assert "verysecret" not in repr(value) + caplog.text + "".join(str(record.__dict__) for record in caplog.records)


async def test_a_cancelled_question_stays_cancelled(server: Server) -> None:
    server.handler = hang
    asking = asyncio.ensure_future(ask(server))
    await asyncio.sleep(0.3)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking


async def test_many_questions_at_once_share_the_client(server: Server) -> None:
    model = Model(Provider(base_url=server.url))
    asked = [asyncio.ensure_future(model.ask(conversation())) for _ in range(20)]
    assert all([isinstance(await each, ModelReply) for each in asked])
    await model.close()
    await model.close()


async def test_the_client_never_retries_by_itself() -> None:
    """B17: fails if someone builds the client with retries on."""
    model = Model(Provider())
    client = await model.open()
    assert client.max_retries == 0
    assert await model.open() is client
    await model.close()


def test_nothing_heavy_is_imported_before_the_client_is_opened() -> None:
    code = "import sys, services.model; print(sorted({'openai', 'aiohttp', 'httpx2'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
