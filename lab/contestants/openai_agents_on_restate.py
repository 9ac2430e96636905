"""openai-agents on Restate, as the SDK's integration has it: `DurableRunner` journals the model's calls, and each tool
journals its own request. The stable id is `ctx.uuid()`.

The model is given by name: a Model object on the agent would bypass the runner's provider, and nothing of it would be
journalled. Run: python -m lab.contestants.openai_agents_on_restate
"""

import asyncio
from typing import Any

import restate
from agents import Agent, set_default_openai_api, set_default_openai_client, set_tracing_disabled
from restate.ext.openai import DurableRunner, durable_function_tool, restate_context

from lab.contestants.on_restate import serve
from lab.contestants.outside import TURNS_MAX, Receiver, openai_client, settings

SET = settings()
RECEIVER = Receiver(SET.receiver_url)


async def use(name: str, **arguments: Any) -> str:
    """One tool call, as a step of the run."""
    ctx = restate_context()
    key = str(ctx.uuid()) if SET.keyed else None
    return await ctx.run_typed(name, RECEIVER.use, tool=name, arguments=arguments, key=key)


@durable_function_tool
async def look_up_order(order_id: str) -> str:
    """Look up an order: its customer, payment, amount and status."""
    return await use("look_up_order", order_id=order_id)


@durable_function_tool
async def charge_card(customer_id: str, amount_cents: int, currency: str = "EUR", memo: str = "") -> str:
    """Charge a customer's card."""
    return await use("charge_card", customer_id=customer_id, amount_cents=amount_cents, currency=currency, memo=memo)


@durable_function_tool
async def refund_payment(payment_id: str, amount_cents: int, reason: str = "") -> str:
    """Refund a payment, in part or in whole."""
    return await use("refund_payment", payment_id=payment_id, amount_cents=amount_cents, reason=reason)


@durable_function_tool(strict_mode=False)  # strict schemas have no free-form objects
async def update_crm(customer_id: str, fields: dict[str, Any]) -> str:
    """Write a customer's record in the CRM. The fields given replace the whole record."""
    return await use("update_crm", customer_id=customer_id, fields=fields)


@durable_function_tool
async def send_email(to: str, subject: str, body: str) -> str:
    """Send an e-mail."""
    return await use("send_email", to=to, subject=subject, body=body)


AGENT = Agent(name="agent", model="mock", tools=[look_up_order, charge_card, refund_payment, update_crm, send_email])
service = restate.VirtualObject("OpenAIAgents")


@service.handler()
async def run(_ctx: restate.ObjectContext, asked: dict[str, str]) -> dict[str, str]:
    """One run, from its task to its answer."""
    result = await DurableRunner.run(AGENT, asked["task"], max_turns=TURNS_MAX)
    return {"state": "completed", "answer": str(result.final_output)}


async def main() -> None:
    """Serve until killed."""
    set_tracing_disabled(disabled=True)
    set_default_openai_api("chat_completions")
    set_default_openai_client(openai_client(SET.model_url), use_for_tracing=False)
    await serve("openai-agents", SET.port, service)


if __name__ == "__main__":
    asyncio.run(main())
