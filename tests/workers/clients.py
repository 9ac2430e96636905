"""What one model call and one tool call cost in the product's own clients: processor time, many at once, no engine.

`python -m tests.workers.clients CALLS` is configured like the worker itself, and prints one line of JSON.
"""

import asyncio
import json
import sys
from collections.abc import Mapping
from typing import Any

from lab.bench.client_cost import measured
from services import log
from services.answer import ModelReply
from services.app import outside
from services.busy import Busy
from services.settings import load
from tools.outcome import Done

DEADLINE_S = 10.0


async def main(calls: int) -> None:
    shared = outside(load(), Busy())
    await shared.open()
    tool = shared.tools["charge_card"]

    async def reply(messages: list[dict[str, Any]]) -> None:
        answer = await shared.model.ask(messages, shared.tools.values())
        assert isinstance(answer, ModelReply), answer

    async def use(key: str, given: Mapping[str, Any]) -> None:
        request = tool.prepare(key, {"currency": "EUR", "memo": "", **given})
        answer = await shared.wire.send(tool.base, request, key, DEADLINE_S)
        assert isinstance(answer, Done), answer

    sys.stdout.write(json.dumps(await measured(reply, use, calls)) + "\n")


if __name__ == "__main__":
    log.configure()
    asyncio.run(main(int(sys.argv[1])))
