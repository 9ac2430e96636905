"""The model's HTTP face: chat completions by script, and control.

Rule: a row for each request that arrived, before anything else happens to it; then gate, switches, script, sending. All
decisions are in the modules that this one composes.
"""

import asyncio
import hashlib
import json
from collections.abc import Callable
from typing import Any

from aiohttp import web
from pydantic import ValidationError

from mocks import gate_routes
from mocks.answer import Answer, Cut, Hang, Reaction
from mocks.builtin_scripts import BUILTIN_SCRIPTS
from mocks.completion import MODEL_NAME, complete, error
from mocks.gates import Gates
from mocks.model_store import ModelStore
from mocks.paging import after
from mocks.plain_json import parse_object
from mocks.script import Chosen, Script, choose, variant
from mocks.send import send
from mocks.switches import Switches, outage_reply, refusal

# Histories with tool results of several megabytes must get as far as the size switch.
REQUEST_BYTES_MAX = 64 * 1024 * 1024
CHAT = "chat"
# Never kept, so that no log of a mock holds a key.
MASKED_HEADERS = ("authorization", "api-key", "x-api-key")


class Model:
    """Composes store, gates, switches and scripts. `clock` gives unix seconds."""

    def __init__(self, store: ModelStore, clock: Callable[[], float]) -> None:
        self._store = store
        self._clock = clock
        self._gates = Gates(store.database.settled)
        self._switches = store.switches()
        self._scripts = [*store.scripts(), *BUILTIN_SCRIPTS]

    def app(self) -> web.Application:
        """The application, ready to run."""
        app = web.Application(client_max_size=REQUEST_BYTES_MAX)
        app.router.add_post("/v1/chat/completions", self._chat)
        app.router.add_get("/v1/models", self._models)
        app.add_routes(gate_routes.routes(self._gates))
        app.router.add_get("/requests", self._requests)
        app.router.add_get(r"/requests/{n:\d{1,18}}", self._request)
        app.router.add_get("/scripts", self._show_scripts)
        app.router.add_put("/scripts/{name}", self._put_script)
        app.router.add_delete("/scripts/{name}", self._drop_script)
        app.router.add_get("/switches", self._show_switches)
        app.router.add_put("/switches", self._put_switches)
        return app

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        digest = hashlib.sha256(raw).hexdigest()
        messages = _messages(raw)
        count = None if messages is None else len(messages)
        n = self._store.arrived(self._clock(), count, digest, raw, _masked(request))
        await self._gates.pass_through(CHAT, "arrived")
        reaction, delay_s = self._react(n, messages, digest, len(raw))
        if delay_s:
            await asyncio.sleep(delay_s)
        await self._store.database.settled()
        await self._gates.pass_through(CHAT, "applied")
        match reaction:
            case Answer(status=status):
                self._store.answered(n, status)
            case Cut() | Hang():
                pass
        return await send(request, reaction)

    def _react(self, n: int, messages: list[Any] | None, digest: str, size: int) -> tuple[Reaction, float]:
        """What to do to the request, and after how many seconds."""
        outage = self._switches.status
        if outage is not None:
            self._count_outage()
            return self._reply(n, outage_reply(outage, messages or []), digest, size)
        if messages is None:
            return error(400, "invalid_request", "the body is not a JSON object with a list of messages, or streams"), 0
        refused = refusal(self._switches, messages, size, self._scripts)
        if refused is not None:
            return refused, 0
        return self._reply(n, choose(messages, self._scripts), digest, size)

    def _reply(self, n: int, chosen: Chosen, digest: str, size: int) -> tuple[Reaction, float]:
        reply = chosen.reply
        if reply.attempts or reply.drift:
            reply = variant(reply, self._store.seen(digest), self._switches.drift)
        self._store.chosen(n, chosen.script, chosen.turn)
        return complete(chosen, reply, size), reply.delay_s

    def _count_outage(self) -> None:
        outage = self._switches.status
        if outage is None or outage.times is None:
            return
        left = outage.model_copy(update={"times": outage.times - 1}) if outage.times > 1 else None
        self._switches = self._switches.model_copy(update={"status": left})
        self._store.put_switches(self._switches)

    async def _models(self, _: web.Request) -> web.StreamResponse:
        return web.json_response(
            {"object": "list", "data": [{"id": MODEL_NAME, "object": "model", "owned_by": "mock"}]}
        )

    async def _requests(self, request: web.Request) -> web.StreamResponse:
        rows = self._store.requests(after(request))
        await self._store.database.settled()  # nobody is shown what a crash could still take back
        return web.json_response(rows)

    async def _request(self, request: web.Request) -> web.StreamResponse:
        found = self._store.request(int(request.match_info["n"]))
        if found is None:
            return await send(request, error(404, "not_found", "no such request"))
        row, headers, raw = found
        try:
            body = json.loads(raw)
        except ValueError:
            body = raw.decode("utf-8", "replace")
        return web.json_response({**row, "headers": headers, "body": body})

    async def _show_scripts(self, _: web.Request) -> web.StreamResponse:
        return web.json_response([{"name": name, "match": script.match} for name, script in self._scripts])

    async def _put_script(self, request: web.Request) -> web.StreamResponse:
        try:
            body = json.loads(await request.read())
            Script.model_validate(body)
        except ValueError as problem:
            return await send(request, error(400, "invalid_request", str(problem)))
        self._store.put_script(request.match_info["name"], body)
        return await self._scripts_changed()

    async def _drop_script(self, request: web.Request) -> web.StreamResponse:
        self._store.drop_script(request.match_info["name"])
        return await self._scripts_changed()

    async def _scripts_changed(self) -> web.StreamResponse:
        self._scripts = [*self._store.scripts(), *BUILTIN_SCRIPTS]
        await self._store.database.settled()
        return web.json_response({})

    async def _show_switches(self, _: web.Request) -> web.StreamResponse:
        return web.json_response(self._switches.model_dump(exclude_defaults=True))

    async def _put_switches(self, request: web.Request) -> web.StreamResponse:
        try:
            switches = Switches.model_validate(json.loads(await request.read()))
        except (ValidationError, ValueError) as problem:
            return await send(request, error(400, "invalid_request", str(problem)))
        self._switches = switches
        self._store.put_switches(switches)
        await self._store.database.settled()
        return web.json_response(switches.model_dump(exclude_defaults=True))


def _messages(raw: bytes) -> list[Any] | None:
    body = parse_object(raw)
    if body is None or body.get("stream") is True:
        return None
    messages = body.get("messages")
    return messages if isinstance(messages, list) else None


def _masked(request: web.Request) -> dict[str, str]:
    return {name: "***" if name.lower() in MASKED_HEADERS else value for name, value in request.headers.items()}
