"""The receiver's HTTP face: business endpoints and control.

Rule: a row for each request that arrived, before anything else happens to it; then gate, behaviour, execution, sending.
All decisions are in the modules that this one composes.
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace

from aiohttp import web
from pydantic import ValidationError

from mocks import endpoints, gate_routes
from mocks.answer import Answer, Cut, Hang, Reaction, error_answer
from mocks.behaviour import Behaviour
from mocks.behaviours import Behaviours
from mocks.endpoints import Endpoint
from mocks.execution import Arrival, Execution, digest_of
from mocks.gates import ANY_EFFECT, Gates
from mocks.paging import after
from mocks.plain_json import parse_object
from mocks.send import send
from mocks.store import Store

# Above this a request is refused by the HTTP server with 413: no tool of ours sends so much.
REQUEST_BYTES_MAX = 16 * 1024 * 1024

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Receiver:
    """Composes store, gates, behaviours and execution. `clock` gives unix seconds."""

    def __init__(self, store: Store, clock: Callable[[], float]) -> None:
        self._store = store
        self._clock = clock
        self._gates = Gates(store.database.settled)
        self._behaviours = Behaviours(store)
        self._execution = Execution(store, self._gates, clock)

    def app(self) -> web.Application:
        """The application, ready to run."""
        app = web.Application(client_max_size=REQUEST_BYTES_MAX)
        app.router.add_get(endpoints.ORDER.path, self._business(endpoints.ORDER), allow_head=False)
        app.router.add_get(endpoints.CUSTOMER.path, self._business(endpoints.READ_CUSTOMER), allow_head=False)
        app.router.add_put(endpoints.CUSTOMER.path, self._business(endpoints.CUSTOMER))
        for endpoint in endpoints.CREATING:
            app.router.add_post(endpoint.path, self._business(endpoint))
            app.router.add_get(endpoint.path, self._business(endpoints.finding(endpoint)), allow_head=False)
        app.add_routes(gate_routes.routes(self._gates))
        app.router.add_get("/requests", self._requests)
        app.router.add_get("/effects", self._effects)
        app.router.add_get("/behaviour", self._show_behaviours)
        app.router.add_put("/behaviour/{effect}", self._put_behaviour)
        app.router.add_delete("/behaviour/{effect}", self._reset_behaviour)
        app.router.add_route("*", "/{path:.*}", _no_such_endpoint)
        return app

    def _business(self, endpoint: Endpoint) -> Handler:
        async def handle(request: web.Request) -> web.StreamResponse:
            arrival = await self._arrive(request, endpoint)
            await self._gates.pass_through(endpoint.effect, "arrived")
            behaviour = self._behaviours.take(endpoint.effect)
            reaction = await self._execution.react(arrival, behaviour)
            await self._store.database.settled()
            return await send(request, self._leaving(arrival.n, reaction, behaviour))

        return handle

    async def _arrive(self, request: web.Request, endpoint: Endpoint) -> Arrival:
        raw = await request.read()
        body = parse_object(raw)
        query = next(((name, request.query[name]) for name in endpoint.found_by if name in request.query), None)
        key = request.headers.get("Idempotency-Key")
        digest = digest_of(raw)
        asked = dict([query]) if query else {}
        n = self._store.arrived(
            endpoint.effect,
            asked.get("key", key),
            asked.get("reference", endpoints.reference_of(body)),
            digest,
            self._clock(),
            request.method,
            request.path_qs,
        )
        return Arrival(
            n=n,
            endpoint=endpoint,
            key=key,
            digest=digest,
            body=body,
            subject=request.match_info.get("id", ""),
            if_match=request.headers.get("If-Match"),
            query=query,
        )

    def _leaving(self, n: int, reaction: Reaction, behaviour: Behaviour) -> Reaction:
        match reaction:
            case Answer():
                self._store.answered(n, reaction.status)
                return replace(reaction, trickle_bytes_per_s=behaviour.trickle_bytes_per_s)
            case Cut() | Hang():
                return reaction

    async def _requests(self, request: web.Request) -> web.StreamResponse:
        rows = self._store.requests(after(request), request.query.get("effect"))
        await self._store.database.settled()  # nobody is shown what a crash could still take back
        return web.json_response(rows)

    async def _effects(self, request: web.Request) -> web.StreamResponse:
        rows = self._store.effects(after(request), request.query.get("effect"))
        await self._store.database.settled()
        return web.json_response(rows)

    async def _show_behaviours(self, _: web.Request) -> web.StreamResponse:
        shown = {effect: b.model_dump(exclude_defaults=True) for effect, b in self._behaviours.show().items()}
        return web.json_response(shown)

    async def _put_behaviour(self, request: web.Request) -> web.StreamResponse:
        effect = request.match_info["effect"]
        if effect != ANY_EFFECT and effect not in endpoints.EFFECTS:
            known = ", ".join(sorted(endpoints.EFFECTS))
            return await send(request, error_answer(404, "not_found", f"no effect {effect}; there are {known} and *"))
        try:
            behaviour = Behaviour.model_validate_json(await request.read())
        except ValidationError as error:
            return await send(request, error_answer(400, "invalid_request", str(error)))
        self._behaviours.put(effect, behaviour)
        await self._store.database.settled()
        return web.json_response(behaviour.model_dump(exclude_defaults=True))

    async def _reset_behaviour(self, request: web.Request) -> web.StreamResponse:
        self._behaviours.reset(request.match_info["effect"])
        await self._store.database.settled()
        return web.json_response({})


async def _no_such_endpoint(request: web.Request) -> web.StreamResponse:
    return await send(request, error_answer(404, "no_such_endpoint", f"no endpoint {request.method} {request.path}"))
