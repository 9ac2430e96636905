"""Tools as authors write them who have never heard of a durable step, and tools whose end a test decides.

They do their work themselves, through a client of their own, at a receiver that promises nothing (`/sms`): there every
call that is made leaves an effect, so one that is made twice is seen.
"""

import asyncio
import contextlib
import dataclasses
import datetime as dt
import functools
import json
import os
import sys
import time
import urllib.request
import uuid
from collections.abc import Callable
from decimal import Decimal
from enum import Enum
from typing import Any, NamedTuple

from pydantic import BaseModel, JsonValue

from tools import Tool
from tools.effect import Effect
from tools.request import Request, post
from tools.tool import Approval, Repeat, tool

DEADLINE_S = 5.0


def tell(subject: str) -> None:
    """One effect at the receiver."""
    body = json.dumps({"to": "+491", "text": subject}).encode()
    url = os.environ["PAWL_RECEIVER_URL"] + "/sms"
    request = urllib.request.Request(url, body, {"content-type": "application/json"})
    urllib.request.urlopen(request, timeout=DEADLINE_S).close()


def look(subject: str) -> None:
    """One read at the receiver."""
    urllib.request.urlopen(f"{os.environ['PAWL_RECEIVER_URL']}/orders/{subject}", timeout=DEADLINE_S).close()


def keyed(function: Callable[..., object], **more: Any) -> Tool:
    """As KEYED, which is what repeats: an effect that a failure afterwards brings about again is seen as two."""
    declared: dict[str, Any] = {"key_lifetime_s": 600, "send_deadline_s": DEADLINE_S, "settle_s": 0.5}
    return tool(effect=Effect.KEYED, repeat=Repeat.ALLOW, **{**declared, **more})(function)


# What they return


class Colour(Enum):
    RED = Decimal("1.5")


class Point(NamedTuple):
    x: int
    y: int


@dataclasses.dataclass
class Record:
    at: dt.datetime
    parts: set[str]


class Answer(BaseModel):
    sum: Decimal
    raw: bytes


class Hostile:
    """Nothing about it can be looked at."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(name)


class HostileText(str):
    __slots__ = ()

    def __str__(self) -> str:
        raise ValueError("no text")


class HostileDict(dict[str, Any]):
    def items(self) -> Any:
        raise KeyError("no items")


async def _coroutine() -> int:
    return 1


def _circle() -> list[Any]:
    circle: list[Any] = [1]
    circle.append(circle)
    return circle


def _deep() -> Any:
    deep: Any = 1
    for _ in range(5000):
        deep = [deep]
    return deep


NOON = dt.datetime(2026, 1, 2, 12, 0, tzinfo=dt.UTC)
VALUES: dict[str, Callable[[], object]] = {
    "decimal": lambda: Decimal("10.50"),
    "datetime": lambda: NOON,
    "bytes": lambda: b"\xff\x00abc",
    "set": lambda: {"b", "a", "c"},
    "tuple": lambda: (1, "x"),
    "integer keys": lambda: {1: "a", 2.5: "b", None: "c", (1, 2): "d"},
    "uuid": lambda: uuid.UUID(int=7),
    "dataclass": lambda: Record(NOON, {"y", "x"}),
    "pydantic model": lambda: Answer(sum=Decimal("1.1"), raw=b"raw"),
    "nan": lambda: [float("nan"), float("inf"), -float("inf")],
    "exception": lambda: ValueError("returned, not raised"),
    "generator": lambda: (n for n in range(3)),
    "none": lambda: None,
    "empty text": lambda: "",
    "huge text": lambda: "x" * 5_000_000,
    "huge integer": lambda: 2**80,
    "surrogate": lambda: "a\ud83d\x00b",
    "circle": _circle,
    "depth": _deep,
    "enum": lambda: Colour.RED,
    "named tuple": lambda: Point(1, 2),
    "coroutine": _coroutine,
    "function": lambda: print,
    "class": lambda: Decimal,
    "hostile": Hostile,
    "hostile text": lambda: HostileText("x"),
    "hostile dict": lambda: HostileDict(a=1),
    "complex": lambda: complex(1, 2),
    "ellipsis": lambda: ...,
    "open file": lambda: sys.stderr,
}


def odd(key: str, subject: str, kind: str) -> Any:
    """Make an effect, then return something odd."""
    tell(subject)
    return VALUES[kind]()


# What they raise


class Stop(BaseException):
    pass


class Wordless(Exception):
    pass


RAISED: dict[str, Callable[[], BaseException]] = {
    "wordless": Wordless,
    "value": lambda: ValueError("a mistake"),
    "stop": Stop,
    "keyboard": KeyboardInterrupt,
    "exit": lambda: SystemExit(3),
    "generator exit": GeneratorExit,
    "cancelled": asyncio.CancelledError,
    "recursion": RecursionError,
    "memory": MemoryError,
    "group": lambda: ExceptionGroup("several", [ValueError("one"), KeyError("two")]),
    "base group": lambda: BaseExceptionGroup("several", [Stop()]),
    "stop iteration": lambda: StopIteration(1),
}


def raises(key: str, subject: str, kind: str) -> str:
    """Make an effect, then raise."""
    tell(subject)
    error = RAISED[kind]()
    raise error


def raises_on_read(subject: str, kind: str) -> str:
    """Read, then raise."""
    look(subject)
    error = RAISED[kind]()
    raise error


def times_out_0(subject: str) -> str:
    """Read, and never succeed."""
    look(subject)
    raise TimeoutError


def times_out_1(subject: str) -> str:
    """Read, and never succeed."""
    look(subject)
    raise TimeoutError


def times_out_2(subject: str) -> str:
    """Read, and never succeed."""
    look(subject)
    raise TimeoutError


# What they swallow


def logged(function: Callable[..., Any]) -> Callable[..., Any]:
    """A tracing wrapper that logs whatever is raised and returns None."""

    @functools.wraps(function)
    def wrapper(*positional: Any, **named: Any) -> Any:
        try:
            return function(*positional, **named)
        except BaseException as error:  # noqa: BLE001
            sys.stderr.write(f"traced {type(error)}\n")
            return None

    return wrapper


def swallows_bare(key: str, subject: str) -> str:
    """Make an effect, whatever happens."""
    try:
        tell(subject)
    except:  # noqa: E722
        return "tool failed"
    return "sent"


def swallows_base(key: str, subject: str) -> str:
    """Make an effect, whatever happens."""
    try:
        tell(subject)
    except BaseException as error:  # noqa: BLE001
        return f"tool failed: {error!r}"
    return "sent"


def swallows_in_finally(key: str, subject: str) -> str:
    """Make an effect, whatever happens."""
    try:
        tell(subject)
    finally:
        return "sent"  # noqa: B012


def swallows_with_suppress(key: str, subject: str) -> str:
    """Make an effect, whatever happens."""
    with contextlib.suppress(BaseException):
        tell(subject)
    return "sent"


@logged
def swallows_in_wrapper(key: str, subject: str) -> str:
    """Make an effect, whatever happens."""
    tell(subject)
    return "sent"


async def swallows_its_cancellation(key: str, subject: str, seconds: float) -> str:
    """Make an effect, and go on however often it is told to stop."""
    await asyncio.to_thread(tell, subject)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with contextlib.suppress(BaseException):
            await asyncio.sleep(0.05)
    return "late"


# What they take their time for


def sleeps(key: str, subject: str, seconds: float) -> str:
    """Block, then make an effect."""
    time.sleep(seconds)
    tell(subject)
    return "slept"


async def blocks_in_async(key: str, subject: str, seconds: float) -> str:
    """Block a loop, then make an effect."""
    time.sleep(seconds)  # noqa: ASYNC251
    tell(subject)
    return "blocked"


def sleeps_on_read(subject: str, seconds: float) -> str:
    """Block, then read."""
    time.sleep(seconds)
    look(subject)
    return "read"


# What they build


def charge_with_a_whim(key: str, customer_id: str, amount_cents: int) -> Request:
    """Charge; the bytes are other ones each time they are made."""
    words = {uuid.uuid4().hex, "a", "b", "c", "d"}
    memo = f"{time.time()} {list(words)}"
    body: JsonValue = {
        "customer_id": customer_id,
        "amount_cents": amount_cents,
        "currency": "EUR",
        "reference": key,
        "memo": memo,
    }
    return post("/charges", body)


READING: dict[str, Any] = {"effect": Effect.READ, "send_deadline_s": DEADLINE_S}

SAMPLES: tuple[Tool, ...] = (
    keyed(odd),
    keyed(raises, attempts=2),
    tool(**READING)(raises_on_read),
    tool(**READING, attempts=0)(times_out_0),
    tool(**READING, attempts=1)(times_out_1),
    tool(**READING, attempts=2)(times_out_2),
    *(
        keyed(function, approval=Approval(always=True))
        for function in (
            swallows_bare,
            swallows_base,
            swallows_in_finally,
            swallows_with_suppress,
            swallows_in_wrapper,
        )
    ),
    keyed(swallows_its_cancellation, send_deadline_s=1.0, attempts=1),
    keyed(sleeps),
    keyed(blocks_in_async),
    tool(**READING)(sleeps_on_read),
    keyed(charge_with_a_whim),
)
