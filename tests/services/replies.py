"""Shorthand for the tests of the decision core: replies in the words of a case, a toolset, a conversation so far."""

import json
from collections.abc import Mapping
from typing import Any

from services.limits import Limits
from services.provider import Provider
from services.transcript import Answered, Cut, Replied, Told, Transcript, Usage
from tools import TOOLS, registry
from tools.effect import Effect
from tools.request import Request, get
from tools.tool import Tool, tool


@tool(effect=Effect.READ)
def list_invoices() -> Request:
    """All open invoices."""
    return get("/invoices")


@tool(effect=Effect.READ)
def search(query: str = "", limit: int = 10) -> Request:
    """Search; everything has a default.

    Args:
        query: Words to look for.
        limit: How many to give.
    """
    return get("/search", query=query, limit=limit)


TOOLSET: dict[str, Tool] = registry((*TOOLS, list_invoices, search))
LIMITS = Limits()
PROVIDER = Provider()
MAIL = {"to": "a@example.test", "subject": "s", "body": "hi"}
USAGE = Usage(10, 5)
ORDER = '{"order_id":"5"}'


def call(name: Any, arguments: Any = ORDER, identifier: Any = "call_1", **more: Any) -> dict[str, Any]:
    """One tool call; `arguments` a dict is written as JSON text, `...` leaves the field out."""
    function: dict[str, Any] = {"name": name}
    if arguments is not ...:
        function["arguments"] = json.dumps(arguments) if isinstance(arguments, Mapping) else arguments
    return {"id": identifier, "type": "function", "function": function, **more}


def reply(
    content: Any = None,
    *calls: Any,
    finish: str | None = None,
    cut: Cut = Cut.NO,
    filtered: bool = False,
    turn: int = 1,
    at: float = 0.0,
    usage: Usage = USAGE,
    **fields: Any,
) -> Replied:
    """One reply of the model."""
    raw: dict[str, Any] = {"role": "assistant", "content": content, **fields}
    if calls:
        raw["tool_calls"] = list(calls)
    reason = finish or ("tool_calls" if calls else "stop")
    return Replied(turn, raw, reason, usage, cut, filtered, at)


def said(*replies: Replied, task: str = "do it") -> Transcript:
    """A task, then these replies, numbered and each answered where it has calls, the last one left open."""
    transcript = Transcript((Told(task),))
    for number, each in enumerate(replies, start=1):
        numbered = Replied(number, each.raw, each.finish_reason, each.usage, each.cut, each.filtered, each.at)
        transcript = transcript.add(numbered)
        calls = each.raw.get("tool_calls")
        if number < len(replies) and isinstance(calls, list):
            transcript = transcript.add(Answered(number, tuple(f"result {i}" for i in range(len(calls)))))
    return transcript
