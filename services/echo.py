"""How one reply goes back to the model: as it came, but for the few things that would make the next request fail.

Rule: fields stay as they are, unknown ones too unless the provider refuses them. Changed are ids, calls' names and
arguments that no provider takes, and content that is empty.
Must not know: the rest of the conversation.
"""

import json
import re
from collections.abc import Mapping

from pydantic import JsonValue

from services.limits import Limits
from services.provider import Provider
from services.reply import RawCall, Reading, preview

Message = dict[str, JsonValue]

# What providers take as the name of a function; a reply may hold others.
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def assistant(
    raw: Mapping[str, JsonValue], reading: Reading, ids: tuple[str, ...], provider: Provider, limits: Limits
) -> Message:
    """The assistant message of a reply."""
    known = ("role", "content")
    kept = {name: value for name, value in raw.items() if provider.keep_unknown or name in known}
    message: Message = {name: value for name, value in kept.items() if name not in ("tool_calls", "function_call")}
    message["role"] = "assistant"
    if not reading.text.strip():
        match provider.echo_empty:
            case "null":
                message["content"] = None
            case "empty":
                message["content"] = ""
            case "omit":
                message.pop("content", None)
    if reading.calls:
        message["tool_calls"] = [
            _call(call, identifier, provider, limits) for call, identifier in zip(reading.calls, ids, strict=True)
        ]
    return message


def _call(call: RawCall, identifier: str, provider: Provider, limits: Limits) -> Message:
    function = call.source.get("function")
    fields: Message = dict(function) if provider.keep_unknown and isinstance(function, dict) else {}
    fields["name"] = call.name if _NAME.fullmatch(call.name) else usable_name(call.name)
    fields["arguments"] = arguments(call, limits.arguments_bytes)
    entry: Message = dict(call.source) if provider.keep_unknown else {}
    return {**entry, "id": identifier, "type": "function", "function": fields}


def usable_name(name: str) -> str:
    """The name in the characters that providers take; what the model wrote is in the call's answer."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:64] or "unnamed"


def arguments(call: RawCall, limit_bytes: int) -> str:
    """The arguments as the model wrote them where they are an object; otherwise an object that shows what it wrote."""
    if call.empty:
        return "{}"
    if call.arguments is None or len(call.text.encode()) > limit_bytes:
        return json.dumps({"unreadable_arguments": preview(call.text)}, ensure_ascii=False)
    return call.text if call.faithful else json.dumps(call.arguments, ensure_ascii=False)
