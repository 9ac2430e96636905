"""What a receiver answered: status, headers and a body that is already plain JSON or text.

Rule: reading never fails. A body that is not JSON is text, bytes that are not UTF-8 become U+FFFD, a wait that makes
no sense is no wait. Must not know: what an answer means for an intent (that is the status table), the HTTP client.
"""

import codecs
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime

from pydantic import JsonValue

from tools.plain import plain
from tools.words import LABEL_BYTES_MAX, line

REPLAYED_HEADERS = ("idempotency-replayed", "idempotent-replayed")
# Of a receiver's own words that go on to a person or the model.
MESSAGE_BYTES_MAX = 1_000
# A longer integer is kept as text: Python itself refuses to convert very long ones.
_INTEGER_DIGITS_MAX = 300
_NUMBER = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer. Names of headers are in lower case; `body` is text where it is not JSON or was cut."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: JsonValue = None
    replayed: bool = False
    """The receiver says that this is its stored answer to an earlier request with the same key."""
    truncated: bool = False
    """The body was longer than the limit; `body` is its beginning, as text."""
    key: str | None = None
    """The key that the request was about, so that a look-up can compare it with what it reads."""


@dataclass(frozen=True, slots=True)
class Problem:
    """What the receiver says is wrong: a code and a type for programs, a message for people. Each is one short line,
    and empty where it does not say."""

    code: str = ""
    type: str = ""
    message: str = ""


def read(status: int, headers: Mapping[str, str], raw: bytes, *, truncated: bool, key: str | None) -> Reply:
    """The reply that these bytes are."""
    replayed = any(headers.get(name, "").strip().lower() == "true" for name in REPLAYED_HEADERS)
    # A decoder that waits for more leaves out a character that was cut in two.
    words = codecs.getincrementaldecoder("utf-8")("replace").decode(raw, final=not truncated)
    body = plain(words) if truncated else _body(words)
    return Reply(status, headers, body, replayed, truncated, key)


def _body(words: str) -> JsonValue:
    if not words.strip():
        return None
    try:
        return plain(json.loads(words.removeprefix("\ufeff"), parse_int=_integer))
    except (ValueError, RecursionError):
        return plain(words)


def _integer(digits: str) -> int | str:
    return int(digits) if len(digits) <= _INTEGER_DIGITS_MAX else digits


def problem(reply: Reply) -> Problem:
    """The error in a body of one of the usual shapes: {"error": {…}}, {"error": "…"}, RFC 9457, {"message": …},
    text."""
    match reply.body:
        case {"error": dict(error)}:
            return _problem(error)
        case {"error": str(message)}:
            return Problem(message=line(message, MESSAGE_BYTES_MAX))
        case dict(body):
            return _problem(body)
        case str(message):
            return Problem(message=line(message, MESSAGE_BYTES_MAX))
        case _:
            return Problem()


def _problem(error: Mapping[str, JsonValue]) -> Problem:
    message = line(_first(error, "message", "detail", "error_description", "title"), MESSAGE_BYTES_MAX)
    code, kind = _first(error, "code"), _first(error, "type")
    return Problem(line(code, LABEL_BYTES_MAX), line(kind, LABEL_BYTES_MAX), message)


def _first(error: Mapping[str, JsonValue], *names: str) -> str:
    for name in names:
        match error.get(name):
            case str(value) if value.strip():
                return value.strip()
            case int(value) if not isinstance(value, bool):
                return str(value)
            case _:
                pass
    return ""


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """How long the receiver asks to wait, in seconds; None where it does not say or says nonsense.

    Zero, negative and past count as nonsense: our own back-off is the better answer to them. A date is compared with
    the reply's own `Date`, so no clock of ours is involved.
    """
    milliseconds = headers.get("retry-after-ms", "").strip()
    if _NUMBER.fullmatch(milliseconds):
        return float(milliseconds) / 1000 or None
    value = headers.get("retry-after", "").strip()
    if _NUMBER.fullmatch(value):
        return float(value) or None
    try:
        wait_s = (parsedate_to_datetime(value) - parsedate_to_datetime(headers.get("date", ""))).total_seconds()
    except (ValueError, TypeError, OverflowError):
        return None
    return wait_s if wait_s > 0 else None
