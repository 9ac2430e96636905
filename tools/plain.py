"""The border: any Python value becomes plain JSON, and a large one becomes a small one.

Rule: it never fails and never depends on anything but the value, so the first run and a replay see the same text. What JSON
has no word for is written like this:

Decimal, UUID, Enum member     its text, or the plain form of its value
date, time, datetime           ISO 8601; timedelta in seconds
bytes                          UTF-8 text, each invalid byte as U+FFFD
tuple, set, frozenset          a list; a set is sorted by its members' JSON so that its order is always the same
mapping                        an object; a key that is not text becomes its text, a second key of the same text gets "#2"
dataclass, pydantic model      an object of its fields
NaN, Infinity                  the texts "NaN", "Infinity", "-Infinity" (1e400 reads as Infinity)
integer beyond 2**53           its decimal text: many JSON readers would round it
lone surrogate, NUL            U+FFFD
anything else                  {"error": "…"} that names the type: generators, open files, functions, exceptions
nested deeper than 32          {"error": "…"}, which also ends a value that contains itself
Must not know: tools, HTTP, effects.
"""

import dataclasses
import json
import math
import re
from collections.abc import Iterable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from uuid import UUID

from pydantic import BaseModel, JsonValue

DEPTH_MAX = 32
# The largest integer that every JSON reader keeps exactly (RFC 8259, section 6).
INTEGER_MAX = 2**53 - 1
# Python refuses to write longer integers as decimal text.
_DECIMAL_BITS_MAX = 10_000
# NUL ends a string in C and is refused by many databases; a lone surrogate cannot be written as UTF-8.
_UNWRITABLE = re.compile("[\x00\ud800-\udfff]")
_REPLACEMENT = "\ufffd"


def plain(value: object) -> JsonValue:
    """The value as plain JSON, by the rules above."""
    return _plain(value, DEPTH_MAX)


def text(value: str) -> str:
    """The text without what cannot be stored or sent."""
    return _UNWRITABLE.sub(_REPLACEMENT, value)


def _plain(value: object, depth: int) -> JsonValue:
    if depth == 0:
        return {"error": f"nested deeper than {DEPTH_MAX} levels; ask for a flatter or smaller part"}
    match value:
        case None | bool():
            return value
        case Enum():
            return _plain(value.value, depth - 1)
        case str():
            return text(value)
        case int():
            return _integer(value)
        case float():
            return _number(value)
        case Decimal() | UUID() | PurePath():
            return text(str(value))
        case datetime() | date() | time():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case bytes() | bytearray() | memoryview():
            return text(bytes(value).decode("utf-8", errors="replace"))
        case _:
            return _container(value, depth - 1)


def _container(value: object, depth: int) -> JsonValue:
    match value:
        case BaseModel():
            return _mapping({name: getattr(value, name) for name in type(value).model_fields}, depth)
        case Mapping():
            return _mapping(value, depth)
        case list() | tuple():
            return [_plain(item, depth) for item in value]
        case set() | frozenset():
            return sorted((_plain(item, depth) for item in value), key=_order)
        case _:
            return _fields(value, depth)


def _fields(value: object, depth: int) -> JsonValue:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _mapping({field.name: getattr(value, field.name) for field in dataclasses.fields(value)}, depth)
    return {"error": _unknown(value)}


def _order(value: JsonValue) -> str:
    return json.dumps(value, sort_keys=True)


def _integer(value: int) -> int | str:
    if abs(value) <= INTEGER_MAX:
        return int(value)
    return str(int(value)) if value.bit_length() <= _DECIMAL_BITS_MAX else hex(value)


def _number(value: float) -> float | str:
    if math.isfinite(value):
        return float(value)
    return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")


def _mapping(value: Mapping[object, object] | Mapping[str, object], depth: int) -> dict[str, JsonValue]:
    result: dict[str, JsonValue] = {}
    items: Iterable[tuple[object, object]] = value.items()
    for key, item in items:
        name = _name(key)
        copies = 1
        while (unique := name if copies == 1 else f"{name}#{copies}") in result:
            copies += 1
        result[unique] = _plain(item, depth)
    return result


def _name(key: object) -> str:
    form = _plain(key, 2)
    return form if isinstance(form, str) else _order(form)


def _unknown(value: object) -> str:
    kind = type(value).__name__
    if isinstance(value, Exception):
        # An exception's text is the author's own words; its representation may hold an address in memory.
        return f"the tool returned an exception, {describe(value)}"
    return f"the tool returned a value of type {kind}, which has no form in JSON"


def describe(error: BaseException) -> str:
    """An exception in one line, never empty: its class, and its text where it has one. Safe for broken exceptions."""
    try:
        words = shorten(" ".join(text(str(error)).split()), 500)
    except Exception:  # a text that cannot be made must not hide the error itself
        words = ""
    return f"{type(error).__name__}: {words}" if words else type(error).__name__


def shorten(value: str, limit_bytes: int) -> str:
    """The text, cut to at most this many bytes of UTF-8 and never inside a character; "…" shows the cut."""
    raw = text(value).encode()
    if len(raw) <= limit_bytes:
        return raw.decode()
    return raw[: max(0, limit_bytes - 3)].decode(errors="ignore") + "…"


def cap(value: JsonValue, limit_bytes: int, *, total_bytes: int | None = None, cut: bool = False) -> JsonValue:
    """The value itself, or where its JSON is larger than the limit, the beginning of it as text with a marker at its end.

    `cut`: the value is itself only a beginning, of `total_bytes` where that is known. The result's JSON keeps to the limit.
    """
    written = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    size = len(written.encode())
    if size <= limit_bytes and not cut:
        return value
    whole = value if isinstance(value, str) else written
    total = f"{size if total_bytes is None else total_bytes:,} bytes"
    more = "more than " if cut and total_bytes is None else ""
    marker = f"… [cut here: {more}{total} in all. Ask for less: one item, a filter, a page or fewer fields.]"
    room = limit_bytes - len(marker.encode()) - 2
    return _fit(whole, max(0, room)) + marker


def _fit(whole: str, room_bytes: int) -> str:
    """The longest beginning whose JSON form has at most this many bytes: quotes and line breaks count double there."""
    used = 0
    for position, character in enumerate(whole):
        used += len(json.dumps(character, ensure_ascii=False).encode()) - 2
        if used > room_bytes:
            return whole[:position]
    return whole
