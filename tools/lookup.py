"""How to ask a receiver whether an effect happened.

Rule: an answer counts only where it is about this very key. An API that does not know a query parameter often ignores
it and lists everything, so an object is ours only where it names the key itself, and "not found" is concluded only from
a list that is empty and whole: one with somebody else's objects was not filtered, and ours may be on another page.
Must not know: when it is safe to believe "not found" (that depends on deadlines, which the caller keeps).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from pydantic import JsonValue

from tools.outcome import Done, Doubt, Found, NotFound, Unknown
from tools.reply import Reply
from tools.request import Request, get
from tools.status import receiver_id

NAMED_BY = ("key", "reference")
"""The fields of an object that may name the key it was made with."""
# How APIs say that a list goes on. Where one of these holds anything but null, false or nothing, there is more.
_MORE = ("has_more", "hasMore", "next", "next_page", "next_cursor", "next_page_token", "nextPageToken")

_Whose = Literal["ours", "other", "nobody's", "none"]
ReadObject = Callable[[JsonValue], Found]


@dataclass(frozen=True, slots=True)
class Lookup:
    """`build(key, **arguments)` gives the GET; `judge(reply)` reads a 2xx or a 404, and finds the key in
    `reply.key`."""

    build: Callable[..., Request]
    judge: Callable[[Reply], Found]


def find_by_key(
    path: str,
    *,
    named_by: tuple[str, ...] = NAMED_BY,
    trusts_filter: bool = False,
    read: ReadObject | None = None,
) -> Lookup:
    """`GET {path}?key=…` answers `{"data": [objects]}`.

    `named_by`: the fields of an object in which the receiver gives the key back; one of them must hold it.
    `trusts_filter`: the receiver gives the key back nowhere and is known to refuse or heed the parameter, so an object
    that names no key is taken for ours. Of an API that ignores the parameter that would be anybody's.
    `read`: what our object says. Without it one that is there is Done, whatever it says of itself; an API that keeps
    failed attempts as objects needs one.
    """
    return _listing(path, "key", named_by, trusts_filter, read)


def find_by_reference(
    path: str,
    *,
    named_by: tuple[str, ...] = NAMED_BY,
    trusts_filter: bool = False,
    read: ReadObject | None = None,
) -> Lookup:
    """`GET {path}?reference=…`, otherwise the same; the tool sends the key as the object's reference."""
    return _listing(path, "reference", named_by, trusts_filter, read)


def _listing(
    path: str, parameter: str, named_by: tuple[str, ...], trusts_filter: bool, read: ReadObject | None
) -> Lookup:
    def build(key: str, **_: object) -> Request:
        return get(path, **{parameter: key})

    def judge(reply: Reply) -> Found:
        match reply:
            case Reply(status=200, body={"data": list(rows)}):
                whose = {_whose(row, reply.key, named_by): row for row in reversed(rows)}
                fallback = whose.get("nobody's") if trusts_filter and "other" not in whose else None
                if (row := whose.get("ours", fallback)) is not None:
                    return read(row) if read is not None else Done(row, receiver_id(row))
                return _none_is_ours(whose, _goes_on(reply), f"{parameter} {reply.key}")
            case _:
                words = f"the look-up was answered with HTTP {reply.status} and no list of objects"
                return Unknown(words, Doubt.JUDGED)

    return Lookup(build, judge)


def _whose(row: JsonValue, key: str | None, named_by: tuple[str, ...]) -> _Whose:
    """Whose an object is, by what it names; what is no object is nothing."""
    if not isinstance(row, dict):
        return "none"
    named = [value for name in named_by if (value := row.get(name)) not in (None, "")]
    return "nobody's" if not named else "ours" if key in named else "other"


def _none_is_ours(whose: Mapping[_Whose, JsonValue], goes_on: bool, wanted: str) -> Found:
    if "nobody's" in whose:
        words = f"the look-up for the {wanted} lists an object that does not say which key it was made with"
    elif whose:
        words = f"the look-up for the {wanted} lists what was not asked for, so its list may not hold all"
    elif goes_on:
        words = f"the look-up for the {wanted} was answered with a part of the list only"
    else:
        return NotFound(f"the receiver has no object with the {wanted}")
    return Unknown(words, Doubt.JUDGED)


def _goes_on(reply: Reply) -> bool:
    body = reply.body if isinstance(reply.body, dict) else {}
    return any(body.get(name) for name in _MORE) or 'rel="next"' in reply.headers.get("link", "")
