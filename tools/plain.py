"""The border: any Python value becomes plain JSON.

Rule: it never fails and depends on nothing but the value, so the first run and a replay see the same text. What JSON
has no word for is written like this:

Decimal, UUID, path            its text
date, time, datetime           ISO 8601; a timedelta is its seconds
bytes                          UTF-8 text, each invalid byte as U+FFFD
member of an Enum              its value
tuple, set, frozenset          a list; a set is sorted by its members' JSON, so that its order is always the same
mapping                        an object; a key that is not text becomes its JSON; a second such key gets "#2"
dataclass, pydantic model      an object of its fields
NaN, Infinity                  the texts "NaN", "Infinity", "-Infinity" (1e400 reads as Infinity)
integer beyond 2**53           its decimal text: many readers of JSON would round the number
NUL, lone surrogate            U+FFFD
nested deeper than 32          {"error": "…"}, which also ends a value that contains itself
anything else                  {"error": "…"} that names the type: generators, open files, functions, exceptions

Must not know: tools, HTTP, effects, sizes.
"""

import dataclasses
import json
import math
import re
from collections.abc import Iterable, Mapping
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import TYPE_CHECKING, Any
from uuid import UUID

from pydantic import BaseModel, JsonValue

if TYPE_CHECKING:
    Plain = JsonValue
else:
    # What is kept has been made plain, so it is written and read as it is: of a JsonValue, pydantic would look at each
    # value again, by a call in Python.
    Plain = Any

DEPTH_MAX = 32
# The largest integer that every reader of JSON keeps exactly (RFC 8259, section 6).
INTEGER_MAX = 2**53 - 1
# What code of a tool's author may raise in the middle of ours. A script's habit, sys.exit, must not end the worker.
MISTAKES = (Exception, SystemExit)
# Python refuses to write integers of more than some 14,000 bits as decimal text.
_DECIMAL_BITS_MAX = 10_000
# NUL ends a string in C and many databases refuse it; a lone surrogate cannot be written as UTF-8.
_UNWRITABLE = re.compile("[\x00\ud800-\udfff]")
_REPLACEMENT = "\ufffd"
_WORDS_CHARACTERS_MAX = 500


def plain(value: object) -> JsonValue:
    """The value as plain JSON, by the rules above."""
    try:
        return _plain(value, DEPTH_MAX)
    except BaseException as error:  # noqa: BLE001  a value with code of its own can raise anything, and an effect may be behind it
        return {"error": f"the value of type {type(value).__name__} could not be read, {describe(error)}"}


def text(value: str) -> str:
    """The text without what cannot be stored or sent."""
    return _UNWRITABLE.sub(_REPLACEMENT, str.__str__(value))


def describe(error: BaseException) -> str:
    """An exception in one line, never empty: its class, and its text where it has one."""
    try:
        words = " ".join(text(str(error)).split())[:_WORDS_CHARACTERS_MAX]
    except Exception:  # noqa: BLE001  a text that cannot be made must not hide the error itself
        words = ""
    return f"{type(error).__name__}: {words}" if words else type(error).__name__


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
        case list() | tuple():
            return [_plain(item, depth - 1) for item in value]
        case set() | frozenset():
            return sorted((_plain(item, depth - 1) for item in value), key=_written)
        case Mapping():
            return _object(value.items(), depth - 1)
        case _:
            return _scalar(value, depth)


def _scalar(value: object, depth: int) -> JsonValue:
    match value:
        case Decimal() | UUID() | PurePath():
            return text(str(value))
        case date() | time():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case bytes() | bytearray() | memoryview():
            return text(bytes(value).decode("utf-8", errors="replace"))
        case BaseModel():
            fields = [(name, getattr(value, name)) for name in type(value).model_fields]
            return _object([*fields, *(value.model_extra or {}).items()], depth - 1)
        case Exception():
            return {"error": f"the tool returned an exception, {describe(value)}"}
        case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return _object([(field.name, getattr(value, field.name)) for field in dataclasses.fields(value)], depth - 1)
        case _:
            return {"error": f"the tool returned a value of type {type(value).__name__}, which has no form in JSON"}


def _integer(value: int) -> int | str:
    if abs(value) <= INTEGER_MAX:
        return int(value)
    return str(int(value)) if value.bit_length() <= _DECIMAL_BITS_MAX else hex(value)


def _number(value: float) -> float | str:
    if math.isfinite(value):
        return float(value)
    return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")


def _object(items: Iterable[tuple[object, object]], depth: int) -> dict[str, JsonValue]:
    result: dict[str, JsonValue] = {}
    for key, item in items:
        name = _name(key)
        copies = 1
        while (unique := name if copies == 1 else f"{name}#{copies}") in result:
            copies += 1
        result[unique] = _plain(item, depth)
    return result


def _name(key: object) -> str:
    form = _plain(key, DEPTH_MAX)
    return form if isinstance(form, str) else _written(form)


def _written(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
