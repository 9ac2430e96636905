"""What the model refuses, and the fault that meets every request. Pure.

Rule: a refusal depends on the request and the switches alone, never on time. It must not know the store or HTTP.
"""

from collections.abc import Iterable
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from mocks import strict
from mocks.answer import Answer
from mocks.completion import assistant_message, error
from mocks.script import Chosen, Reply, Script, choose, last_of_user, possible, role_of


class Outage(Reply):
    """A reply that every request gets before anything is looked at; `times` is how many of them, None is all."""

    times: Annotated[int, Field(ge=1)] | None = None


class Switches(BaseModel):
    """All off by default."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    strict: bool = False
    drift: bool = False
    reject_null: bool = False
    reject_empty: bool = False
    reject_unknown_fields: bool = False
    require_fields: bool = False
    max_request_bytes: Annotated[int, Field(ge=1)] | None = None
    status: Outage | None = None


def refusal(
    switches: Switches, messages: list[Any], request_bytes: int, scripts: Iterable[tuple[str, Script]]
) -> Answer | None:
    """The error for a request that these switches refuse."""
    if switches.max_request_bytes is not None and request_bytes > switches.max_request_bytes:
        words = f"this model takes {switches.max_request_bytes} bytes, the request has {request_bytes}"
        return error(400, "context_length_exceeded", words)
    wrong = (
        (switches.strict and strict.what_is_malformed(messages))
        or (switches.reject_null and strict.null_content(messages))
        or (switches.reject_empty and strict.empty_content(messages))
        or (switches.reject_unknown_fields and strict.unknown_fields(messages))
        or (switches.require_fields and missing_fields(messages, list(scripts)))
    )
    return error(400, "invalid_request", wrong) if wrong else None


def missing_fields(messages: list[Any], scripts: list[tuple[str, Script]]) -> str | None:
    """The first field beyond the API's own that a script sent and that did not come back as it was."""
    last_user = last_of_user(messages)
    for at, message in enumerate(messages):
        if role_of(message) != "assistant":
            continue
        chosen = choose(messages[:at], scripts)
        replies = [chosen.reply] if at > last_user else _of_its_kind(message, chosen, scripts)
        candidates = [each for reply in replies for each in possible(reply) if each.is_message()]
        missing = [_missing(assistant_message(chosen, reply), message) for reply in candidates]
        if missing and all(missing):
            return f"messages[{at}]: the field {missing[0]} did not come back as it was sent"
    return None


def _of_its_kind(came: dict[str, Any], chosen: Chosen, scripts: list[tuple[str, Script]]) -> list[Reply]:
    """What an earlier conversation's message may have been: its turns with calls may have been left out as a whole."""
    script = dict(scripts).get(chosen.script) if chosen.script is not None else None
    if script is None or came.get("tool_calls"):
        return [chosen.reply]
    return [chosen.reply, *(reply for reply in script.replies[chosen.turn :] if not reply.tool_calls)]


def _missing(sent: dict[str, Any], came: dict[str, Any]) -> str | None:
    for name in set(sent) - strict.MESSAGE_FIELDS["assistant"]:
        if name not in came or came[name] != sent[name]:
            return name
    came_calls = came.get("tool_calls") or []
    for index, call in enumerate(sent.get("tool_calls") or []):
        back = came_calls[index] if index < len(came_calls) else {}
        for name in set(call) - strict.CALL_FIELDS:
            if name not in back or back[name] != call[name]:
                return f"tool_calls[{index}].{name}"
    return None


def outage_reply(outage: Outage, messages: list[Any]) -> Chosen:
    """The outage in the form that a completion is made from."""
    found = choose(messages, ())
    return Chosen("switch", found.turn, found.position, outage, {})
