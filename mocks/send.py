"""Carry out a reaction on an aiohttp request. Rule: it decides nothing, it only writes, closes or waits."""

import asyncio
from typing import assert_never

from aiohttp import web

from mocks.answer import Answer, Cut, Hang, Reaction

# A trickle wakes this often: fine enough that no reader sees a pause of a second, coarse enough to cost nothing.
TRICKLE_PERIOD_S = 0.1
# How often a hung request looks whether its client has gone, so that hung handlers do not pile up.
HANG_PERIOD_S = 0.5


async def send(request: web.Request, reaction: Reaction) -> web.StreamResponse:
    """Answer, cut or hang. Returns when there is nothing left to do on the connection."""
    match reaction:
        case Answer(trickle_bytes_per_s=None):
            return web.Response(status=reaction.status, body=reaction.body, headers=reaction.headers)
        case Answer():
            return await _trickle(request, reaction, reaction.trickle_bytes_per_s or 1)
        case Cut():
            return _cut(request)
        case Hang():
            while not _gone(request):  # noqa: ASYNC110 - aiohttp has no event for a client that leaves
                await asyncio.sleep(HANG_PERIOD_S)
            return web.Response(status=503)
        case _:
            assert_never(reaction)


async def _trickle(request: web.Request, answer: Answer, bytes_per_s: int) -> web.StreamResponse:
    response = web.StreamResponse(status=answer.status, headers=answer.headers)
    response.content_length = len(answer.body)
    size = max(1, int(bytes_per_s * TRICKLE_PERIOD_S))
    try:
        await response.prepare(request)
        for start in range(0, len(answer.body), size):
            chunk = answer.body[start : start + size]
            await asyncio.sleep(len(chunk) / bytes_per_s)
            await response.write(chunk)
        await response.write_eof()
    except ConnectionResetError:
        pass  # the reader gave up, which is what a trickle is for
    return response


def _cut(request: web.Request) -> web.Response:
    if request.transport is not None:
        request.transport.close()
    return web.Response(status=503)  # never leaves: the transport is closed


def _gone(request: web.Request) -> bool:
    return request.transport is None or request.transport.is_closing()
