"""What a mock does to a request in the end: answer it, cut the connection, or hang. Pure data.

Rule: the set is closed, so every sender handles all three. It must not know aiohttp.
"""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

JSON_TYPE = "application/json"


def _decodable(text: str) -> str:
    base64.b64decode(text, validate=True)
    return text


HttpStatus = Annotated[int, Field(ge=200, le=599)]
Base64Text = Annotated[str, AfterValidator(_decodable)]


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP answer. `trickle_bytes_per_s` slows the body down; headers come first, then body, at that rate."""

    status: int
    body: bytes
    headers: tuple[tuple[str, str], ...] = (("Content-Type", JSON_TYPE),)
    trickle_bytes_per_s: int | None = None

    def with_header(self, name: str, value: str) -> "Answer":
        """The same answer with one header more."""
        return replace(self, headers=(*self.headers, (name, value)))


@dataclass(frozen=True, slots=True)
class Cut:
    """The connection is closed and no answer leaves."""


@dataclass(frozen=True, slots=True)
class Hang:
    """The connection stays open and no answer ever leaves."""


Reaction = Answer | Cut | Hang


class RawAnswer(BaseModel):
    """An answer written out by hand: `body` as text or as a JSON value, or `body_base64` for bytes that are neither."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    status: HttpStatus = 200
    headers: dict[str, str] = {}
    body: Any = None
    body_base64: Base64Text | None = None

    def to_answer(self) -> Answer:
        """The bytes and headers to send; a JSON body gets its content type unless the headers name one."""
        return raw_answer(self.status, self.headers, self.body, self.body_base64)


def raw_answer(status: int, headers: Mapping[str, str], body: Any, body_base64: str | None = None) -> Answer:
    """Build an answer from hand-written parts. Raises ValueError where `body_base64` is not base64."""
    fixed = dict(headers)
    if body_base64 is not None:
        content = base64.b64decode(body_base64, validate=True)
    elif body is None:
        content = b""
    elif isinstance(body, str):
        content = body.encode("utf-8", "surrogatepass")
    else:
        content = json.dumps(body).encode()
    if "content-type" not in {name.lower() for name in fixed}:
        fixed["Content-Type"] = JSON_TYPE
    return Answer(status, content, tuple(fixed.items()))


def json_answer(status: int, value: Any, headers: tuple[tuple[str, str], ...] = ()) -> Answer:
    """An answer with a JSON body."""
    return Answer(status, json.dumps(value).encode(), (("Content-Type", JSON_TYPE), *headers))


def error_answer(status: int, code: str, message: str, headers: tuple[tuple[str, str], ...] = ()) -> Answer:
    """The receiver's one shape of error: `{"error": {"code", "message"}}`."""
    return json_answer(status, {"error": {"code": code, "message": message}}, headers)
