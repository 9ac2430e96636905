"""What one model call and one tool call cost the process that makes them: processor time, many at once, no engine.

Run: python -m lab.bench.client_cost --clients default|lean --model URL --receiver URL [--calls N]
It prints one line of JSON: milliseconds for a model call with 12 and with 100 messages, and for a tool call.
"""

import argparse
import asyncio
import json
import os
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import count
from typing import Any

AT_ONCE = 32
LENGTHS = (12, 100)
WARM_UP = 2 * AT_ONCE
CALLS = 300
RESULT = json.dumps({"id": "ch_1", "customer_id": "cus_1", "amount_cents": 4900, "note": "x" * 200})

Reply = Callable[[list[dict[str, Any]]], Awaitable[object]]
Use = Callable[[str, Mapping[str, Any]], Awaitable[object]]
"""Key and arguments of one charge."""


def history(length: int) -> list[dict[str, Any]]:
    """So many messages: a task, then calls and their results. The model's answer to it is short."""
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "You carry out tasks with the tools you have."},
        {"role": "user", "content": "bench job for clients0x."},
    ]
    for number in range((length - len(messages)) // 2):
        function = {"name": "charge_card", "arguments": '{"customer_id":"cus_1","amount_cents":4900}'}
        call = {"id": f"call_{number}", "type": "function", "function": function}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"call_{number}", "content": RESULT})
    assert len(messages) == length
    return messages


async def cpu_ms(call: Callable[[int], Awaitable[object]], calls: int) -> float:
    """Of one call, over so many of them at AT_ONCE at a time; the first ones only warm up."""

    async def several(numbers: Sequence[int]) -> None:
        left = iter(numbers)

        async def one_after_the_other() -> None:
            for number in left:
                await call(number)

        await asyncio.gather(*(one_after_the_other() for _ in range(AT_ONCE)))

    await several(range(WARM_UP))
    before_s = time.process_time()
    await several(range(WARM_UP, WARM_UP + calls))
    return 1000 * (time.process_time() - before_s) / calls


async def measured(reply: Reply, use: Use, calls: int) -> dict[str, float]:
    """What is printed."""
    found = {}
    for length in LENGTHS:
        messages = history(length)
        found[f"model_{length}"] = await cpu_ms(lambda _, messages=messages: reply(messages), calls)  # type: ignore[misc]
    keys = count()
    found["tool"] = await cpu_ms(
        lambda number: use(
            f"key-{os.getpid()}-{next(keys)}", {"customer_id": f"cus_clients{number}x", "amount_cents": 4900}
        ),
        calls,
    )
    return {name: round(value, 4) for name, value in found.items()}


async def main(clients: str, calls: int) -> None:
    """With the clients of the hand-written loops."""
    from lab.contestants import bare_loop

    made = bare_loop.Lean() if clients == "lean" else bare_loop.Default()
    found = await measured(made.reply, lambda key, given: made.use("charge_card", dict(given), key), calls)
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", choices=("default", "lean"), required=True)
    for name in ("--model", "--receiver"):
        parser.add_argument(name, required=True)
    parser.add_argument("--calls", type=int, default=CALLS)
    given = parser.parse_args()
    os.environ.update(MODEL_URL=f"{given.model}/v1", RECEIVER_URL=given.receiver, WORKDIR=".", PORT="0")
    asyncio.run(main(given.clients, given.calls))
