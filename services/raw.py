"""An assistant message as it is kept: cleaned and of bounded size, otherwise as it came.

Rule: done once, in the step that got the message, before it is journalled. Lone surrogates and NUL become U+FFFD, NaN
and Infinity null, deeper than 64 levels null. Texts far beyond every limit of a run keep their beginning: what is cut
cannot be used anyway, and still counts as too large. All other fields stay the same, so that they can be sent back.
Must not know: what the message means, limits of a run.
"""

import json
import math
from collections.abc import Mapping

from pydantic import JsonValue

from services.reply import cap_text
from tools.plain import text

DEPTH_MAX = 64
# Above the largest limit that a run can have for arguments, so that arguments which were cut are refused as too large.
ARGUMENTS_KEPT_BYTES = 200_000
# Several times the longest answer that a run gives.
CONTENT_KEPT_BYTES = 400_000
# A long reasoning with its signature. A session carries up to twenty of them with each message.
CARRIED_BYTES = 64_000


def clean(value: object) -> JsonValue:
    """The value fit to be written as JSON in UTF-8; cleaning twice changes nothing more."""
    return _clean(value, DEPTH_MAX)


def _clean(value: object, depth: int) -> JsonValue:
    match value:
        case None | bool() | int():
            return value
        case str():
            return text(value)
        case float():
            return value if math.isfinite(value) else None
        case dict() if depth:
            return {text(str(name)): _clean(item, depth - 1) for name, item in value.items()}
        case list() if depth:
            return [_clean(item, depth - 1) for item in value]
        case _:
            return None


def bounded(raw: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """The clean message with the beginning of its content and of its calls' arguments where those are far too large."""
    result = dict(raw)
    content, calls, older = raw.get("content"), raw.get("tool_calls"), raw.get("function_call")
    if isinstance(content, str):
        result["content"] = cap_text(content, CONTENT_KEPT_BYTES)
    if isinstance(calls, list):
        result["tool_calls"] = [_bounded_call(call) for call in calls]
    if isinstance(older, dict):
        result["function_call"] = _bounded_function(older)
    return result


def beyond_text(raw: Mapping[str, JsonValue]) -> dict[str, JsonValue] | None:
    """The final message of a run, to be sent back when the conversation goes on: None where its text is all that it
    holds, or where it is too large to be carried along."""
    more = [value for name, value in raw.items() if name not in ("role", "content") and value]
    if not more or len(json.dumps(raw, ensure_ascii=False).encode()) > CARRIED_BYTES:
        return None
    return dict(raw)


def carried(message: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """The same as it comes from a caller: clean, and without calls, whose results nobody has any more."""
    kept = {name: value for name, value in message.items() if name not in ("tool_calls", "function_call")}
    return bounded({text(name): clean(value) for name, value in kept.items()})


def _bounded_call(call: JsonValue) -> JsonValue:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(call, dict) or not isinstance(function, dict):
        return call
    return {**call, "function": _bounded_function(function)}


def _bounded_function(function: dict[str, JsonValue]) -> dict[str, JsonValue]:
    given = function.get("arguments")
    return {**function, "arguments": cap_text(given, ARGUMENTS_KEPT_BYTES)} if isinstance(given, str) else function
