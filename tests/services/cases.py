"""The words in which a row of a decision table gives its examples: replies, then what must be decided."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from services.limits import Limits
from services.loop import CallModel, CallTools, Decision, Finish, GiveUp, Reason, Refuse
from services.transcript import Cut, Replied
from tests.services.replies import LIMITS, reply

PARSES = '{"amount_cents":10}'
CHARGE = {"customer_id": "cus_1", "amount_cents": 10}
EMPTY = reply("")
CUT_OFF = reply("half an ans", finish="length", cut=Cut.YES)


def finish(answer: str) -> Callable[[Decision], bool]:
    return lambda decision: decision == Finish(answer)


def refuse(words: str) -> Callable[[Decision], bool]:
    return lambda decision: isinstance(decision, Refuse) and words in decision.text


def give_up(reason: Reason) -> Callable[[Decision], bool]:
    return lambda decision: isinstance(decision, GiveUp) and decision.reason is reason


def again(turn: int) -> Callable[[Decision], bool]:
    return lambda decision: decision == CallModel(turn)


def tools(*problems: str | None) -> Callable[[Decision], bool]:
    """CallTools with these problems, in order; a text must occur in the problem, None means that the call is run."""

    def fits(decision: Decision) -> bool:
        return (
            isinstance(decision, CallTools)
            and len(decision.calls) == len(problems)
            and all(
                (each.problem is None and each.arguments is not None)
                if words is None
                else (each.arguments is None and words in str(each.problem))
                for each, words in zip(decision.calls, problems, strict=True)
            )
        )

    return fits


@dataclass(frozen=True)
class Case:
    """One example of a row: these replies, then this decision about the last of them."""

    row: str
    replies: tuple[Replied, ...]
    expected: Callable[[Decision], bool]
    limits: Limits = LIMITS


def case(row: str, replies: Replied | tuple[Replied, ...], expected: Callable[[Decision], bool], **limits: Any) -> Case:
    many = replies if isinstance(replies, tuple) else (replies,)
    return Case(row, many, expected, LIMITS.model_copy(update=limits))


def rows(module: ModuleType) -> list[str]:
    """The first column of the table in a module's docstring."""
    lines = re.findall(r"^\| (.+?) +\| .+\|$", module.__doc__ or "", re.MULTILINE)
    return [line for line in lines[1:] if not line.startswith("---")]
