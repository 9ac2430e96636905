"""Run an application on a port until SIGTERM or SIGINT. Rule: stopping is prompt, whatever is still held or hung."""

import asyncio
import contextlib
import signal
import sys

from aiohttp import web

# A held or hung request would keep a polite stop waiting for ever; clients of a mock get a closed connection.
STOP_S = 0.2
# Enough for a load test to connect all at once.
BACKLOG = 1024


async def health(_: web.Request) -> web.Response:
    """Alive."""
    return web.json_response({"status": "ok"})


async def serve(name: str, app: web.Application, host: str, port: int) -> None:
    """Serve until told to stop, `GET /health` included. Raises OSError where it cannot listen.

    The first line of standard output is `{name} listening on http://HOST:PORT`.
    """
    app.router.add_get("/health", health)
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=STOP_S)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port, backlog=BACKLOG).start()
        bound = runner.addresses[0][1]
        with contextlib.suppress(BrokenPipeError):  # whoever started us may not read on
            sys.stdout.write(f"{name} listening on http://{host}:{bound}\n")
            sys.stdout.flush()
        await stop.wait()
    finally:
        await runner.cleanup()
