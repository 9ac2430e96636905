"""The loop by hand on Restate's Python SDK, each model and tool call a step, the key from `ctx.uuid()`.

Object BareLoop takes openai and httpx as they come; with CLIENTS=lean object LeanLoop takes aiohttp for everything,
which is as little as a call can cost in Python. Run: python -m lab.contestants.bare_loop
"""

import asyncio
import os
from typing import Any, Protocol

import aiohttp
import restate

from lab.contestants import outside
from lab.contestants.on_restate import serve
from lab.contestants.outside import TIMEOUT_S, TOOLS, TURNS_MAX, Model, Receiver, answered, asked_for, request, settings

SET = settings()


class Clients(Protocol):
    """One request each."""

    async def reply(self, messages: list[dict[str, Any]]) -> dict[str, Any]: ...

    async def use(self, tool: str, arguments: dict[str, Any], key: str | None) -> str: ...


class Default:
    """What most people use."""

    def __init__(self) -> None:
        self._model = Model(SET.model_url)
        self._receiver = Receiver(SET.receiver_url)

    async def reply(self, messages: list[dict[str, Any]]) -> dict[str, Any]:
        return await self._model.reply(messages)

    async def use(self, tool: str, arguments: dict[str, Any], key: str | None) -> str:
        return await self._receiver.use(tool, arguments, key)


class Lean:
    """aiohttp, without a type or an error of the model's own."""

    def __init__(self) -> None:
        self._session = aiohttp.ClientSession(
            timeout=aiohttp.ClientTimeout(total=TIMEOUT_S), connector=aiohttp.TCPConnector(limit=0)
        )

    async def reply(self, messages: list[dict[str, Any]]) -> dict[str, Any]:
        body = {"model": "mock", "messages": messages, "tools": TOOLS}
        headers = {"authorization": "Bearer mock-key"}
        async with self._session.post(f"{SET.model_url}/chat/completions", json=body, headers=headers) as answer:
            answer.raise_for_status()
            message: dict[str, Any] = (await answer.json())["choices"][0]["message"]
            return message

    async def use(self, tool: str, arguments: dict[str, Any], key: str | None) -> str:
        method, path, body = request(tool, arguments, key)
        headers = {} if key is None or method == "GET" else {"Idempotency-Key": key}
        async with self._session.request(method, SET.receiver_url + path, json=body, headers=headers) as answer:
            if answer.status >= 500 or answer.status in outside.MAY_WORK_LATER:
                answer.raise_for_status()
            return await answer.text()


def agent(name: str, clients: Clients) -> restate.VirtualObject:
    """The object with its one handler."""
    made = restate.VirtualObject(name)

    @made.handler()
    async def run(ctx: restate.ObjectContext, asked: dict[str, str]) -> dict[str, str]:
        messages: list[dict[str, Any]] = [{"role": "user", "content": asked["task"]}]
        for turn in range(TURNS_MAX):
            message = await ctx.run_typed(f"model-{turn}", clients.reply, messages=messages)
            messages.append(message)
            calls = asked_for(message)
            if not calls:
                return {"state": "completed", "answer": str(message["content"])}
            steps = [
                ctx.run_typed(f"tool-{turn}-{index}", clients.use, tool=tool, arguments=given, key=str(ctx.uuid()))
                for index, (_, tool, given) in enumerate(calls)
            ]
            for (call_id, _, _), step in zip(calls, steps, strict=True):
                messages.append(answered(call_id, await step))
        raise restate.TerminalError(f"not done after {TURNS_MAX} turns")

    return made


async def main() -> None:
    """Serve until killed."""
    lean = os.environ.get("CLIENTS") == "lean"
    made = agent("LeanLoop", Lean()) if lean else agent("BareLoop", Default())
    await serve("bare", SET.port, made)


if __name__ == "__main__":
    asyncio.run(main())
