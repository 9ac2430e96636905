"""Is this history well formed? Pure: messages in, a sentence that says what is wrong out, or None.

Rule: as strict as the strictest real provider on what breaks conversations; it knows the history only, not the scripts.
"""

from collections.abc import Iterator
from typing import Any

from mocks.plain_json import parse_object

ROLES = ("system", "developer", "user", "assistant", "tool")
MESSAGE_FIELDS = {
    "system": {"role", "content", "name"},
    "developer": {"role", "content", "name"},
    "user": {"role", "content", "name"},
    "assistant": {"role", "content", "name", "tool_calls", "refusal", "audio", "function_call"},
    "tool": {"role", "content", "tool_call_id"},
}
CALL_FIELDS = {"id", "type", "function"}
FUNCTION_FIELDS = {"name", "arguments"}


def what_is_malformed(messages: list[Any]) -> str | None:
    """The first thing that is wrong with the history."""
    return next(_problems(messages), None)


def null_content(messages: list[Any]) -> str | None:
    """Whether an assistant message has content null, which some providers refuse."""
    return _assistant_content(messages, None, "content is null")


def empty_content(messages: list[Any]) -> str | None:
    """Whether an assistant message has content "", which other providers refuse."""
    return _assistant_content(messages, "", "content is an empty string")


def unknown_fields(messages: list[Any]) -> str | None:
    """The first field of a message or tool call that the API does not define."""
    for at, message in enumerate(m for m in messages if isinstance(m, dict)):
        known = MESSAGE_FIELDS.get(str(message.get("role")), set())
        for name in sorted(set(message) - known):
            return f"messages[{at}]: unknown field {name}"
        for call in _calls(message):
            function = call.get("function")
            inner = set(function) - FUNCTION_FIELDS if isinstance(function, dict) else set()
            for name in sorted((set(call) - CALL_FIELDS) | inner):
                return f"messages[{at}].tool_calls: unknown field {name}"
    return None


def _problems(messages: list[Any]) -> Iterator[str]:
    if not messages:
        yield "messages is empty"
    if _has_lone_surrogate(messages):
        yield "the history holds a lone surrogate"
    for at, message in enumerate(messages):
        if not isinstance(message, dict) or message.get("role") not in ROLES:
            yield f"messages[{at}]: role is not one of {', '.join(ROLES)}"
            return
    used: set[str] = set()
    for at, message in enumerate(messages):
        yield from _own_problems(f"messages[{at}]", message, used)
    yield from _pairing_problems(messages)
    yield from _order_problems([message["role"] for message in messages])


def _own_problems(where: str, message: dict[str, Any], used: set[str]) -> Iterator[str]:
    """What is wrong inside one message; `used` collects the ids of tool calls."""
    if message["role"] != "assistant":
        if not isinstance(message.get("content"), str | list):
            yield f"{where}: a {message['role']} message needs content"
        return
    calls = message.get("tool_calls")
    if calls is not None and (not isinstance(calls, list) or not calls):
        yield f"{where}: tool_calls is not a list with at least one call"
    if not message.get("content") and not message.get("refusal") and not calls:
        yield f"{where}: neither content nor tool_calls"
    for index, call in enumerate(calls if isinstance(calls, list) else []):
        yield from _call_problems(f"{where}.tool_calls[{index}]", call, used)


def _order_problems(roles: list[str]) -> Iterator[str]:
    previous = ""
    for at, role in enumerate(roles):
        if role in ("system", "developer") and previous not in ("", "system", "developer"):
            yield f"messages[{at}]: {role} message after the beginning"
        if role == "assistant" and previous not in ("user", "tool"):
            yield f"messages[{at}]: assistant message after {previous or 'nothing'}"
        previous = role
    if previous not in ("user", "tool"):
        yield "the last message is neither the user's nor a tool's"


def _pairing_problems(messages: list[dict[str, Any]]) -> Iterator[str]:
    """Each tool call has exactly one tool message, in the order of the calls, before anything else follows."""
    due: list[str] = []
    for at, message in enumerate(messages):
        if message["role"] == "tool":
            call_id = message.get("tool_call_id")
            if not due or call_id != due[0]:
                words = f"the answer to {due[0]} is due" if due else "no tool call is open"
                yield f"messages[{at}]: tool message for {call_id!r}, but {words}"
            due = due[1:]
        elif due:
            yield f"messages[{at}]: no tool message yet for {', '.join(due)}"
        if message["role"] == "assistant":
            due = [str(call.get("id")) for call in _calls(message)]
    if due:
        yield f"no tool message for {', '.join(due)}"


def _call_problems(where: str, call: Any, used: set[str]) -> Iterator[str]:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict) or call.get("type") != "function":
        yield f"{where}: not a function call"
        return
    call_id = call.get("id")
    if not isinstance(call_id, str) or not call_id:
        yield f"{where}: the id is empty"
    elif call_id in used:
        yield f"{where}: the id {call_id} was used before"
    used.add(str(call_id))
    if not isinstance(function.get("name"), str) or not function["name"]:
        yield f"{where}: the function has no name"
    written = function.get("arguments")
    arguments = parse_object(written) if isinstance(written, str) else None
    if arguments is None:
        yield f"{where}: arguments is not a JSON object in a string"
    elif _has_lone_surrogate(arguments):
        yield f"{where}: arguments holds a lone surrogate"


def _assistant_content(messages: list[Any], refused: object, words: str) -> str | None:
    for at, message in enumerate(messages):
        if isinstance(message, dict) and message.get("role") == "assistant" and message.get("content", 0) == refused:
            return f"messages[{at}]: {words}"
    return None


def _calls(message: dict[str, Any]) -> list[dict[str, Any]]:
    calls = message.get("tool_calls")
    return [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []


def _has_lone_surrogate(value: Any) -> bool:
    match value:
        case str():
            return any("\ud800" <= char <= "\udfff" for char in value) if not value.isascii() else False
        case dict():
            return any(_has_lone_surrogate(key) or _has_lone_surrogate(inner) for key, inner in value.items())
        case list():
            return any(_has_lone_surrogate(inner) for inner in value)
        case _:
            return False
