"""The rows that both mocks serve: the record a checker judges by.

Rule: plain data, nothing else, so that a reader needs no more than this module. Both lists are append-only; `n` counts
from 1 without reuse, in the order of arrival. Times are unix seconds.
"""

from typing import Any, Literal, TypedDict

GatePoint = Literal["arrived", "applied"]


class RequestRow(TypedDict):
    """One business request at the receiver.

    `effect` is the endpoint's name (`charge`, `find_charge`, ...); `key` the `Idempotency-Key` header (of a look-up:
    the key asked for); `reference` the body's or the look-up's; `digest` the sha256 hex of the raw body; `applied` is
    true where this very request applied an effect; `status` is null until the answer leaves, and stays null where none
    did; a status noted in the last moments before a SIGKILL is null again.
    """

    n: int
    effect: str
    key: str | None
    reference: str | None
    digest: str
    applied: bool
    status: int | None
    at: float
    method: str
    path: str


class EffectRow(TypedDict):
    """One effect that the receiver applied; `body` is the request's JSON object, `id` the object that it made."""

    n: int
    effect: str
    id: str
    key: str | None
    reference: str | None
    body: dict[str, Any]
    at: float


class ModelRow(TypedDict):
    """One chat request at the model.

    `script` and `turn` say which reply was chosen (null before that, and where the request was refused); `messages` is
    the length of the history; `digest` the sha256 hex of the raw body; `bytes` its size.
    """

    n: int
    at: float
    script: str | None
    turn: int | None
    status: int | None
    messages: int | None
    digest: str
    bytes: int


class GateRow(TypedDict):
    """A gate: how many requests it has held so far, and whether it was let go."""

    id: str
    held: int
    released: bool
