"""The hand-written loop that Pawl's cost is measured against: the same number of journalled steps, no ledger, no keys.

Its model and its receiver answer at once, in the process. It does what a hand-written loop does with a reply: it reads
the arguments, calls the tool in a step, and puts the answer into the history. `Unsealed` is the same without the two
seals: the difference is what a seal costs. `WithRows` is the same with as many entries in its state as the product
writes, of the same size and at the same places, but the same bytes each time: nothing is decided, nothing is made, so
no ledger of such rows can cost less.

Run: python -m lab.controls.empty --listen 127.0.0.1:9081 --model unused --receiver unused
"""

import asyncio
import json
from datetime import timedelta
from typing import Any

import restate
from hypercorn.config import Config
from restate.serde import BytesSerde

from lab.controls.serving import arguments, serve_until_killed, with_health

EFFECTS = 2
"""As in the product's worker with empty steps: one beginning, three model calls, two seals, two effects."""
bare, unsealed = restate.Service("Bare"), restate.Service("Unsealed")
with_rows = restate.VirtualObject("WithRows")
RETENTION = timedelta(days=60)
BYTES = BytesSerde()


async def nothing() -> dict[str, Any]:
    return {"at": 1.0}


async def ask(messages: list[dict[str, Any]]) -> dict[str, Any]:
    turn = sum(message["role"] == "assistant" for message in messages)
    if turn >= EFFECTS:
        return {"role": "assistant", "content": "done"}
    function = {"name": "charge_card", "arguments": json.dumps({"customer_id": f"c{turn}", "amount_cents": 100})}
    return {"role": "assistant", "content": None, "tool_calls": [{"id": f"call_{turn}", "function": function}]}


async def charge(customer_id: str, amount_cents: int) -> dict[str, Any]:
    return {"id": "ch_1", "customer_id": customer_id, "amount_cents": amount_cents}


@bare.handler()
async def run(ctx: restate.Context, request: dict[str, Any]) -> dict[str, Any]:
    return await loop(ctx, request["task"], seal=True)


@unsealed.handler("run")
async def run_unsealed(ctx: restate.Context, request: dict[str, Any]) -> dict[str, Any]:
    return await loop(ctx, request["task"], seal=False)


@with_rows.handler("run")
async def run_with_rows(ctx: restate.ObjectContext, request: dict[str, Any]) -> dict[str, Any]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": request["task"]}]
    await ctx.get("end", serde=BYTES)
    await ctx.run_typed("begin", nothing)
    await ctx.get("root", serde=BYTES)
    for name, size_bytes in (("root", 38), ("begun", 140), ("run", 340)):
        put(ctx, name, size_bytes)
    while True:
        message = await ctx.run_typed("model", ask, messages=messages)
        messages.append(message)
        if not message.get("tool_calls"):
            put(ctx, "end", 300)
            ctx.object_send(forget, ctx.key(), None, send_delay=RETENTION)
            return {"state": "completed", "answer": message["content"]}
        for made in message["tool_calls"]:
            given = json.loads(made["function"]["arguments"])
            put(ctx, "run", 350)
            put(ctx, f"open/{given['customer_id']}", 560)
            await ctx.run_typed("seal", nothing)
            put(ctx, f"open/{given['customer_id']}", 880)
            result = await ctx.run_typed("charge_card", charge, **given)
            put(ctx, f"intent/{given['customer_id']}", 690)
            ctx.clear(f"open/{given['customer_id']}")
            messages.append({"role": "tool", "tool_call_id": made["id"], "content": json.dumps(result)})


@with_rows.handler()
async def forget(ctx: restate.ObjectContext) -> None:
    ctx.clear_all()


def put(ctx: restate.ObjectContext, name: str, size_bytes: int) -> None:
    ctx.set(name, b"x" * size_bytes, serde=BYTES)


async def loop(ctx: restate.Context, task: str, *, seal: bool) -> dict[str, Any]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": task}]
    await ctx.run_typed("begin", nothing)
    while True:
        message = await ctx.run_typed("model", ask, messages=messages)
        messages.append(message)
        if not message.get("tool_calls"):
            return {"state": "completed", "answer": message["content"]}
        for made in message["tool_calls"]:
            given = json.loads(made["function"]["arguments"])
            if seal:
                await ctx.run_typed("seal", nothing)
            result = await ctx.run_typed("charge_card", charge, **given)
            messages.append({"role": "tool", "tool_call_id": made["id"], "content": json.dumps(result)})


if __name__ == "__main__":
    settings = Config()
    settings.bind = [arguments(__doc__).listen]
    settings.h2_max_concurrent_streams = 10_000
    settings.keep_alive_max_requests = 1_000_000
    settings.accesslog = settings.errorlog = None
    asyncio.run(serve_until_killed(with_health(restate.app([bare, unsealed, with_rows])), settings))
