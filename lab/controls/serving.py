"""How a control is served: a Restate endpoint with one virtual object, `GET /health` beside it, and a quick way out.

Rule: nothing here is what a control is about.
"""

import argparse
import asyncio
import logging
import os
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import restate
from hypercorn.asyncio import serve
from hypercorn.config import Config
from hypercorn.typing import ASGIFramework, ASGIReceiveCallable, ASGISendCallable, Scope
from restate.exceptions import TerminalError
from restate.server import install_shutdown_hook

from lab.controls.outside import Outside, asked_for

TURNS_MAX = 20

Act = Callable[[restate.ObjectContext, Outside, str, str, dict[str, Any]], Awaitable[dict[str, Any]]]
"""How a control carries out one tool call: context, outside world, name for the step, tool, arguments."""


def control(name: str, act: Act, outside: Outside) -> restate.VirtualObject:
    """The object `name`: one handler that runs a task to its end. Each model call is a step."""
    agent = restate.VirtualObject(name)

    @agent.handler()
    async def run(ctx: restate.ObjectContext, request: dict[str, Any]) -> dict[str, Any]:
        messages: list[dict[str, Any]] = [{"role": "user", "content": request["task"]}]
        for turn in range(TURNS_MAX):
            message = await ctx.run_typed(f"model-{turn}", outside.reply, messages=messages)
            messages.append(message)
            if not message.get("tool_calls"):
                return {"state": "completed", "answer": message["content"]}
            for index, (call_id, tool, arguments) in enumerate(asked_for(message)):
                result = await act(ctx, outside, f"tool-{turn}-{index}", tool, arguments)
                messages.append({"role": "tool", "tool_call_id": call_id, "content": str(result)})
        raise TerminalError(f"not done after {TURNS_MAX} turns")

    return agent


def arguments(about: str | None) -> argparse.Namespace:
    """The command line that all controls share: listen (host:port), model and receiver (base URLs)."""
    parser = argparse.ArgumentParser(description=about)
    for name in ("--listen", "--model", "--receiver"):
        parser.add_argument(name, required=True)
    return parser.parse_args()


def main(name: str, act: Act, about: str | None) -> None:
    """Serve the control until killed."""
    given = arguments(about)
    logging.basicConfig(level=logging.INFO)
    config = Config()
    config.bind = [given.listen]
    config.h2_max_concurrent_streams = 1000
    config.keep_alive_max_requests = 1_000_000
    app = restate.app([control(name, act, Outside(given.model, given.receiver))])
    asyncio.run(serve_until_killed(with_health(app), config))


def with_health(app: ASGIFramework) -> ASGIFramework:
    async def answer(scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        if scope["type"] == "http" and scope["path"] == "/health":
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        elif scope["type"] == "http":
            await app(scope, receive, send)

    return answer


async def serve_until_killed(app: ASGIFramework, config: Config) -> None:
    # The SDK takes SIGTERM over from the ASGI server with its first request, and then only tells its invocations. A
    # control has nothing to finish: it leaves at once.
    install_shutdown_hook(asyncio.get_running_loop(), partial(os._exit, 0))
    await serve(app, config, shutdown_trigger=asyncio.Event().wait)
