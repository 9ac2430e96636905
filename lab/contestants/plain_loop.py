"""The loop without a framework: a model call, its tool calls, again, in memory. A crash loses the run.

The clients are openai and httpx as they come, which is what most loops have; it is what durability is compared with.
Run: python -m lab.contestants.plain_loop
"""

import asyncio
from collections.abc import Awaitable
from typing import Any

from lab.contestants.outside import TURNS_MAX, Model, Receiver, answered, asked_for, settings
from lab.contestants.serving import serve_runs

SET = settings()


class Runner:
    """Nothing is kept: what is not in this process's memory is absent."""

    def __init__(self) -> None:
        self._model = Model(SET.model_url)
        self._receiver = Receiver(SET.receiver_url)

    async def start(self, run_id: str, task: str) -> Awaitable[str]:  # noqa: ARG002 - nothing is known by its name
        return self._run(task)

    async def state(self, run_id: str) -> str:  # noqa: ARG002
        return "absent"

    async def _run(self, task: str) -> str:
        messages: list[dict[str, Any]] = [{"role": "user", "content": task}]
        for _ in range(TURNS_MAX):
            message = await self._model.reply(messages)
            messages.append(message)
            calls = asked_for(message)
            if not calls:
                return str(message["content"])
            texts = await asyncio.gather(*(self._receiver.use(tool, given, None) for _, tool, given in calls))
            messages += [answered(call_id, text) for (call_id, _, _), text in zip(calls, texts, strict=True)]
        raise RuntimeError(f"not done after {TURNS_MAX} turns")


async def main() -> None:
    """Serve until killed."""
    await serve_runs("plain", SET.port, Runner())


if __name__ == "__main__":
    asyncio.run(main())
