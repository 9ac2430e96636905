"""The worker as a process: hypercorn in the same process, and a way out of its own.

Rule: on SIGTERM or SIGINT nothing begins any more, steps in flight get their time, then the process leaves with 0,
whatever connections are open. Restate keeps its HTTP/2 connection for ever, so hypercorn alone would not come to an
end; and it would cut steps in flight, so it is not told of the signal at all.
Must not know: what is served.
"""

import asyncio
import gc
import logging
import os
import signal
import socket
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import structlog
from hypercorn.asyncio import serve
from hypercorn.config import Config
from restate.server import install_shutdown_hook
from restate.server_types import RestateAppT

from services.busy import Busy
from services.outgoing import gathered
from services.streams import after_the_request
from tools.plain import describe

H2_STREAMS_MAX = 10_000
"""Each run that is working is one stream; hypercorn's default of 100 would hold the others back without a word."""
REQUESTS_MAX = sys.maxsize
"""On one connection. hypercorn ends it after its default of 1000, and every attempt on it is cut off."""
LAST_MOMENT_S = 0.5
"""For the results of the last steps to reach Restate."""


class PortTaken(Exception):
    """The address cannot be listened on; the text says which and why."""


def nothing() -> None:
    pass


def run(
    application: RestateAppT,
    listen: str,
    shutdown_s: float,
    busy: Busy,
    opening: Callable[[], Awaitable[object]],
    meanwhile: Callable[[], Awaitable[object]] | None = None,
    last: Callable[[], object] = nothing,
) -> int:
    """Serves until a signal; returns the exit code. Raises PortTaken.

    `opening` is awaited once the port is open; after it everything is loaded. `meanwhile` follows, and ends with the
    worker. `last` may block; it runs when no step does any more, in what is left of the time.
    """
    check_port(listen)
    log = structlog.get_logger("pawl.worker")

    async def beside() -> None:
        try:
            await opening()
        except Exception as error:  # noqa: BLE001  the libraries read the environment: whoever started this must hear of it
            log.error("the clients could not be made ready; steps that need them will fail", error=describe(error))
        keep_what_is_loaded()
        if meanwhile is not None:
            await meanwhile()

    return asyncio.run(_serve(application, listen, shutdown_s, busy, beside, last))


def check_port(listen: str) -> None:
    host, _, port = listen.rpartition(":")
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, int(port)))
        except (OSError, OverflowError) as error:
            raise PortTaken(f"cannot listen on {listen}: {error}. Set PAWL_LISTEN to a free address.") from None


def while_staying(application: RestateAppT, busy: Busy) -> RestateAppT:
    """The application until the worker leaves; from then on every new request gets 503, the health check included, so
    that a balancer sends it to another worker and Restate tries again."""

    async def answer(scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] != "http" or not busy.leaving:
            await application(scope, receive, send)
            return
        await send({"type": "http.response.start", "status": 503, "headers": [(b"content-type", b"text/plain")]})
        await send({"type": "http.response.body", "body": b"this worker is leaving", "more_body": False})

    return answer


def keep_what_is_loaded() -> None:
    """Modules, schemas and settings stay as long as the worker does: the collector need not walk over them again and
    again. How often it comes stays as it is: coming less often costs memory that it then does not give back."""
    gc.collect()
    gc.freeze()


async def _serve(
    application: RestateAppT,
    listen: str,
    shutdown_s: float,
    busy: Busy,
    beside: Callable[[], Awaitable[object]],
    last: Callable[[], object],
) -> int:
    log = structlog.get_logger("pawl.worker")
    leaving, never = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def leave() -> None:
        busy.leave()
        leaving.set()

    # The SDK keeps one dispatcher per signal; a handler of our own would be replaced by it.
    for number in (signal.SIGTERM, signal.SIGINT):
        install_shutdown_hook(loop, leave, number)
    config = Config()
    config.bind = [listen]
    config.h2_max_concurrent_streams = H2_STREAMS_MAX
    config.keep_alive_max_requests = REQUESTS_MAX
    config.accesslog = None
    config.errorlog = None
    # No Restate context is near: this task carries the server itself.
    guarded = after_the_request(while_staying(gathered(application), busy))
    serving = asyncio.ensure_future(serve(guarded, config, shutdown_trigger=never.wait, mode="asgi"))
    log.info("pawl worker listening", address=f"http://{listen}")
    aside = asyncio.ensure_future(beside())
    stopped = asyncio.ensure_future(leaving.wait())
    await asyncio.wait({serving, stopped}, return_when=asyncio.FIRST_COMPLETED)
    if not leaving.is_set():
        serving.result()
    log.info("leaving", steps_in_flight=busy.steps, seconds_at_most=shutdown_s)
    end = loop.time() + shutdown_s
    idle = await busy.idle(max(0.0, shutdown_s - LAST_MOMENT_S))
    aside.cancel()
    telling = asyncio.ensure_future(asyncio.to_thread(last))
    # What has ended is on its way to Restate; a result that is not recorded there would be sent for again.
    await asyncio.wait({serving}, timeout=LAST_MOMENT_S)
    await asyncio.wait({telling}, timeout=max(0.0, end - loop.time()))
    log.info("left", all_steps_ended=idle)
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    # Open HTTP/2 streams would keep asyncio's own clean-up waiting; everything that matters is recorded by now.
    os._exit(0)
