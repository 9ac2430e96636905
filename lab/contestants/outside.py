"""The outside world as the Python workers meet it: settings, the five tools' HTTP requests, the model by hand.

Rule: one request each, in the clients that most people use (openai, httpx) and as they come. What may work another time
is an exception, so that the framework tries again as it does for everybody; any other refusal is an answer for the
model.
"""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

import httpx
import openai

# What the loops written by hand send as `tools`; the frameworks derive theirs from typed functions.
TOOLS: list[Any] = json.loads(Path(__file__).with_name("tools.json").read_text(encoding="utf-8"))
# Above the longest job of the benchmark (200 turns), so that no framework's own limit ends it.
TURNS_MAX = 500
TIMEOUT_S = 30.0
# Conflict says that the same key is being worked on right now: a killed worker's request may still be under way.
MAY_WORK_LATER = frozenset({408, 409, 425, 429})


@dataclass(frozen=True, slots=True)
class Settings:
    """From the environment: MODEL_URL (with /v1), RECEIVER_URL, WORKDIR (survives the worker), PORT, KEYED, and
    ENGINE (host:port) where the engine is a server that the worker calls."""

    model_url: str
    receiver_url: str
    workdir: Path
    port: int
    keyed: bool
    engine: str


def settings() -> Settings:
    """Raises KeyError where a setting is missing."""
    return Settings(
        model_url=os.environ["MODEL_URL"],
        receiver_url=os.environ["RECEIVER_URL"],
        workdir=Path(os.environ["WORKDIR"]),
        port=int(os.environ["PORT"]),
        keyed=os.environ.get("KEYED") == "1",
        engine=os.environ.get("ENGINE", ""),
    )


def request(tool: str, arguments: dict[str, Any], key: str | None) -> tuple[str, str, Any]:
    """Method, path and JSON body of a tool call. Raises KeyError or ValueError for what the model must not ask."""
    reference = {} if key is None else {"reference": key}
    match tool:
        case "look_up_order":
            return "GET", f"/orders/{quote(arguments['order_id'], safe='')}", None
        case "update_crm":
            return "PUT", f"/customers/{quote(arguments['customer_id'], safe='')}", arguments["fields"]
        case "charge_card":
            return "POST", "/charges", {"currency": "EUR", "memo": "", **arguments, **reference}
        case "refund_payment":
            return "POST", "/refunds", {"reason": "", **arguments, **reference}
        case "send_email":
            return "POST", "/emails", {**arguments, **reference}
        case _:
            raise ValueError(f"there is no tool {tool}")


class Receiver:
    """Where the tools' requests go."""

    def __init__(self, url: str) -> None:
        self._client = httpx.AsyncClient(base_url=url, timeout=TIMEOUT_S, trust_env=False)

    async def use(self, tool: str, arguments: dict[str, Any], key: str | None) -> str:
        """One tool call: the receiver's JSON as text. Raises httpx.HTTPError for what may work another time."""
        method, path, body = request(tool, arguments, key)
        headers = {} if key is None or method == "GET" else {"Idempotency-Key": key}
        answer = await self._client.request(method, path, json=body, headers=headers)
        if answer.is_server_error or answer.status_code in MAY_WORK_LATER:
            answer.raise_for_status()
        return answer.text


def openai_client(url: str, retries: int = openai.DEFAULT_MAX_RETRIES) -> openai.AsyncOpenAI:
    """A client of the mock model. Where the framework retries by itself, `retries` is 0, as the manuals say."""
    return openai.AsyncOpenAI(base_url=url, api_key="mock-key", max_retries=retries, timeout=TIMEOUT_S)


class Model:
    """The model, for the loops that are written by hand."""

    def __init__(self, url: str) -> None:
        self._client = openai_client(url, retries=0)

    async def reply(self, messages: list[dict[str, Any]]) -> dict[str, Any]:
        """The next message as plain JSON. Raises openai.OpenAIError."""
        completion = await self._client.chat.completions.create(
            model="mock", messages=cast("list[Any]", messages), tools=TOOLS
        )
        message: dict[str, Any] = completion.choices[0].message.to_dict()
        return message


def asked_for(message: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    """The tool calls of a model's message: id, tool, arguments."""
    return [
        (call["id"], call["function"]["name"], json.loads(call["function"]["arguments"]))
        for call in message.get("tool_calls") or []
    ]


def answered(call_id: str, text: str) -> dict[str, Any]:
    """A tool's result as a message."""
    return {"role": "tool", "tool_call_id": call_id, "content": text}
