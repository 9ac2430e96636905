"""The hand-written loop that Pawl's cost is measured against: the same number of journalled steps, no ledger, no keys.

Its model and its receiver answer at once, in the process. It does what a hand-written loop does with a reply: it reads
the arguments, calls the tool in a step, and puts the answer into the history. `Unsealed` is the same without the two
seals: the difference is what a seal costs.

Run: python -m lab.controls.empty --listen 127.0.0.1:9081 --model unused --receiver unused
"""

import asyncio
import json
from typing import Any

import restate
from hypercorn.config import Config

from lab.controls.serving import arguments, serve_until_killed, with_health

EFFECTS = 2
"""As in the product's worker with empty steps: one beginning, three model calls, two seals, two effects."""
bare, unsealed = restate.Service("Bare"), restate.Service("Unsealed")


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
    asyncio.run(serve_until_killed(with_health(restate.app([bare, unsealed])), settings))
