"""The HTTP face of the gates, the same on both mocks: arm, wait until something is held, release."""

import asyncio
import contextlib
from typing import Annotated, Literal

from aiohttp import web
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from mocks.answer import error_answer
from mocks.gates import Gate, Gates
from mocks.send import send

# A caller that wants to wait longer asks again; an open question must not outlive its asker by much.
WAIT_S_MAX = 60.0


class GateOrder(BaseModel):
    """`POST /gates`: which requests to hold, where, and how many of them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    effect: str
    point: Literal["arrived", "applied"]
    times: Annotated[int, Field(ge=1)] = 1


def routes(gates: Gates) -> list[web.RouteDef]:
    """`POST /gates`, `GET /gates/{id}?wait_s=`, `POST /gates/{id}/release`."""

    async def arm(request: web.Request) -> web.StreamResponse:
        try:
            order = GateOrder.model_validate_json(await request.read())
        except ValidationError as error:
            return await send(request, error_answer(400, "invalid_request", str(error)))
        return web.json_response(gates.arm(order.effect, order.point, order.times).row(), status=201)

    async def look(request: web.Request) -> web.StreamResponse:
        gate = gates.find(request.match_info["id"])
        if gate is None:
            return await send(request, error_answer(404, "not_found", "no such gate; gates do not survive a restart"))
        try:
            wait_s = float(request.query.get("wait_s", "0"))
        except ValueError:
            wait_s = -1.0
        if not 0 <= wait_s <= WAIT_S_MAX:
            words = f"wait_s is a number of seconds, at most {WAIT_S_MAX:.0f}"
            return await send(request, error_answer(400, "invalid_request", words))
        await _wait(gate, wait_s)
        return web.json_response(gate.row())

    async def release(request: web.Request) -> web.StreamResponse:
        gate = gates.find(request.match_info["id"])
        if gate is None:
            return await send(request, error_answer(404, "not_found", "no such gate; gates do not survive a restart"))
        gates.release(gate)
        return web.json_response(gate.row())

    return [
        web.post("/gates", arm),
        web.get("/gates/{id}", look),
        web.post("/gates/{id}/release", release),
    ]


async def _wait(gate: Gate, wait_s: float) -> None:
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(gate.reached.wait(), wait_s)
