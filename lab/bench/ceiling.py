"""Part `ceiling`: how much the mocks can do, with nothing between them and the load: the job's five requests, by the
client that sends the load, 32 jobs at once.

Rule: what is found here is an upper bound for every contestant; one that comes near it has measured the mocks. The
client costs more than the mocks, so their own processor time says how much further they would go.
"""

import asyncio
import json
import time
from typing import Any

import aiohttp

from lab import pids
from lab.bench.audit import check
from lab.bench.field import Field
from lab.bench.jobs import SHORT
from lab.bench.sitting import Sitting
from lab.bench.sums import spread

AT_ONCE = 32
RUNS = 1_000
PATHS = {"charge_card": "/charges", "send_email": "/emails"}


def measure(sitting: Sitting) -> dict[str, Any]:
    """See the module."""
    runs = sitting.pick(RUNS, 2 * AT_ONCE)
    rates, costs = [], []
    with sitting.field() as ground:
        for number in range(sitting.rounds + 1):
            tags = [f"ceiling{number}n{each}x" for each in range(runs)]
            before, began = _mocks_cpu_s(ground), time.perf_counter()
            asyncio.run(_all(ground, tags))
            seconds = time.perf_counter() - began
            cost_s = _mocks_cpu_s(ground) - before
            check("the load", SHORT, tags, ground.rows())
            # The first round warms up.
            if number:
                rates.append(runs / seconds)
                costs.append(cost_s / runs)
    told = spread(rates)
    return {
        "at_once": AT_ONCE,
        "runs_per_s": told,
        "mocks_cpu_s_per_1000": spread([1000 * cost for cost in costs]),
        "requests_per_s": round(told["median"] * SHORT.steps),
    }


def _mocks_cpu_s(ground: Field) -> float:
    return sum(pids.cpu_s(process.pid) for process in (ground.stack.receiver_process, ground.stack.model_process))


async def _all(ground: Field, tags: list[str]) -> None:
    left = iter(tags)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as client:

        async def one_after_the_other() -> None:
            for tag in left:
                await _job(client, ground, tag)

        await asyncio.gather(*(one_after_the_other() for _ in range(AT_ONCE)))


async def _job(client: aiohttp.ClientSession, ground: Field, tag: str) -> None:
    messages: list[dict[str, Any]] = [{"role": "user", "content": SHORT.task(tag)}]
    while True:
        body = {"model": "mock", "messages": messages}
        async with client.post(f"{ground.stack.at.model}/v1/chat/completions", json=body) as answer:
            message = json.loads(await answer.read())["choices"][0]["message"]
        messages.append(message)
        if "tool_calls" not in message:
            return
        for call in message["tool_calls"]:
            path, given = PATHS[call["function"]["name"]], call["function"]["arguments"].encode()
            headers = {"content-type": "application/json", "idempotency-key": f"{tag}-{call['id']}"}
            async with client.post(ground.stack.at.receiver + path, data=given, headers=headers) as answer:
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": (await answer.read()).decode()})
