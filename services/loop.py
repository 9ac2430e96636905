"""The decision core: what is next, given all that was said. The handler only obeys.

Rule: a synchronous pure function of journalled values; each shape of reply is handled as a value. The first row that
fits decides. Replies marked *bad* are counted; one that is in order starts the count anew. A reply is cut off where
its finish reason says so, or where the arguments of its last call stop inside a value.

| reply                                                   | decision                                            |
| ------------------------------------------------------- | --------------------------------------------------- |
| `refusal` is set                                        | Refuse with its text                                |
| the provider's filter stopped it                        | Refuse with the text so far                         |
| the third bad one in a row, all of them cut off         | GiveUp output_truncated                             |
| the third bad one in a row                              | GiveUp model_output_invalid                         |
| more calls than the run has left                        | GiveUp max_calls, or AskMore                        |
| calls, cut off                                          | CallTools, none of them run; *bad*                  |
| calls, one of them no object, too large, maybe cut off  | CallTools, that one not run; *bad*                  |
| other calls                                             | CallTools, each judged by itself: `services.calls`  |
| text, cut off                                           | CallModel, with a note to be shorter; *bad*         |
| text, but its finish reason announces calls             | CallModel, with a note; *bad*                       |
| other text                                              | Finish                                              |
| neither text nor calls, reasoning or not                | CallModel, the same request again; *bad*            |

Where CallModel is next and a limit is reached, it is GiveUp or AskMore instead. What never was a reply (an error of the
server, an answer without a choice) does not come here: see `services.exchange` and `services.patience`.
Must not know: Restate, HTTP, keys, the ledger.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import assert_never

from pydantic import JsonValue

from services.calls import Call, Fault, bad_streak, judged
from services.limits import REASONS, Limits, allowed, reached
from services.provider import Provider
from services.raw import beyond_text
from services.reason import Limit, Reason
from services.reply import cap_text
from services.transcript import Answered, Replied, Told, Transcript
from tools.tool import Tool

__all__ = [
    "AskMore",
    "Call",
    "CallModel",
    "CallTools",
    "Decision",
    "Finish",
    "GiveUp",
    "Limit",
    "Reason",
    "Refuse",
    "decide",
]


@dataclass(frozen=True, slots=True)
class CallModel:
    """Ask for the reply of this turn; turns count from 1."""

    turn: int


@dataclass(frozen=True, slots=True)
class CallTools:
    """Answer these calls, all of them, in this order."""

    turn: int
    calls: tuple[Call, ...]


@dataclass(frozen=True, slots=True)
class Finish:
    """The task is done, and this is the answer. `message` is the reply that it is from, where it holds more."""

    answer: str
    message: dict[str, JsonValue] | None = None


@dataclass(frozen=True, slots=True)
class Refuse:
    """The model or its provider refuses the task; asking again would be paid for and refused again."""

    text: str


@dataclass(frozen=True, slots=True)
class GiveUp:
    """The run cannot go on. `text` is a sentence for a person."""

    reason: Reason
    text: str


@dataclass(frozen=True, slots=True)
class AskMore:
    """A limit is reached and a person may extend it (an `Extended` entry)."""

    limit: Limit
    used: float
    allowed: float


Decision = CallModel | CallTools | Finish | Refuse | GiveUp | AskMore


def decide(transcript: Transcript, toolset: Mapping[str, Tool], limits: Limits, provider: Provider) -> Decision:
    """What is next."""
    last = transcript.last
    match last:
        case Replied():
            return _after_reply(last, transcript, toolset, limits, provider)
        case Told() | Answered() | None:
            return _next_turn(transcript, limits, provider)
        case _:
            assert_never(last)


def _after_reply(
    reply: Replied, transcript: Transcript, toolset: Mapping[str, Tool], limits: Limits, provider: Provider
) -> Decision:
    reading = reply.reading
    if reading.refusal:
        return Refuse(cap_text(reading.refusal, limits.answer_bytes))
    if reply.filtered:
        words = f" It had said: {reading.text}" if reading.text.strip() else ""
        return Refuse(cap_text(f"The provider's content filter stopped the reply.{words}", limits.answer_bytes))
    streak = bad_streak(transcript, toolset, limits)
    if len(streak) >= limits.bad_turns:
        return _hopeless(streak)
    if reading.calls:
        most = allowed(transcript, limits)[Limit.CALLS]
        wanted = transcript.tally.calls + len(reading.calls)
        if wanted > most:
            return _at_limit(Limit.CALLS, wanted, most, limits)
        return CallTools(reply.turn, judged(reply, transcript.ids.of[-1], toolset, limits))
    if streak:
        return _next_turn(transcript, limits, provider)
    return Finish(cap_text(reading.text, limits.answer_bytes), beyond_text(reply.raw))


def _next_turn(transcript: Transcript, limits: Limits, provider: Provider) -> Decision:
    at = reached(transcript, limits, provider)
    return CallModel(transcript.tally.turns + 1) if at is None else _at_limit(*at, limits)


def _at_limit(limit: Limit, used: float, most: float, limits: Limits) -> Decision:
    if limits.on_limit == "ask":
        return AskMore(limit, used, most)
    return GiveUp(REASONS[limit], f"the limit of {limit.value} is {most:g} and {used:g} are used or asked for")


def _hopeless(streak: tuple[Fault, ...]) -> GiveUp:
    cut = all(fault is Fault.CUT for fault in streak)
    reason = Reason.OUTPUT_TRUNCATED if cut else Reason.MODEL_OUTPUT_INVALID
    return GiveUp(reason, f"{len(streak)} replies in a row could not be used: {', '.join(reversed(streak))}")
