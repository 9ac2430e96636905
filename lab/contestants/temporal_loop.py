"""Temporal: the agent loop as a workflow whose model and tool calls are activities.

The server knows of a killed worker only by an activity's time-out, so that is what recovery takes. The stable id is the
workflow run's and the activity's, which stay the same over all attempts.
Run: python -m lab.contestants.temporal_loop, with the server's host:port in ENGINE
"""

import asyncio
from collections.abc import Awaitable
from datetime import timedelta
from typing import Any

from temporalio import activity, workflow
from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.service import RPCError, RPCStatusCode
from temporalio.worker import Worker

with workflow.unsafe.imports_passed_through():
    from lab.contestants.outside import TURNS_MAX, Model, Receiver, Settings, answered, asked_for, settings
    from lab.contestants.serving import serve_runs

QUEUE = "peer"
# How long one attempt may take: above the mocks' slowest answer that counts, and the longest wait for a killed worker.
ATTEMPT = timedelta(seconds=10)
STATES = {WorkflowExecutionStatus.RUNNING: "running", WorkflowExecutionStatus.COMPLETED: "completed"}


class Activities:
    """What leaves the process."""

    def __init__(self, given: Settings) -> None:
        self._model = Model(given.model_url)
        self._receiver = Receiver(given.receiver_url)
        self._keyed = given.keyed

    @activity.defn
    async def reply(self, messages: list[dict[str, Any]]) -> dict[str, Any]:
        """One model call."""
        return await self._model.reply(messages)

    @activity.defn
    async def use(self, tool: str, arguments: dict[str, Any]) -> str:
        """One tool call."""
        info = activity.info()
        key = f"{info.workflow_run_id}-{info.activity_id}" if self._keyed else None
        return await self._receiver.use(tool, arguments, key)


@workflow.defn
class Agent:
    """The loop."""

    @workflow.run
    async def run(self, task: str) -> str:
        """Activities of one turn run at the same time."""
        messages: list[dict[str, Any]] = [{"role": "user", "content": task}]
        for _ in range(TURNS_MAX):
            message = await workflow.execute_activity_method(Activities.reply, messages, start_to_close_timeout=ATTEMPT)
            messages.append(message)
            calls = asked_for(message)
            if not calls:
                return str(message["content"])
            started = [
                workflow.start_activity_method(Activities.use, args=[tool, arguments], start_to_close_timeout=ATTEMPT)
                for _, tool, arguments in calls
            ]
            for (call_id, _, _), handle in zip(calls, started, strict=True):
                messages.append(answered(call_id, await handle))
        raise RuntimeError(f"not done after {TURNS_MAX} turns")


class Runner:
    """Temporal, as it is reached over HTTP."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def start(self, run_id: str, task: str) -> Awaitable[str]:
        try:
            handle = await self._client.start_workflow(
                Agent.run,
                task,
                id=run_id,
                task_queue=QUEUE,
                id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
                id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
            )
        except WorkflowAlreadyStartedError:  # it has ended already
            return self._client.get_workflow_handle_for(Agent.run, run_id).result()
        return handle.result()

    async def state(self, run_id: str) -> str:
        try:
            status = (await self._client.get_workflow_handle(run_id).describe()).status
        except RPCError as error:
            if error.status == RPCStatusCode.NOT_FOUND:
                return "absent"
            raise
        return STATES.get(status, "failed") if status is not None else "running"


async def main() -> None:
    """Serve until killed."""
    given = settings()
    client = await Client.connect(given.engine)
    activities = Activities(given)
    async with Worker(client, task_queue=QUEUE, workflows=[Agent], activities=[activities.reply, activities.use]):
        await serve_runs("temporal", given.port, Runner(client))


if __name__ == "__main__":
    asyncio.run(main())
