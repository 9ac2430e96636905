"""How the Python workers listen, and runs over HTTP for the contestants that have no ingress.

Rule: the ready line is printed when the port accepts connections. SIGTERM ends a worker at once: what it was at is the
framework's to finish. Must not know: any framework, so that no peer loads another one's packages.
"""

import asyncio
import json
import os
import signal
from collections.abc import Awaitable
from typing import Any, Protocol, cast
from urllib.parse import parse_qs

from hypercorn.asyncio import serve
from hypercorn.config import Config
from hypercorn.typing import ASGIReceiveCallable, ASGISendCallable, HTTPScope, Scope

HOST = "127.0.0.1"
_POLL_S = 0.05
ENDED = frozenset({"completed", "failed"})


class Runner(Protocol):
    """What a worker without an ingress gives to be reached over HTTP."""

    async def start(self, run_id: str, task: str) -> Awaitable[str]:
        """Returns when the run is accepted; what it returns gives the answer at the end. A run that is known already is
        attached to, or taken up again where it stopped."""

    async def state(self, run_id: str) -> str:
        """absent, running, interrupted, completed or failed, by what the framework has kept."""


class Runs:
    """An ASGI application: POST and GET of /runs/{run_id}, and /health."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self._here: dict[str, asyncio.Future[str]] = {}

    async def __call__(self, scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        if scope["type"] != "http":
            return
        status, body = await self._answer(scope, receive)
        await send(
            {"type": "http.response.start", "status": status, "headers": [(b"content-type", b"application/json")]}
        )
        await send({"type": "http.response.body", "body": json.dumps(body).encode(), "more_body": False})

    async def _answer(self, scope: HTTPScope, receive: ASGIReceiveCallable) -> tuple[int, dict[str, Any]]:
        if scope["path"] == "/health":
            return 200, {"status": "ok"}
        wait_s = float(parse_qs(scope["query_string"].decode()).get("wait_s", ["0"])[0])
        match scope["method"], scope["path"].split("/"):
            case "POST", ["", "runs", run_id]:
                if run_id not in self._here:
                    run = asyncio.ensure_future(await self._runner.start(run_id, (await _body(receive))["task"]))
                    self._here[run_id] = run
                    run.add_done_callback(lambda _: self._here.pop(run_id, None))
                return 202, await self._where(run_id, wait_s)
            case "GET", ["", "runs", run_id]:
                stands = await self._where(run_id, wait_s)
                return 404 if stands["state"] == "absent" else 200, stands
            case _:
                return 404, {"error": "there are only /runs/{run_id} and /health"}

    async def _where(self, run_id: str, wait_s: float) -> dict[str, Any]:
        run = self._here.get(run_id)
        if run is not None:
            done, _ = await asyncio.wait([run], timeout=wait_s)
            if not done:
                return {"run_id": run_id, "state": "running"}
            if error := run.exception():
                return {"run_id": run_id, "state": "failed", "reason": repr(error)}
            return {"run_id": run_id, "state": "completed", "answer": run.result()}
        state = await self._runner.state(run_id)
        for _ in range(int(wait_s / _POLL_S)):
            if state in ENDED:
                break
            await asyncio.sleep(_POLL_S)
            state = await self._runner.state(run_id)
        return {"run_id": run_id, "state": state}


async def _body(receive: ASGIReceiveCallable) -> Any:
    body = b""
    while True:
        event = await receive()
        assert event["type"] == "http.request"
        body += event["body"]
        if not event["more_body"]:
            return json.loads(body)


async def serve_runs(name: str, port: int, runner: Runner) -> None:
    """Serve runs over HTTP until killed."""
    await listen(name, port, Runs(runner))


async def listen(name: str, port: int, app: Any) -> None:
    """Serve an ASGI application until killed."""
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, os._exit, 0)
    config = Config()
    config.bind = [f"{HOST}:{port}"]
    config.h2_max_concurrent_streams = 1000
    config.keep_alive_max_requests = 1_000_000
    serving = asyncio.ensure_future(serve(app, config, shutdown_trigger=cast("Any", asyncio.Event().wait)))
    while not serving.done():
        try:
            _, writer = await asyncio.open_connection(HOST, port)
        except OSError:
            await asyncio.sleep(0.01)
        else:
            writer.close()
            print(f"{name} listening on http://{HOST}:{port}", flush=True)  # noqa: T201 - who started it waits for it
            break
    await serving
