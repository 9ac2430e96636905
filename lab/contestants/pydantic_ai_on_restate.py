"""pydantic-ai on Restate, as the SDK's integration has it: `RestateAgent` journals the model's calls, and each tool
journals its own request. The stable id is `ctx.uuid()`.

Tools run one after the other, as Restate's manual says they do under an agent SDK. In this form nothing but
`sequential` makes them: two steps awaited by two tasks take each other's wake-up, and with SDK 1.3.0 one run in six
stood still for ever.

The integration as it ships builds a pydantic TypeAdapter anew for each entry of the journal, which is most of what it
costs. CACHED=1 keeps them, as object PydanticAICached: one line, for the benchmark, so that both can be seen.
Run: python -m lab.contestants.pydantic_ai_on_restate
"""

import asyncio
import os
from functools import cache
from typing import Any

import restate
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.usage import UsageLimits
from restate.ext.pydantic import RestateAgent, _serde, restate_context

from lab.contestants.on_restate import serve
from lab.contestants.outside import TURNS_MAX, Receiver, settings

CACHED = os.environ.get("CACHED") == "1"
if CACHED:
    _serde.TypeAdapter = cache(_serde.TypeAdapter)
SET = settings()
RECEIVER = Receiver(SET.receiver_url)
AGENT = Agent(OpenAIChatModel("mock", provider=OpenAIProvider(base_url=SET.model_url, api_key="mock-key")))


async def use(name: str, **arguments: Any) -> str:
    """One tool call, as a step of the run."""
    ctx = restate_context()
    key = str(ctx.uuid()) if SET.keyed else None
    return await ctx.run_typed(name, RECEIVER.use, tool=name, arguments=arguments, key=key)


@AGENT.tool_plain(sequential=True)
async def look_up_order(order_id: str) -> str:
    """Look up an order: its customer, payment, amount and status."""
    return await use("look_up_order", order_id=order_id)


@AGENT.tool_plain(sequential=True)
async def charge_card(customer_id: str, amount_cents: int, currency: str = "EUR", memo: str = "") -> str:
    """Charge a customer's card."""
    return await use("charge_card", customer_id=customer_id, amount_cents=amount_cents, currency=currency, memo=memo)


@AGENT.tool_plain(sequential=True)
async def refund_payment(payment_id: str, amount_cents: int, reason: str = "") -> str:
    """Refund a payment, in part or in whole."""
    return await use("refund_payment", payment_id=payment_id, amount_cents=amount_cents, reason=reason)


@AGENT.tool_plain(sequential=True)
async def update_crm(customer_id: str, fields: dict[str, Any]) -> str:
    """Write a customer's record in the CRM. The fields given replace the whole record."""
    return await use("update_crm", customer_id=customer_id, fields=fields)


@AGENT.tool_plain(sequential=True)
async def send_email(to: str, subject: str, body: str) -> str:
    """Send an e-mail."""
    return await use("send_email", to=to, subject=subject, body=body)


DURABLE = RestateAgent(AGENT)
service = restate.VirtualObject("PydanticAICached" if CACHED else "PydanticAI")


@service.handler()
async def run(_ctx: restate.ObjectContext, asked: dict[str, str]) -> dict[str, str]:
    """One run, from its task to its answer."""
    result = await DURABLE.run(asked["task"], usage_limits=UsageLimits(request_limit=TURNS_MAX))
    return {"state": "completed", "answer": result.output}


if __name__ == "__main__":
    asyncio.run(serve("pydantic-ai", SET.port, service))
