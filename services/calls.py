"""Judging a reply: is it in order, and what becomes of each of its calls. Pure.

Rule: a call is run with arguments that are an object and that the tool has checked, or it is answered with a sentence
that says what to do. What cannot be read costs its own call only; a reply that was cut off costs all of its calls.

| call                                                    | what happens                                        |
| ------------------------------------------------------- | --------------------------------------------------- |
| in a reply that was cut off                             | not run: cut off, issue it again, shorter           |
| beyond the calls that one reply may make                | not run: issue it again in the next                 |
| no such name: empty, other case, removed                | not run: no such tool; available: …                 |
| arguments larger than allowed                           | not run: the size allowed and a preview             |
| arguments that are no JSON                              | not run: the parser's words and a preview           |
| arguments that are JSON but no object                   | not run: what they are and a preview                |
| arguments absent, null, empty or white space            | the empty object, checked like any other            |
| arguments that the tool refuses                         | not run: the tool's sentence                        |
| maybe cut off, and the tool changes something           | not run: may be cut off, issue it again, shorter    |
| maybe cut off, and the tool only reads                  | run                                                 |
| the same as another of the turn                         | run: what to do about it is the ledger's decision   |

A call may be cut off where as many tokens came as were allowed although the provider says that the reply is whole.
The text `null` counts as an empty object for a tool without parameters, and as no object for any other.
Must not know: limits of the whole run, Restate, the ledger.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from pydantic import JsonValue

from services.limits import Limits
from services.reply import RawCall, Reading, preview
from services.transcript import Cut, Replied, Transcript
from tools.effect import POLICIES
from tools.size import shorten
from tools.tool import Tool

CUT_TEXT: Final = "not run: your reply was cut off. Issue the call again, shorter, or with fewer calls in one reply."
MAY_BE_CUT_TEXT: Final = (
    "not run: your reply used all the tokens that it may have, so the call may be cut off. Issue it again, shorter."
)
# Names of tools in a sentence to the model: enough for some fifty of them.
_NAMES_BYTES = 2_000


class Fault(StrEnum):
    """Why a reply counts as bad."""

    CUT = "cut off"
    ARGUMENTS = "arguments that are no object"
    NO_CALL = "a call announced and none made"
    EMPTY = "neither text nor calls"


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


def bad_streak(transcript: Transcript, toolset: Mapping[str, Tool], limits: Limits) -> tuple[Fault, ...]:
    """What was wrong with the newest replies, newest first, back to the first that was in order."""
    faults: list[Fault] = []
    for entry in reversed(transcript.entries):
        if isinstance(entry, Replied):
            fault = fault_of(entry, toolset, limits)
            if fault is None:
                break
            faults.append(fault)
    return tuple(faults)


def fault_of(reply: Replied, toolset: Mapping[str, Tool], limits: Limits) -> Fault | None:
    """Why a reply is bad; None where it is in order. An unknown tool or a refused argument is no fault of the reply."""
    reading = reply.reading
    if is_cut(reply, reading, limits):
        return Fault.CUT
    if reading.calls:
        if any(_doubtful(call, reply, toolset) for call in reading.calls):
            return Fault.CUT
        return Fault.ARGUMENTS if any(_unreadable(call, toolset, limits) for call in reading.calls) else None
    if not reading.text.strip():
        return Fault.EMPTY
    return Fault.NO_CALL if reply.finish_reason in ("tool_calls", "function_call") else None


def is_cut(reply: Replied, reading: Reading, limits: Limits) -> bool:
    """The reply was cut off: the provider says so, or its last call stops inside a value (and is no flood of text)."""
    if reply.cut is Cut.YES or not reading.calls:
        return reply.cut is Cut.YES
    last = reading.calls[-1]
    return last.stops and len(last.text.encode()) <= limits.arguments_bytes


def judged(reply: Replied, ids: tuple[str, ...], toolset: Mapping[str, Tool], limits: Limits) -> tuple[Call, ...]:
    """The calls of a reply, each with its arguments or its problem; `ids` are what the history calls them."""
    reading = reply.reading
    cut = is_cut(reply, reading, limits)
    calls = []
    for index, raw in enumerate(reading.calls):
        verdict = CUT_TEXT if cut else _verdict(index, raw, reply, toolset, limits)
        arguments, problem = (verdict, None) if isinstance(verdict, dict) else (None, f"{_shown(raw)}: {verdict}")
        calls.append(Call(reply.turn, index, ids[index], raw.name, arguments, problem))
    return tuple(calls)


def _shown(raw: RawCall) -> str:
    return preview(raw.name) or "call without a name"


def _verdict(
    index: int, raw: RawCall, reply: Replied, toolset: Mapping[str, Tool], limits: Limits
) -> dict[str, JsonValue] | str:
    """The checked arguments, or the sentence that answers the call instead."""
    if index >= limits.calls_per_turn:
        return f"not run: one reply may make {limits.calls_per_turn} calls. Issue it again in the next."
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
    if len(raw.text.encode()) > limits.arguments_bytes:
        return f"the arguments are larger than the {limits.arguments_bytes:,} bytes allowed: {preview(raw.text)}"
    tool = toolset.get(raw.name)
    if raw.empty and tool is not None and not tool.schema.get("properties"):
        return None
    return raw.fault


def _doubtful(raw: RawCall, reply: Replied, toolset: Mapping[str, Tool]) -> bool:
    """As many tokens came as were allowed, and the call would change something."""
    tool = toolset.get(raw.name)
    return reply.cut is Cut.MAYBE and tool is not None and POLICIES[tool.effect].changes
