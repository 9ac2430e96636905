"""LangGraph: `create_agent` with a SQLite checkpointer that has written before the next step begins.

It does not go on by itself: whoever starts it must invoke the thread again, here by submitting the run again under the
same id. The stable id is the thread's and the tool call's, which the model gave and the checkpoint kept.
Run: python -m lab.contestants.langgraph_agent
"""

import asyncio
from collections.abc import Awaitable
from typing import Any

from langchain.agents import create_agent
from langchain.tools import ToolRuntime, tool
from langchain_core.runnables import RunnableConfig
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from pydantic import SecretStr

from lab.contestants.outside import TURNS_MAX, Receiver, settings
from lab.contestants.serving import serve_runs

SET = settings()
RECEIVER = Receiver(SET.receiver_url)


async def use(runtime: ToolRuntime, name: str, **arguments: Any) -> str:
    """One tool call, with the key where keys are asked for."""
    thread = runtime.config["configurable"]["thread_id"]
    return await RECEIVER.use(name, arguments, f"{thread}-{runtime.tool_call_id}" if SET.keyed else None)


@tool
async def look_up_order(order_id: str, runtime: ToolRuntime) -> str:
    """Look up an order: its customer, payment, amount and status."""
    return await use(runtime, "look_up_order", order_id=order_id)


@tool
async def charge_card(
    customer_id: str, amount_cents: int, runtime: ToolRuntime, currency: str = "EUR", memo: str = ""
) -> str:
    """Charge a customer's card."""
    given = {"customer_id": customer_id, "amount_cents": amount_cents, "currency": currency, "memo": memo}
    return await use(runtime, "charge_card", **given)


@tool
async def refund_payment(payment_id: str, amount_cents: int, runtime: ToolRuntime, reason: str = "") -> str:
    """Refund a payment, in part or in whole."""
    return await use(runtime, "refund_payment", payment_id=payment_id, amount_cents=amount_cents, reason=reason)


@tool
async def update_crm(customer_id: str, fields: dict[str, Any], runtime: ToolRuntime) -> str:
    """Write a customer's record in the CRM. The fields given replace the whole record."""
    return await use(runtime, "update_crm", customer_id=customer_id, fields=fields)


@tool
async def send_email(to: str, subject: str, body: str, runtime: ToolRuntime) -> str:
    """Send an e-mail."""
    return await use(runtime, "send_email", to=to, subject=subject, body=body)


def config(run_id: str) -> RunnableConfig:
    """A run is a thread. Each turn takes two steps of the graph."""
    return {"configurable": {"thread_id": run_id}, "recursion_limit": 2 * TURNS_MAX}


class Runner:
    """The graph, as it is reached over HTTP."""

    def __init__(self, saver: AsyncSqliteSaver) -> None:
        self._agent = create_agent(
            model=ChatOpenAI(model="mock", base_url=SET.model_url, api_key=SecretStr("mock-key")),
            tools=[look_up_order, charge_card, refund_payment, update_crm, send_email],
            checkpointer=saver,
        )

    async def start(self, run_id: str, task: str) -> Awaitable[str]:
        return self._run(run_id, task)

    async def _run(self, run_id: str, task: str) -> str:
        known = await self._agent.aget_state(config(run_id))
        if known.values and not known.next:
            result: dict[str, Any] = known.values
        else:
            # No input means: from the last checkpoint on.
            begin: Any = None if known.created_at else {"messages": [{"role": "user", "content": task}]}
            result = await self._agent.ainvoke(begin, config(run_id), durability="sync")
        return str(result["messages"][-1].content)

    async def state(self, run_id: str) -> str:
        known = await self._agent.aget_state(config(run_id))
        if not known.created_at:
            return "absent"
        if not known.next:
            return "completed"
        return "failed" if any(task.error for task in known.tasks) else "interrupted"


async def main() -> None:
    """Serve until killed."""
    async with AsyncSqliteSaver.from_conn_string(str(SET.workdir / "langgraph.sqlite")) as saver:
        await serve_runs("langgraph", SET.port, Runner(saver))


if __name__ == "__main__":
    asyncio.run(main())
