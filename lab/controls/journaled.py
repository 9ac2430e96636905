"""The control whose every step is journalled and whose effects carry no key.

It is what many durable agents look like: the loop survives a crash, and the step that was under way runs again. Where
the receiver had applied it already, it is applied twice.

Run: python -m lab.controls.journaled --listen 127.0.0.1:9081 --model URL --receiver URL
"""

import argparse
import asyncio
import logging
import os
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


def journaled(outside: Outside) -> restate.VirtualObject:
    """The object `Journaled`: one handler that runs a task to its end."""
    agent = restate.VirtualObject("Journaled")

    @agent.handler()
    async def run(ctx: restate.ObjectContext, request: dict[str, Any]) -> dict[str, Any]:
        messages: list[dict[str, Any]] = [{"role": "user", "content": request["task"]}]
        for turn in range(TURNS_MAX):
            message = await ctx.run_typed(f"model-{turn}", outside.reply, messages=messages)
            messages.append(message)
            if not message.get("tool_calls"):
                return {"state": "completed", "answer": message["content"]}
            for index, (call_id, tool, arguments) in enumerate(asked_for(message)):
                result = await ctx.run_typed(f"tool-{turn}-{index}", outside.use, tool=tool, arguments=arguments)
                messages.append({"role": "tool", "tool_call_id": call_id, "content": str(result)})
        raise TerminalError(f"not done after {TURNS_MAX} turns")

    return agent


def with_health(app: ASGIFramework) -> ASGIFramework:
    """The Restate endpoint, and `GET /health` beside it for whoever started the worker."""

    async def answer(scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        if scope["type"] == "http" and scope["path"] == "/health":
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        elif scope["type"] == "http":
            await app(scope, receive, send)

    return answer


def main() -> None:
    """Serve until killed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--listen", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--receiver", required=True)
    given = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    config = Config()
    config.bind = [given.listen]
    config.h2_max_concurrent_streams = 1000
    app = restate.app([journaled(Outside(given.model, given.receiver))])
    asyncio.run(_serve(with_health(app), config))


async def _serve(app: ASGIFramework, config: Config) -> None:
    # The SDK takes SIGTERM over from the ASGI server with its first request, and then only tells its invocations. A
    # control has nothing to finish: it leaves at once.
    install_shutdown_hook(asyncio.get_running_loop(), partial(os._exit, 0))
    await serve(app, config, shutdown_trigger=asyncio.Event().wait)


if __name__ == "__main__":
    main()
