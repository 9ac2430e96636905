"""Reading one assistant message: whatever shape it has, out comes the same small record.

Rule: reading never fails and never guesses. Arguments are an object or they are a fault with a sentence; nothing
stands in for what could not be read. What is cut off in the middle of a value is told apart from what is merely
malformed.
Must not know: the tools, limits of a run, what is decided about a call.

| field `arguments`                          | read as                                              |
| ------------------------------------------ | ---------------------------------------------------- |
| text of a JSON object; an object           | that object                                          |
| absent, null, "", white space              | the empty object: nothing was given                  |
| the text `null`                            | not an object (no arguments where a tool takes none) |
| text of any other JSON value; other values | not an object                                        |
| text that is not JSON                      | not JSON, with the parser's words and a preview      |
| the same, and the text stops inside a value| not JSON, and perhaps cut off                        |
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pydantic import JsonValue

from tools.plain import plain, text

# Long enough to recognise a mistake by, short enough for a history.
PREVIEW_CHARS: Final = 500
# Python refuses to convert longer integers; anything near this is no number that a tool means.
_INTEGER_DIGITS = 300
_USABLE = re.compile(r"[\x21-\x7e]{1,128}")


@dataclass(frozen=True, slots=True)
class RawCall:
    """One tool call as the model wrote it. Exactly one of `arguments` and `fault` is set."""

    id: str
    """The provider's id, empty where it has none."""
    name: str
    arguments: dict[str, JsonValue] | None
    fault: str | None
    text: str
    """The arguments as they came, as text."""
    stops: bool
    """The text of the arguments ends inside a value, as it does when a reply is cut off."""
    faithful: bool
    """The text can be sent back as it is: cleaning changed nothing of what it means."""
    empty: bool
    """Nothing, or the text `null`, was given: fine for a tool without parameters."""
    source: Mapping[str, JsonValue]
    """The call's entry of the message, for what has to be sent back."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One assistant message, read."""

    text: str
    refusal: str
    calls: tuple[RawCall, ...]


def read(raw: Mapping[str, JsonValue]) -> Reading:
    """Read an assistant message of any shape."""
    content, refusal = _content(raw.get("content"))
    said = raw.get("refusal")
    if isinstance(said, str) and said.strip():
        refusal = said
    return Reading(content, refusal, tuple(_call(entry) for entry in _entries(raw)))


def given_ids(raw: Mapping[str, JsonValue]) -> list[str]:
    """The provider's ids of the calls of a message, in order; empty where there is none."""
    return [_id(entry) for entry in _entries(raw)]


def usable_id(identifier: str) -> bool:
    """An id that every provider takes back: printable, without white space, not too long."""
    return _USABLE.fullmatch(identifier) is not None


def preview(value: str) -> str:
    """The beginning of a text, at most about 500 characters."""
    return value if len(value) <= PREVIEW_CHARS else value[:PREVIEW_CHARS] + f"… ({len(value):,} characters)"


def cap_text(value: str, limit_bytes: int) -> str:
    """The text, cut to at most this many bytes of UTF-8 and never inside a character; a marker says what is missing."""
    raw = text(value).encode()
    if len(raw) <= limit_bytes:
        return raw.decode()
    marker = f"… [cut here: {len(raw):,} bytes in all]"
    return raw[: max(0, limit_bytes - len(marker.encode()))].decode(errors="ignore") + marker


def _content(content: JsonValue) -> tuple[str, str]:
    """Content and refusal. Some providers send a list of parts."""
    if isinstance(content, str):
        return content, ""
    words: list[str] = []
    refusals: list[str] = []
    for part in content if isinstance(content, list) else []:
        match part:
            case str(said) | {"text": str(said)}:
                words.append(said)
            case {"refusal": str(said)}:
                refusals.append(said)
            case _:
                pass
    return "".join(words), "".join(refusals)


def _entries(raw: Mapping[str, JsonValue]) -> list[JsonValue]:
    """The calls of a message; the older `function_call` counts as one where there are no others."""
    calls, older = raw.get("tool_calls"), raw.get("function_call")
    if isinstance(calls, list) and calls:
        return calls
    if calls is not None and not isinstance(calls, list):
        return [calls]
    return [] if older is None else [{"function": older}]


def _id(entry: JsonValue) -> str:
    identifier = entry.get("id") if isinstance(entry, dict) else None
    return identifier if isinstance(identifier, str) else ""


def _call(entry: JsonValue) -> RawCall:
    source: Mapping[str, JsonValue] = entry if isinstance(entry, dict) else {}
    function = source.get("function")
    fields: Mapping[str, JsonValue] = function if isinstance(function, dict) else {}
    name, given = fields.get("name"), fields.get("arguments")
    written = given if isinstance(given, str) else "" if given is None else json.dumps(given, ensure_ascii=False)
    arguments, fault, stops, faithful = _arguments(written)
    return RawCall(
        id=_id(entry),
        name=name if isinstance(name, str) else "",
        arguments=arguments,
        fault=fault,
        text=written,
        stops=stops,
        faithful=faithful,
        empty=written.strip() in ("", "null"),
        source=source,
    )


def _arguments(written: str) -> tuple[dict[str, JsonValue] | None, str | None, bool, bool]:
    """The object, or the sentence that says why there is none; whether the text stops inside a value; faithfulness."""
    if not written.strip():
        return {}, None, False, False
    try:
        value = json.loads(written, parse_int=_integer)
    except json.JSONDecodeError as error:
        where = f"{error.msg} at character {error.pos + 1} of {len(written):,}"
        return None, f"the arguments are not JSON ({where}): {preview(written)}", stops_inside(written), False
    except RecursionError:
        return None, f"the arguments are nested too deeply: {preview(written)}", False, False
    if not isinstance(value, dict):
        return None, f"the arguments are not a JSON object but {_kind(value)}: {preview(written)}", False, False
    cleaned = plain(value)
    return (cleaned if isinstance(cleaned, dict) else {}), None, False, cleaned == value


def _integer(digits: str) -> int | str:
    return int(digits) if len(digits) <= _INTEGER_DIGITS else digits


def _kind(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "a text"
        case _:
            return "a list"


_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_HALF = re.compile(r"(?:[-+.\d:,\[{]|\d[eE]|\b(?:t|tr|tru|f|fa|fal|fals|n|nu|nul))\Z")


def stops_inside(written: str) -> bool:
    """True where a text that is no JSON ends inside a value: an open string, a number, a colon or comma, half a word.

    `{"to": "a"` with nothing but closing brackets missing is malformed rather than cut: a reply that is cut off ends
    there only by chance, and a model that forgets brackets always does.
    """
    if not written.lstrip().startswith("{"):
        return False
    outline = "".join(_STRING.sub("s", written).split())
    if '"' in outline:
        return True
    opened: list[str] = []
    for character in outline:
        if character in "{[":
            opened.append(character)
        elif character in "}]" and opened:
            opened.pop()
    if not opened:
        return False
    return _HALF.search(outline) is not None or (opened[-1] == "{" and outline[-2:] in ("{s", ",s"))
