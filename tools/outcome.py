"""What an exchange with a receiver means: the closed set of answers.

Rule: three outcomes, never two. Done, Rejected and Unknown are the outcomes of an intent; the other answers say why
there is none yet. An expected failure is one of these values, never an exception.
Must not know: HTTP, Restate, any particular tool.
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal, TypeVar, assert_never

from tools.plain import Plain
from tools.words import identifier, line


class Doubt(StrEnum):
    """Why it is not known whether the effect happened."""

    NO_ANSWER = "no_answer"
    """The request may have arrived and no whole answer came: time-out, cut connection, broken protocol."""
    SERVER_ERROR = "server_error"
    """The receiver answered 5xx, or something that is no answer of its contract."""
    STORED_ERROR = "stored_error"
    """The receiver replays an error that it stored under this key: sending again gets the same for ever."""
    KEY_REUSED = "key_reused"
    """The receiver says that the key came with another body. That is a bug on our side; a person is told."""
    CRASHED = "crashed"
    """The worker that was to send died inside the step; it may or may not have sent."""
    JUDGED = "judged"
    """The tool's own judge could not tell from the body."""


@dataclass(frozen=True, slots=True)
class Done:
    """The effect happened. `value` is what the model is told (plain JSON), `receiver_id` the receiver's name for it."""

    value: Plain = None
    receiver_id: str | None = None
    kind: Literal["done"] = "done"


@dataclass(frozen=True, slots=True)
class Rejected:
    """The receiver refused: nothing happened, and the same request would be refused again."""

    reason: str
    status: int | None = None
    value: Plain = None
    kind: Literal["rejected"] = "rejected"


@dataclass(frozen=True, slots=True)
class Unknown:
    """It may have happened. `reason` is a sentence with the evidence."""

    reason: str
    doubt: Doubt = Doubt.NO_ANSWER
    kind: Literal["unknown"] = "unknown"


@dataclass(frozen=True, slots=True)
class NotSent:
    """It did not happen, provably: the request never left, or was turned away before anybody looked at it (429).

    `retry_after_s`: how long the receiver asked us to wait, None where it did not say.
    `last`: the wait that is asked for will not help within any budget; stop trying.
    """

    reason: str
    retry_after_s: float | None = None
    last: bool = False
    kind: Literal["not_sent"] = "not_sent"


@dataclass(frozen=True, slots=True)
class InFlight:
    """The receiver is still working on an earlier request with the same key: ask again, same key, same bytes."""

    reason: str
    retry_after_s: float | None = None
    kind: Literal["in_flight"] = "in_flight"


@dataclass(frozen=True, slots=True)
class Pending:
    """The receiver has taken it and not finished it: ask by `find` until it has."""

    reason: str
    retry_after_s: float | None = None
    kind: Literal["pending"] = "pending"


@dataclass(frozen=True, slots=True)
class NotFound:
    """A look-up that was answered: the receiver knows of no such effect."""

    reason: str
    kind: Literal["not_found"] = "not_found"


Answer = Done | Rejected | Unknown | NotSent | InFlight | Pending
"""What one exchange of a send yields."""
Found = Done | Rejected | Pending | NotFound | Unknown | NotSent
"""What one exchange of a look-up yields; Unknown and NotSent mean that the look-up did not tell."""

A = TypeVar("A", bound=Answer | Found)


def worded(answer: A) -> A:
    """The same with its texts fit to be kept, whoever wrote them: a receiver, or a tool's judge in its name."""
    match answer:
        case Done():
            return replace(answer, receiver_id=identifier(answer.receiver_id))
        case Rejected() | Unknown() | NotSent() | InFlight() | Pending() | NotFound():
            return replace(answer, reason=line(answer.reason))
        case _:
            assert_never(answer)
