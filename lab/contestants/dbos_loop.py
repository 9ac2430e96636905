"""DBOS: the agent loop as a workflow whose model and tool calls are steps, kept in SQLite.

A killed worker's runs are taken up again when the same executor starts anew. The stable id is the workflow's id and the
step's. Run: python -m lab.contestants.dbos_loop
"""

import asyncio
from collections.abc import Awaitable
from typing import Any

from dbos import DBOS, SetWorkflowID

from lab.contestants.outside import TURNS_MAX, Model, Receiver, answered, asked_for, settings
from lab.contestants.serving import serve_runs

# Steps are module-level functions in DBOS, so what they use is too.
SET = settings()
MODEL = Model(SET.model_url)
RECEIVER = Receiver(SET.receiver_url)
STATES = {"SUCCESS": "completed", "ERROR": "failed", "CANCELLED": "failed", "MAX_RECOVERY_ATTEMPTS_EXCEEDED": "failed"}


@DBOS.step(retries_allowed=True)
async def reply(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """One model call."""
    return await MODEL.reply(messages)


@DBOS.step(retries_allowed=True)
async def use(tool: str, arguments: dict[str, Any]) -> str:
    """One tool call."""
    key = f"{DBOS.workflow_id}-{DBOS.step_id}" if SET.keyed else None
    return await RECEIVER.use(tool, arguments, key)


@DBOS.workflow()
async def agent(task: str) -> str:
    """The loop. Steps of one turn start in the model's order and run at the same time."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": task}]
    for _ in range(TURNS_MAX):
        message = await reply(messages)
        messages.append(message)
        calls = asked_for(message)
        if not calls:
            return str(message["content"])
        # DBOS numbers a step when it starts, and tasks start in the order given here.
        texts = await asyncio.gather(*(use(tool, arguments) for _, tool, arguments in calls))
        messages += [answered(call_id, text) for (call_id, _, _), text in zip(calls, texts, strict=True)]
    raise RuntimeError(f"not done after {TURNS_MAX} turns")


class Runner:
    """DBOS, as it is reached over HTTP."""

    async def start(self, run_id: str, task: str) -> Awaitable[str]:
        with SetWorkflowID(run_id):
            handle = await DBOS.start_workflow_async(agent, task)
        return handle.get_result()

    async def state(self, run_id: str) -> str:
        status = await DBOS.get_workflow_status_async(run_id)
        return "absent" if status is None else STATES.get(status.status, "running")


async def main() -> None:
    """Serve until killed."""
    DBOS(config={"name": "peer", "system_database_url": f"sqlite:///{SET.workdir / 'dbos.sqlite'}"})
    DBOS.launch()  # inside the loop, so that recovered runs live in it too
    await serve_runs("dbos", SET.port, Runner())


if __name__ == "__main__":
    asyncio.run(main())
