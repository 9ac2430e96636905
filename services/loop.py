"""The decision core: what is next, given all that was said. The handler only obeys.

Rule: a synchronous pure function of journalled values; each shape of reply is handled here as a value. The first row
that fits decides:

| reply                                                  | decision                                                   |
| ------------------------------------------------------ | ---------------------------------------------------------- |
| `refusal` set, with or without calls                   | Refuse with its text                                       |
| stopped by the provider's content filter               | Refuse with the text so far                                |
| a third bad reply in a row (marked *bad* below)        | GiveUp: output_truncated if all were cut off, otherwise    |
|                                                        | model_output_invalid                                       |
| calls, and the reply was cut off (finish reason, or    | CallTools, each call answered "cut off", none run; *bad*   |
| the last call's arguments stop inside a value)         |                                                            |
| calls, more than the run has left                      | GiveUp max_calls, or AskMore                               |
| calls                                                  | CallTools, each call judged by itself (below)              |
| text, cut off                                          | CallModel again, with a note to be shorter; *bad*          |
| text, and the finish reason speaks of calls            | CallModel again; *bad*                                     |
| text                                                   | Finish                                                     |
| nothing but white space or reasoning                   | CallModel again; *bad*                                     |

| call                                                   | what happens                                               |
| ------------------------------------------------------ | ---------------------------------------------------------- |
| beyond the calls that one turn may make                | not run: one sentence                                      |
| no such name (empty, other case, removed)              | not run: "no such tool; available: …"                      |
| arguments larger than allowed                          | not run: one sentence and a preview; *bad*                 |
| arguments that are no JSON, or no object               | not run: the fault and a preview; *bad*                    |
| arguments absent, null, empty                          | the empty object, checked like any other                   |
| arguments that the tool's schema refuses               | not run: the schema's sentence                             |
| as many tokens came as were allowed, tool changes      | not run: "may be cut off"; *bad*. A tool that only reads   |
| something                                              | runs                                                       |
| anything else                                          | run, also twice the same in one turn: the ledger decides   |

Where no reply is due for judgement, another turn is asked for, unless a limit is reached: GiveUp or AskMore.
Must not know: Restate, HTTP, keys, the ledger.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, assert_never

from pydantic import JsonValue

from services.history import call_ids
from services.limits import REASONS, Limit, Limits, allowed, reached
from services.provider import Provider
from services.reason import Reason
from services.reply import RawCall, Reading, cap_text, preview, read
from services.transcript import Answered, Cut, Replied, Told, Transcript
from tools.effect import POLICIES
from tools.plain import shorten
from tools.tool import Tool

CUT_TEXT: Final = "not run: your reply was cut off. Issue the call again, shorter, or with fewer calls in one reply."
MAY_BE_CUT_TEXT: Final = (
    "not run: your reply used all the tokens that it may have, so the call may be cut off. Issue it again, shorter."
)
# Names of tools in a sentence to the model: enough for some fifty of them.
_NAMES_BYTES = 2_000


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a turn, numbered from 0. `id` is unique in the run; it is what the model sees again.

    With `problem` the call is not run and the problem is its answer; otherwise `arguments` are checked and complete.
    """

    turn: int
    index: int
    id: str
    name: str
    arguments: dict[str, JsonValue] | None
    problem: str | None


@dataclass(frozen=True, slots=True)
class CallModel:
    """Ask for the reply of this turn."""

    turn: int


@dataclass(frozen=True, slots=True)
class CallTools:
    """Answer these calls, all of them, in this order."""

    turn: int
    calls: tuple[Call, ...]


@dataclass(frozen=True, slots=True)
class Finish:
    answer: str


@dataclass(frozen=True, slots=True)
class Refuse:
    """The model or its provider refuses the task; asking again would be paid for and refused again."""

    text: str


@dataclass(frozen=True, slots=True)
class GiveUp:
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
            return _judge(last, transcript, toolset, limits, provider)
        case Told() | Answered() | None:
            return _next_turn(transcript, limits, provider)
        case _:
            assert_never(last)


def _next_turn(transcript: Transcript, limits: Limits, provider: Provider) -> Decision:
    at = reached(transcript, limits, provider)
    return CallModel(transcript.turns + 1) if at is None else _at_limit(*at, limits)


def _at_limit(limit: Limit, used: float, most: float, limits: Limits) -> Decision:
    if limits.on_limit == "ask":
        return AskMore(limit, used, most)
    return GiveUp(REASONS[limit], f"the limit of {limit.value} is {most:g} and {used:g} are used or asked for")


def _judge(
    reply: Replied, transcript: Transcript, toolset: Mapping[str, Tool], limits: Limits, provider: Provider
) -> Decision:
    reading = read(reply.raw)
    if reading.refusal:
        return Refuse(cap_text(reading.refusal, limits.answer_bytes))
    if reply.filtered:
        words = f" It had said: {reading.text}" if reading.text.strip() else ""
        return Refuse(cap_text(f"The provider's content filter stopped the reply.{words}", limits.answer_bytes))
    streak = bad_streak(transcript, toolset, limits)
    if len(streak) >= limits.bad_turns:
        return _hopeless(streak)
    if reading.calls:
        calls = judged_calls(reply, transcript, toolset, limits)
        most = allowed(transcript, limits)[Limit.CALLS]
        wanted = transcript.calls + len(calls)
        return CallTools(reply.turn, calls) if wanted <= most else _at_limit(Limit.CALLS, wanted, most, limits)
    if streak:
        return _next_turn(transcript, limits, provider)
    return Finish(cap_text(reading.text, limits.answer_bytes))


def _hopeless(streak: tuple[str, ...]) -> GiveUp:
    reason = Reason.OUTPUT_TRUNCATED if all(fault == "cut" for fault in streak) else Reason.MODEL_OUTPUT_INVALID
    return GiveUp(reason, f"{len(streak)} replies in a row could not be used: {', '.join(reversed(streak))}")


def bad_streak(transcript: Transcript, toolset: Mapping[str, Tool], limits: Limits) -> tuple[str, ...]:
    """What was wrong with the newest replies, newest first, back to the first that was in order."""
    faults: list[str] = []
    for reply in reversed(transcript.replies):
        fault = fault_of(reply, toolset, limits)
        if fault is None:
            break
        faults.append(fault)
    return tuple(faults)


def fault_of(reply: Replied, toolset: Mapping[str, Tool], limits: Limits) -> str | None:
    """Why a reply is bad: "cut", "arguments", "no call", "empty"; None where it is in order."""
    reading = read(reply.raw)
    if is_cut(reply, reading, limits):
        return "cut"
    if reading.calls:
        if any(_doubtful(call, reply, toolset) for call in reading.calls):
            return "cut"
        return "arguments" if any(_unreadable(call, toolset, limits) for call in reading.calls) else None
    if not reading.text.strip():
        return "empty"
    return "no call" if reply.finish_reason in ("tool_calls", "function_call") else None


def is_cut(reply: Replied, reading: Reading, limits: Limits) -> bool:
    """The reply was cut off: the provider says so, or its last call stops inside a value (and is no flood of text)."""
    if reply.cut is Cut.YES or not reading.calls:
        return reply.cut is Cut.YES
    last = reading.calls[-1]
    return last.stops and len(last.text.encode()) <= limits.arguments_bytes


def judged_calls(
    reply: Replied, transcript: Transcript, toolset: Mapping[str, Tool], limits: Limits
) -> tuple[Call, ...]:
    """The calls of a reply, each with its arguments or its problem."""
    reading = read(reply.raw)
    entries = (*transcript.earlier, *transcript.entries)
    ids = call_ids(entries)[max(position for position, entry in enumerate(entries) if entry is reply)]
    cut = is_cut(reply, reading, limits)
    calls = []
    for index, raw in enumerate(reading.calls):
        name = raw.name or "unnamed"
        if cut:
            judged: dict[str, JsonValue] | str = CUT_TEXT
        elif index >= limits.calls_per_turn:
            judged = f"not run: one reply may make {limits.calls_per_turn} calls. Issue it again in another."
        else:
            judged = _arguments(raw, reply, toolset, limits)
        arguments, problem = (judged, None) if isinstance(judged, dict) else (None, f"{name}: {judged}")
        calls.append(Call(reply.turn, index, ids[index], raw.name, arguments, problem))
    return tuple(calls)


def _arguments(raw: RawCall, reply: Replied, toolset: Mapping[str, Tool], limits: Limits) -> dict[str, JsonValue] | str:
    """The checked arguments, or the sentence that answers the call instead."""
    tool = toolset.get(raw.name)
    if tool is None:
        return f"no such tool; available: {shorten(', '.join(sorted(toolset)), _NAMES_BYTES) or 'none'}"
    fault = _unreadable(raw, toolset, limits)
    if fault is not None:
        return f"not run: {fault}"
    checked = tool.check(raw.arguments or {})
    if not isinstance(checked, dict):
        return f"not run: {checked.reason}"
    return MAY_BE_CUT_TEXT if _doubtful(raw, reply, toolset) else checked


def _unreadable(raw: RawCall, toolset: Mapping[str, Tool], limits: Limits) -> str | None:
    """The sentence about arguments that are no object or too large; None where they can be checked."""
    size = len(raw.text.encode())
    if size > limits.arguments_bytes:
        return f"the arguments have {size:,} bytes, {limits.arguments_bytes:,} are allowed: {preview(raw.text)}"
    tool = toolset.get(raw.name)
    if raw.empty and tool is not None and not tool.schema.get("properties"):
        return None
    return raw.fault


def _doubtful(raw: RawCall, reply: Replied, toolset: Mapping[str, Tool]) -> bool:
    """As many tokens came as were allowed, and the call would change something."""
    tool = toolset.get(raw.name)
    return reply.cut is Cut.MAYBE and tool is not None and POLICIES[tool.effect].changes
