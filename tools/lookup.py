"""How to ask a receiver whether an effect happened.

Rule: an answer counts only where it is about this very key. An API that does not know a query parameter often ignores
it and lists everything, so whatever names another key or reference is not ours.
Must not know: when it is safe to believe "not found" (that depends on deadlines, which the caller keeps).
"""

from collections.abc import Callable
from dataclasses import dataclass

from pydantic import JsonValue

from tools.outcome import Done, Doubt, Found, NotFound, Unknown
from tools.reply import Reply
from tools.request import Request, get
from tools.status import receiver_id


@dataclass(frozen=True, slots=True)
class Lookup:
    """`build(key, **arguments)` gives the GET; `judge(reply)` reads a 2xx or a 404, and finds the key in
    `reply.key`."""

    build: Callable[..., Request]
    judge: Callable[[Reply], Found]


def find_by_key(path: str) -> Lookup:
    """`GET {path}?key=…` answers `{"data": [objects]}`."""
    return _listing(path, "key")


def find_by_reference(path: str) -> Lookup:
    """`GET {path}?reference=…` answers `{"data": [objects]}`; the tool sends the key as the object's reference."""
    return _listing(path, "reference")


def _listing(path: str, parameter: str) -> Lookup:
    def build(key: str, **_: object) -> Request:
        return get(path, **{parameter: key})

    def judge(reply: Reply) -> Found:
        match reply:
            case Reply(status=200, body={"data": list(rows)}):
                for row in rows:
                    if _ours(row, reply.key):
                        return Done(row, receiver_id(row))
                return NotFound(f"the receiver has no object with the {parameter} {reply.key}")
            case _:
                words = f"the look-up was answered with HTTP {reply.status} and no list of objects"
                return Unknown(words, Doubt.JUDGED)

    return Lookup(build, judge)


def _ours(row: JsonValue, key: str | None) -> bool:
    match row:
        case {"key": str(named)} | {"reference": str(named)}:
            return named == key
        case _:
            return isinstance(row, dict)
