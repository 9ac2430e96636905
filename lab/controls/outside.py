"""The outside world as a control calls it: one model call, one tool call, nothing clever.

Rule: a failure of any kind is an exception, so Restate tries the step again: that is what a plain loop does.
"""

import json
from typing import Any

import httpx

TIMEOUT_S = 30.0


class Outside:
    """The model and the receiver behind plain HTTP."""

    def __init__(self, model: str, receiver: str) -> None:
        self._model = model
        self._receiver = receiver
        self._client = httpx.AsyncClient(timeout=TIMEOUT_S, trust_env=False)

    async def reply(self, messages: list[dict[str, Any]]) -> dict[str, Any]:
        """The model's next message."""
        answer = await self._client.post(
            f"{self._model}/v1/chat/completions", json={"model": "mock", "messages": messages}
        )
        answer.raise_for_status()
        message: dict[str, Any] = answer.json()["choices"][0]["message"]
        return message

    async def use(self, tool: str, arguments: dict[str, Any], key: str | None = None) -> dict[str, Any]:
        """What a tool call gives, as the model will see it."""
        method, path, body = self._request(tool, arguments)
        headers = {"Idempotency-Key": key} if key else {}
        answer = await self._client.request(method, f"{self._receiver}{path}", json=body, headers=headers)
        answer.raise_for_status()
        result: dict[str, Any] = answer.json()
        return result

    @staticmethod
    def _request(tool: str, arguments: dict[str, Any]) -> tuple[str, str, dict[str, Any] | None]:
        match tool:
            case "look_up_order":
                return "GET", f"/orders/{arguments['order_id']}", None
            case "refund_payment":
                return "POST", "/refunds", arguments
            case "update_crm":
                return "PUT", f"/customers/{arguments['customer_id']}", arguments["fields"]
            case "send_email":
                return "POST", "/emails", arguments
            case "charge_card":
                return "POST", "/charges", arguments
            case "transfer_money":
                return "POST", "/transfers", arguments
            case "send_sms":
                return "POST", "/sms", arguments
            case _:
                raise ValueError(f"this control has no tool {tool}")


def asked_for(message: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    """The tool calls of a model's message: id, tool, arguments."""
    return [
        (call["id"], call["function"]["name"], json.loads(call["function"]["arguments"]))
        for call in message.get("tool_calls") or []
    ]
