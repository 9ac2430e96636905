"""A refused declaration gives one sentence; an accepted one says how the tool is treated."""

import sys
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from tools.effect import POLICIES, Effect
from tools.lookup import find_by_key
from tools.outcome import Done, Rejected, Unknown
from tools.request import Request, get, post
from tools.tool import ATTEMPTS, Approval, BadArguments, BadDeclaration, Repeat, Tool, registry, tool


def build(key: str, cents: int, currency: str = "EUR", memo: str = "") -> Request:
    """Pay."""
    return post("/pay", {"cents": cents, "currency": currency, "memo": memo, "reference": key})


def keyless(cents: int, memo: str = "") -> Request:
    """Pay."""
    return post("/pay", {"cents": cents, "memo": memo})


def work(key: str, cents: int) -> str:
    """Pay."""
    return f"{key}{cents}"


def read(order: str) -> Request:
    """Read."""
    return get("/orders", id=order)


def code(order: str) -> str:
    """Read."""
    return order


KEYED: dict[str, Any] = {"effect": Effect.KEYED, "key_lifetime_s": 60}
ONCE: dict[str, Any] = {"effect": Effect.ONCE}
SET: dict[str, Any] = {"effect": Effect.SET}
READ: dict[str, Any] = {"effect": Effect.READ}


@pytest.mark.parametrize(
    "function, options, sentence",
    [
        (keyless, KEYED, "a KEYED tool takes its key as its first parameter, `key: str`"),
        (build, {"effect": Effect.KEYED}, "a KEYED tool states how long its receiver remembers a key: key_lifetime_s"),
        (build, {**KEYED, "key_lifetime_s": 10}, "key_lifetime_s must be longer than one send, send_deadline_s"),
        (
            build,
            {**ONCE, "key_lifetime_s": 60},
            "key_lifetime_s has no meaning for ONCE, whose receiver remembers no keys",
        ),
        (
            build,
            {**SET, "key_lifetime_s": 60},
            "key_lifetime_s has no meaning for SET, whose receiver remembers no keys",
        ),
        (build, READ, "a READ tool changes nothing and gets no key"),
        (read, {**READ, "undo": keyless}, "a READ tool changes nothing, so it has no undo, no amount and no find"),
        (
            read,
            {**READ, "find": find_by_key("/x")},
            "a READ tool changes nothing, so it has no undo, no amount and no find",
        ),
        (read, {**READ, "repeat": Repeat.ASK}, "a READ tool may always be repeated, so its repeat is not declared"),
        (
            build,
            {**ONCE, "attempts": 3},
            "attempts has no meaning for ONCE: only a try that provably did not leave is followed by another",
        ),
        (build, {**ONCE, "attempts": 1}, "attempts has no meaning for ONCE: only a try that provably did not leave"),
        (build, {**KEYED, "attempts": -1}, "attempts must not be negative"),
        (build, {**KEYED, "identity": ("cents", "payee")}, "identity names 'payee', which the function does not take"),
        (build, {**KEYED, "identity": ("key",)}, "identity names 'key', which the function does not take"),
        (build, {**KEYED, "identity": ("cents", "cents")}, "identity names an argument twice"),
        (build, {**KEYED, "amount": "sum"}, "amount names 'sum', which the function does not take"),
        (
            build,
            {**KEYED, "amount": "memo"},
            "amount names 'memo', which must be an int: money is counted in the smallest",
        ),
        (build, {**KEYED, "amount": "cents", "currency": "c"}, "currency names 'c', which the function does not take"),
        (build, {**KEYED, "currency": "currency"}, "currency is given without amount"),
        (
            build,
            {**KEYED, "approval": Approval(above=5)},
            "approval is either always, or names an argument and the limit",
        ),
        (build, {**KEYED, "approval": Approval()}, "approval is either always, or names an argument and the limit"),
        (build, {**KEYED, "approval": Approval(argument="cents")}, "approval is either always, or names an argument"),
        (
            build,
            {**KEYED, "approval": Approval(argument="sum", above=5)},
            "approval names 'sum', which the function does not take",
        ),
        (
            build,
            {**KEYED, "approval": Approval(argument="memo", above=5)},
            "approval names 'memo', which must be an int to be above anything",
        ),
        (
            work,
            {**KEYED, "judge": lambda _: Done()},
            "judge reads a receiver's reply, and a function that does the work",
        ),
        (
            code,
            {**READ, "judge": lambda _: Done()},
            "judge reads a receiver's reply, and a function that does the work",
        ),
        (build, {**KEYED, "send_deadline_s": 0}, "send_deadline_s must be above 0"),
        (build, {**KEYED, "send_deadline_s": float("nan")}, "send_deadline_s must be above 0"),
        (build, {**KEYED, "settle_s": -1}, "settle_s must not be negative"),
    ],
)
def test_a_refused_declaration_is_one_sentence(function: Any, options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BadDeclaration) as caught:
        tool(**options)(function)
    text = str(caught.value)
    assert text.startswith(f"{function.__name__}: {sentence}")
    assert text.endswith(".")
    assert "\n" not in text


def test_a_name_that_no_provider_takes_is_refused() -> None:
    scope: dict[str, Any] = {}
    exec(f"def {'x' * 65}(a: int) -> int:\n    'Doc.'\n    return 1", scope)
    with pytest.raises(BadDeclaration, match="at most 64 letters"):
        tool(**READ)(scope["x" * 65])


@pytest.mark.parametrize("attempts, counted", [(None, ATTEMPTS), (0, 1), (1, 1), (2, 2)])
def test_attempts_are_answers_and_there_is_at_least_one(attempts: int | None, counted: int) -> None:
    assert tool(**KEYED, attempts=attempts)(build).attempts == counted


def test_defaults_follow_the_class() -> None:
    assert tool(**KEYED)(build).repeat is Repeat.ASK
    assert tool(**ONCE)(build).repeat is Repeat.ASK
    assert tool(**READ)(read).repeat is Repeat.ALLOW
    assert tool(**KEYED)(build).identity == ("cents", "currency", "memo")
    assert tool(**ONCE)(build).attempts == ATTEMPTS
    assert tool(**SET)(build).takes_key
    assert not tool(**SET)(keyless).takes_key


def test_the_return_annotation_says_who_does_the_work() -> None:
    assert not tool(**KEYED)(build).code
    assert tool(**KEYED)(work).code


def test_a_limit_without_an_argument_is_one_on_the_amount() -> None:
    made = tool(**KEYED, amount="cents", approval=Approval(above=100))(build)
    assert made.approval == Approval(argument="cents", above=100)


def test_two_tools_of_one_name_are_refused() -> None:
    made = tool(**KEYED)(build)
    with pytest.raises(BadDeclaration, match="two tools of the name 'build'"):
        registry((made, made))
    assert registry((made,)) == {"build": made}


def test_a_stale_version_is_confirmed_where_there_is_a_look_up() -> None:
    asks = tool(**SET, find=find_by_key("/x"))(build)
    assert asks.needs_look_up(Rejected("stale", 412))
    assert not asks.needs_look_up(Rejected("no", 409))
    assert not asks.needs_look_up(Unknown("?"))
    assert not tool(**SET)(build).needs_look_up(Rejected("stale", 412))


def test_every_class_has_a_policy() -> None:
    assert set(POLICIES) == set(Effect)


def test_a_tool_cannot_be_changed() -> None:
    made: Tool = tool(**KEYED)(build)
    with pytest.raises(AttributeError):
        made.effect = Effect.READ  # type: ignore[misc]


def test_a_builder_that_ends_its_script_ends_no_worker() -> None:
    def leaves(key: str, name: str) -> Request:
        """Leave."""
        sys.exit(f"no {name}")

    made = tool(effect=Effect.KEYED, key_lifetime_s=60)(leaves)
    refused = made.check({"name": "x"})
    assert isinstance(refused, BadArguments) and "SystemExit: no x" in refused.reason


def test_a_generator_is_refused_because_a_call_of_it_does_nothing() -> None:

    def pages(name: str) -> Iterator[str]:
        """Read pages."""
        yield name

    async def more_pages(name: str) -> AsyncIterator[str]:
        """Read pages."""
        yield name

    for function in (pages, more_pages):
        with pytest.raises(BadDeclaration, match="generator"):
            tool(effect=Effect.READ)(function)
