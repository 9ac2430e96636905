"""Whether every step ends before Restate loses patience with the attempt that it is part of. Pure.

An attempt that has sent nothing for `inactivity_s` is asked to suspend, and is cut off `abort_s` later. A step sends
nothing while it works.

Rule: a tool call ends before the first of the two: asked to suspend in the middle of a turn, an attempt would leave an
effect that may leave only once in doubt without need. A model call ends before both are over: beyond that it would be
cut off and made a second time beside itself.
Must not know: how long anything really takes, where the numbers are set.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from tools.tool import Tool

MARGIN_S = 5.0
"""From a deadline to the record of what came of it: a busy event loop, and the way to the server."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Restate's, with an attempt that sends nothing."""

    inactivity_s: float
    abort_s: float


def longest_s(tool: Tool) -> float:
    """The longest that one call of a tool may take. A tool that is code may wait as long again for a thread."""
    return tool.send_deadline_s * (2 if tool.code else 1)


def fault(timeouts: Timeouts, model_deadline_s: float, tools: Iterable[Tool]) -> str | None:
    """The sentence for deadlines that do not fit, with what to change; None where all do."""
    slowest = max(tools, key=longest_s, default=None)
    if slowest is not None and (needed_s := longest_s(slowest) + MARGIN_S) > timeouts.inactivity_s:
        twice = ", twice for a tool that is code" if slowest.code else ""
        return (
            f"PAWL_INACTIVITY_S is {timeouts.inactivity_s:g}, and a call of {slowest.name} may take"
            f" {longest_s(slowest):g} s (its send_deadline_s{twice}): set PAWL_INACTIVITY_S to {needed_s:g} or more,"
            f" or lower the tool's send_deadline_s."
        )
    both_s = timeouts.inactivity_s + timeouts.abort_s
    if (needed_s := model_deadline_s + MARGIN_S) > both_s:
        return (
            f"PAWL_MODEL_DEADLINE_S is {model_deadline_s:g}, and Restate cuts an attempt off after {both_s:g} s"
            f" (PAWL_INACTIVITY_S and PAWL_ABORT_S): set PAWL_ABORT_S to {needed_s - timeouts.inactivity_s:g} or more,"
            f" or PAWL_MODEL_DEADLINE_S to {both_s - MARGIN_S:g} or less."
        )
    return None
