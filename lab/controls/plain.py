"""The control without an engine: a loop in memory. A crash means that the whole task is started over.

Run: python -m lab.controls.plain --listen 127.0.0.1:9081 --model URL --receiver URL
"""

import asyncio
from typing import Any

from aiohttp import web

from lab.controls.outside import Outside, asked_for
from lab.controls.serving import TURNS_MAX, arguments


class Plain:
    """The runs of one process."""

    def __init__(self, outside: Outside) -> None:
        self._outside = outside
        self._runs: dict[str, asyncio.Task[str]] = {}

    def app(self) -> web.Application:
        """`GET /health`, `POST` and `GET /runs/{run_id}`."""
        app = web.Application()
        app.router.add_get("/health", self._health)
        app.router.add_post("/runs/{run_id}", self._start)
        app.router.add_get("/runs/{run_id}", self._look)
        return app

    async def _health(self, _: web.Request) -> web.Response:
        return web.Response()

    async def _start(self, request: web.Request) -> web.Response:
        run_id, task = request.match_info["run_id"], (await request.json())["task"]
        if run_id not in self._runs:
            self._runs[run_id] = asyncio.create_task(self._work(task))
        return web.json_response({}, status=202)

    async def _look(self, request: web.Request) -> web.Response:
        run = self._runs.get(request.match_info["run_id"])
        if run is None:
            return web.json_response({"state": "absent"}, status=404)
        if not run.done():
            return web.json_response({"state": "running"})
        return web.json_response({"state": "failed" if run.exception() else "completed"})

    async def _work(self, task: str) -> str:
        messages: list[dict[str, Any]] = [{"role": "user", "content": task}]
        for _ in range(TURNS_MAX):
            message = await self._outside.reply(messages)
            messages.append(message)
            if not message.get("tool_calls"):
                return str(message["content"])
            for call_id, tool, given in asked_for(message):
                result = await self._outside.use(tool, given)
                messages.append({"role": "tool", "tool_call_id": call_id, "content": str(result)})
        raise RuntimeError(f"not done after {TURNS_MAX} turns")


def main() -> None:
    """Serve until killed."""
    given = arguments(__doc__)
    host, _, port = given.listen.rpartition(":")
    web.run_app(Plain(Outside(given.model, given.receiver)).app(), host=host, port=int(port), print=None)


if __name__ == "__main__":
    main()
