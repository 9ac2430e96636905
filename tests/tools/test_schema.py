"""From a signature to what the model sees, and the check of what it sends."""

from collections.abc import Callable
from datetime import date
from enum import StrEnum
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field, JsonValue

from tools.effect import Effect
from tools.request import Request, post
from tools.tool import BadArguments, BadDeclaration, Tool, tool


class Unit(StrEnum):
    KILO = "kg"
    POUND = "lb"


class Parcel(BaseModel):
    weight: float
    unit: Unit = Unit.KILO


@tool(effect=Effect.KEYED, key_lifetime_s=60)
def ship(
    key: str,
    parcel: Parcel,
    due: date,
    cents: int,
    notes: Annotated[list[str], Field(max_length=2)] = [],  # noqa: B006  pydantic copies it
    speed: Literal["slow", "fast"] = "slow",
    extra: dict[str, JsonValue] | None = None,
) -> Request:
    """Ship a parcel.

    It leaves on the next day.

    Args:
        parcel: What is shipped.
        due: When it must be there.
        cents: What it may cost,
            in cents.
    """
    if due.year < 2000:
        raise ValueError("the day is long past")
    assert isinstance(parcel, Parcel)
    return post("/parcels", {"weight": parcel.weight, "due": due.isoformat(), "reference": key, "cents": cents})


GOOD: dict[str, JsonValue] = {"parcel": {"weight": 2}, "due": "2026-11-29", "cents": 500}


def refused(**changes: object) -> str:
    got = ship.check({**GOOD, **changes})  # type: ignore[dict-item]
    assert isinstance(got, BadArguments), got
    return got.reason


def test_the_model_sees_names_types_and_descriptions_but_no_key() -> None:
    assert ship.name == "ship"
    assert ship.description == "Ship a parcel.\nIt leaves on the next day."
    properties = ship.schema["properties"]
    assert isinstance(properties, dict)
    assert list(properties) == ["parcel", "due", "cents", "notes", "speed", "extra"]
    assert properties["cents"] == {"type": "integer", "description": "What it may cost,\nin cents."}
    assert properties["due"] == {"type": "string", "format": "date", "description": "When it must be there."}
    assert ship.schema["required"] == ["parcel", "due", "cents"]
    assert ship.schema["additionalProperties"] is False
    assert "title" not in str(ship.schema)


def test_an_argument_called_title_is_kept() -> None:
    @tool(effect=Effect.READ)
    def search(title: str) -> str:
        """Search books."""
        return title

    assert search.schema["properties"] == {"title": {"type": "string"}}


def test_a_tool_without_arguments_has_an_empty_schema() -> None:

    @tool(effect=Effect.READ)
    def list_invoices() -> list[str]:
        """List all invoices."""
        return []

    assert list_invoices.schema == {"type": "object", "properties": {}, "additionalProperties": False}
    assert list_invoices.check({}) == {}
    assert list_invoices.identity == ()
    assert list_invoices.prepare("", {}).body == b"{}"


def test_arguments_come_back_plain_and_complete() -> None:
    assert ship.check(GOOD) == {
        "parcel": {"weight": 2.0, "unit": "kg"},
        "due": "2026-11-29",
        "cents": 500,
        "notes": [],
        "speed": "slow",
        "extra": None,
    }


def test_checked_arguments_check_again_to_themselves() -> None:
    checked = ship.check(GOOD)
    assert isinstance(checked, dict)
    assert ship.check(checked) == checked
    assert ship.prepare("k", checked) == ship.prepare("k", dict(reversed(checked.items())))


@pytest.mark.parametrize("value", ["500", 500.0, 500.5, True, None, [500], "€5"])
def test_money_is_not_guessed(value: object) -> None:
    """100.00 in a field of cents is more likely a wrong unit than a number."""
    assert refused(cents=value).startswith("cents: ")


def test_every_bad_field_is_named_in_one_sentence() -> None:
    got = ship.check({"parcel": {"unit": "st"}, "cents": "5", "speed": "warp", "colour": "red"})
    assert isinstance(got, BadArguments)
    for words in (
        "parcel.weight is missing",
        "parcel.unit: ",
        "due is missing",
        "cents: ",
        "speed: ",
        "colour is not an arg",
    ):
        assert words in got.reason
    assert got.reason.count("\n") == 0


def test_many_problems_are_cut() -> None:
    assert len(refused(**{f"field_{n}": n for n in range(1000)}).encode()) <= 1000


@pytest.mark.parametrize("name", ["key", "idempotency_key", "idempotencyKey", "Idempotency-Key", "x-idempotency-key"])
def test_a_key_that_the_model_made_up_is_dropped(name: str) -> None:
    got = ship.check({**GOOD, name: "mine"})
    assert isinstance(got, dict)
    assert name not in got


def test_poison_in_arguments_is_cleaned_before_it_is_kept() -> None:
    got = ship.check({**GOOD, "notes": ["\ud83d a\x00"], "extra": {"n": float("inf"), "big": 2**80, "\udc00": 1}})
    assert isinstance(got, dict)
    assert got["notes"] == ["\ufffd a\ufffd"]
    assert got["extra"] == {"n": "Infinity", "big": str(2**80), "\ufffd": 1}


def test_what_the_builder_refuses_is_told_before_anything_is_sealed() -> None:
    """The builder's exception would come again on every attempt."""
    assert refused(due="1999-01-01") == "ship cannot be called like this, ValueError: the day is long past."


def test_unchecked_arguments_are_a_bug() -> None:
    with pytest.raises(ValueError, match="was not checked: cents is missing"):
        ship.prepare("k", {"parcel": {"weight": 1}, "due": "2026-11-29"})


def test_the_builder_gets_typed_values() -> None:
    assert ship.prepare("k", GOOD).body == b'{"cents":500,"due":"2026-11-29","reference":"k","weight":2.0}'


def test_identity_is_in_the_order_of_the_declaration() -> None:
    @tool(effect=Effect.SET, identity=("b", "a"))
    def write(a: int, b: int, memo: str = "") -> Request:
        """Write."""
        return post("/x", {"a": a, "b": b, "memo": memo})

    assert list(write.identify({"a": 1, "b": 2, "memo": "x"}).items()) == [("b", 2), ("a", 1)]


def declare(function: Callable[..., object]) -> Tool:
    return tool(effect=Effect.READ)(function)


def test_a_signature_that_cannot_be_described_is_refused() -> None:
    def silent(a: int) -> int:
        return a

    def untyped(a) -> int:  # type: ignore[no-untyped-def]
        """Doc."""
        return int(a)

    def many(*a: int) -> int:
        """Doc."""
        return sum(a)

    def more(**a: int) -> int:
        """Doc."""
        return len(a)

    def unnamed(a: int, /) -> int:
        """Doc."""
        return a

    def unknown(a: "Nowhere") -> int:  # type: ignore[name-defined]  # noqa: F821
        """Doc."""
        return 1

    def formless(a: Callable[[], int]) -> int:
        """Doc."""
        return 1

    def stale(a: int) -> int:
        """Doc.

        Args:
            b: Gone.
        """
        return a

    cases: list[tuple[Callable[..., object], str]] = [
        (silent, "silent has no docstring"),
        (untyped, "untyped: the parameter 'a' has no type annotation."),
        (many, "many: the parameter '*a: int' cannot be described to the model; name each argument."),
        (more, "more: the parameter '**a: int' cannot"),
        (unnamed, "unnamed: the parameter 'a: int' cannot"),
        (unknown, "unknown: an annotation cannot be read: name 'Nowhere' is not defined."),
        (formless, "formless: its arguments have no JSON schema: "),
        (stale, "stale: the docstring describes b, which the function does not take."),
    ]
    for function, words in cases:
        with pytest.raises(BadDeclaration) as caught:
            declare(function)
        assert str(caught.value).startswith(words)
        assert str(caught.value).endswith(".")
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["key", "idempotency_key", "idempotencyKey", "x_idempotency_key", "KEY"])
def test_a_parameter_that_shows_the_key_to_the_model_is_refused(name: str) -> None:
    scope: dict[str, Callable[..., object]] = {}
    exec(f"def pay(cents: int, {name}: str) -> int:\n    'Pay.'\n    return 1", scope)
    with pytest.raises(
        BadDeclaration, match=rf"pay: the model would see the parameter '{name}'; a tool takes its key as"
    ):
        declare(scope["pay"])


def test_a_key_that_is_no_text_is_refused() -> None:
    def pay(key: int) -> int:
        """Pay."""
        return key

    with pytest.raises(BadDeclaration, match="must be declared as `key: str`"):
        declare(pay)
