"""A worker whose steps give no options at all, each with a result of another type: what the SDK makes of it.

Run: python -m tests.server.workers.defaults, with PAWL_LISTEN as for the real one.
"""

import asyncio
import os

import restate
from hypercorn.asyncio import serve
from hypercorn.config import Config
from pydantic import BaseModel

defaults = restate.VirtualObject("Defaults")


class Sum(BaseModel):
    cents: int


@defaults.handler()
async def run(ctx: restate.ObjectContext) -> list[str]:
    """The types of three results, after a wait in which the worker may die."""

    async def text() -> str:
        return "a text"

    async def model() -> Sum:
        return Sum(cents=7)

    async def mapping() -> dict[str, int]:
        return {"cents": 7}

    first = await ctx.run_typed("text", text)
    second = await ctx.run_typed("model", model)
    third = await ctx.run_typed("mapping", mapping)
    name, answer = ctx.awakeable(type_hint=str)
    ctx.set("waits", name)
    await answer
    return [f"{type(value).__name__} {value!r}" for value in (first, second, third)]


@defaults.handler(kind="shared")
async def waits(ctx: restate.ObjectSharedContext) -> str:
    """What `run` waits for, once it has its results."""
    return await ctx.get("waits", type_hint=str) or ""


async def main() -> None:
    config = Config()
    config.bind = [os.environ["PAWL_LISTEN"]]
    config.errorlog = None
    application = restate.app([defaults])

    async def with_health(scope, receive, send):  # type: ignore[no-untyped-def]
        if scope["type"] == "http" and scope["path"] == "/health":
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b""})
        else:
            await application(scope, receive, send)

    await serve(with_health, config, shutdown_trigger=asyncio.Event().wait)


if __name__ == "__main__":
    asyncio.run(main())
