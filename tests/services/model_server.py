"""A small server of the tests' own in the place of the model's, and a question to it."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from pydantic import SecretStr

from services.answer import ModelFailed, ModelReply
from services.history import history
from services.model import Model
from services.provider import Provider
from services.transcript import Answered
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


@asynccontextmanager
async def serving() -> AsyncIterator[Server]:
    """A server for the length of the block."""
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
