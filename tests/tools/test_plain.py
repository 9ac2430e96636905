"""Any value becomes plain JSON, and the same value the same JSON."""

import json
import subprocess
import sys
from collections import namedtuple
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from pathlib import PurePosixPath
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, SecretStr

from tools.plain import DEPTH_MAX, describe, plain, text


class Colour(Enum):
    RED = "red"


class Level(IntEnum):
    HIGH = 3


class Word(StrEnum):
    A = "a"


class Model(BaseModel):
    model_config = ConfigDict(extra="allow")
    amount: Decimal


@dataclass(frozen=True, slots=True)
class Point:
    x: int
    y: object


Pair = namedtuple("Pair", "a b")  # noqa: PYI024  the untyped one is what old code returns


class Hostile(dict[str, int]):
    def items(self) -> Iterator[tuple[str, int]]:  # type: ignore[override]
        raise RuntimeError("changed while it was read")


@pytest.mark.parametrize(
    "value, form",
    [
        (None, None),
        ("", ""),
        (True, True),
        (5, 5),
        (1.5, 1.5),
        (Decimal("10.00"), "10.00"),
        (Decimal("NaN"), "NaN"),
        (datetime(2026, 11, 29, 17, 0, tzinfo=UTC), "2026-11-29T17:00:00+00:00"),
        (date(2026, 11, 29), "2026-11-29"),
        (time(17, 0), "17:00:00"),
        (timedelta(minutes=1), 60.0),
        (b"a\xff\x00", "a\ufffd\ufffd"),
        (bytearray(b"a"), "a"),
        (memoryview(b"a"), "a"),
        ({3, 1, 2}, [1, 2, 3]),
        (frozenset({"b", "a"}), ["a", "b"]),
        ((1, (2,)), [1, [2]]),
        (Pair(1, 2), [1, 2]),
        ({1: "a"}, {"1": "a"}),
        (
            {1: "a", "1": "b", 1.5: "c", None: "d", False: "e"},
            {"1": "a", "1#2": "b", "1.5": "c", "null": "d", "false": "e"},
        ),
        ({(1, 2): "a"}, {"[1, 2]": "a"}),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (PurePosixPath("/a"), "/a"),
        (Colour.RED, "red"),
        (Level.HIGH, 3),
        (Word.A, "a"),
        (Point(1, {2}), {"x": 1, "y": [2]}),
        (Model.model_validate({"amount": "1.10", "more": 1}), {"amount": "1.10", "more": 1}),
        (float("nan"), "NaN"),
        (float("inf"), "Infinity"),
        (-1e400, "-Infinity"),
        (2**53 - 1, 2**53 - 1),
        (2**53, str(2**53)),
        (-(2**80), str(-(2**80))),
        ("\ud83d", "\ufffd"),
        ("a\x00b", "a\ufffdb"),
        ("\ufffe\u200f\U0001f600", "\ufffe\u200f\U0001f600"),
        ({"\ud83d": 1}, {"\ufffd": 1}),
    ],
)
def test_what_json_has_no_word_for(value: object, form: object) -> None:
    assert plain(value) == form
    json.dumps(plain(value), allow_nan=False).encode()


@pytest.mark.parametrize(
    "value, words",
    [
        ((n for n in range(3)), "type generator"),
        (object(), "type object"),
        (print, "type builtin_function_or_method"),
        (Point, "type type"),
        (SecretStr("hidden"), "type SecretStr"),
        (ValueError("no"), "an exception, ValueError: no"),
        (ValueError(), "an exception, ValueError"),
        (1j, "type complex"),
        (Hostile(a=1), "could not be read, RuntimeError: changed while it was read"),
    ],
)
def test_anything_else_is_an_error_that_names_it(value: object, words: str) -> None:
    form = plain(value)
    assert isinstance(form, dict)
    assert words in str(form["error"])
    assert "0x" not in str(form), "an address in memory differs on replay"


def test_an_error_stays_where_it_is() -> None:
    form = plain({"good": 1, "bad": object()})
    assert isinstance(form, dict)
    assert form["good"] == 1
    assert "error" in str(form["bad"])


def test_a_value_that_contains_itself_ends() -> None:
    loop: list[object] = []
    loop.append(loop)
    assert "nested deeper" in str(plain(loop))
    assert len(str(plain(loop))) < 1000
    deep: object = 1
    for _ in range(100_000):
        deep = [deep]
    assert "nested deeper" in str(plain(deep))
    assert DEPTH_MAX == 32


def test_a_huge_integer_has_a_form() -> None:
    assert plain(2**20_000) == hex(2**20_000)


def test_the_form_does_not_depend_on_the_hash_seed() -> None:
    code = "from tools.plain import plain; print(plain({'a','b','c','d', 1, (2, 'x')}))"
    forms = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, check=True, capture_output=True, text=True
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(forms) == 1


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.uuids()
VALUES = st.recursive(
    SCALARS | st.decimals() | st.datetimes() | st.timedeltas(),
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(SCALARS, inner),
    max_leaves=20,
)


@settings(deadline=None)
@given(VALUES)
def test_the_form_is_json_and_its_own_form(value: object) -> None:
    form = plain(value)
    assert json.loads(json.dumps(form, allow_nan=False)) == form
    json.dumps(form, ensure_ascii=False).encode()
    assert plain(form) == form


@settings(deadline=None)
@given(st.text())
def test_text_can_be_written(value: str) -> None:
    assert "\x00" not in text(value)
    text(value).encode()


def test_an_error_without_words_has_its_class() -> None:
    assert describe(ValueError()) == "ValueError"
    assert describe(ValueError("  a \n b ")) == "ValueError: a b"


def test_an_error_whose_text_cannot_be_made_has_its_class() -> None:
    class SilentError(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    assert describe(SilentError()) == "SilentError"
