"""The model's client: what leaves, what comes back, and within which time and size."""

import asyncio
import gzip
import json
import logging
import subprocess
import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web

from services.answer import Action, ModelFailed, ModelReply
from services.model import Model, functions
from services.provider import Provider
from services.reason import Reason
from services.transcript import Cut, Usage
from tests.services.model_server import ANSWER, KEY, Handler, Server, ask, conversation, json_answer, serving
from tests.services.replies import TOOLSET


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with serving() as running:
        yield running


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
    """It is one also where the library would have tried again by itself."""
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
    """A byte now and then does not keep a request alive."""
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


async def bomb_packed_twice(request: web.Request) -> web.StreamResponse:
    packed = gzip.compress(gzip.compress(b"x" * 20_000_000))
    return web.Response(body=packed, headers={"content-encoding": "gzip, gzip"})


async def large_error(request: web.Request) -> web.StreamResponse:
    return web.Response(body=b"x" * 300_000, status=500)


@pytest.mark.parametrize("handler", [large, bomb, large_error])
async def test_an_answer_is_read_up_to_a_size(server: Server, handler: Handler) -> None:
    server.handler = handler
    value = await ask(server, reply_bytes=100_000)
    assert isinstance(value, ModelFailed)
    assert value.action is Action.FAIL
    assert "larger than the 100,000 bytes" in value.detail


async def test_an_answer_that_was_packed_twice_is_no_answer(server: Server) -> None:
    server.handler = bomb_packed_twice
    value = await ask(server)
    assert isinstance(value, ModelFailed)
    assert (value.action, value.reason) == (Action.RETRY, Reason.MODEL_UNAVAILABLE)
    assert "packed as gzip, gzip" in value.detail


async def test_an_error_that_cannot_be_unpacked_is_what_its_status_says(server: Server) -> None:
    server.handler = json_answer({}, 401, content_encoding="br")
    value = await ask(server)
    assert isinstance(value, ModelFailed)
    assert (value.action, value.reason) == (Action.FAIL, Reason.UNAUTHORISED)


async def test_only_what_can_be_unpacked_is_asked_for(server: Server) -> None:
    await ask(server)
    assert server.seen[0][0]["accept-encoding"] == "gzip, deflate"


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


@pytest.mark.parametrize("line", [b"503 Service indisponible d\xe9sol\xe9", b"200 \xff", b"two hundred", b""])
async def test_a_status_line_that_cannot_be_read_is_no_answer(line: bytes) -> None:
    """It comes back as a value, so that the attempts are counted."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 " + line + b"\r\ncontent-length: 2\r\n\r\n{}")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as listening:
        host, port = listening.sockets[0].getsockname()
        value = await ask(f"http://{host}:{port}/v1")
    assert isinstance(value, ModelFailed)
    assert (value.action, value.reason.name[:6]) in ((Action.RETRY, "MODEL_"), (Action.RETRY, "NO_ANS"))


async def test_an_environment_that_cannot_be_used_is_no_answer(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "/nowhere/ca.pem")
    value = await ask(server)
    assert isinstance(value, ModelFailed)
    assert (value.action, value.reason) == (Action.RETRY, Reason.MODEL_UNAVAILABLE)
    assert "FileNotFoundError" in value.detail


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
    """This fails if someone builds the client with retries on."""
    model = Model(Provider())
    opened = await model.open()
    assert opened.client.max_retries == 0
    assert await model.open() is opened
    await model.close()


def test_nothing_heavy_is_imported_before_the_client_is_opened() -> None:
    code = "import sys, services.model; print(sorted({'openai', 'aiohttp', 'httpx2'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
