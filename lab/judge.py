"""The verdict over what the receiver saw, effect by effect. Pure.

Rule: only the receiver's own rows count, never what a worker says about itself. Rows that could not be read, or a round
without a single row, are no pass.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mocks.rows import EffectRow, RequestRow

# What the demo's task asks for, once each: the refund, the customer's record, the mail.
TASK_EFFECTS: Mapping[str, int] = {"refund": 1, "customer": 1, "email": 1}


@dataclass(frozen=True, slots=True)
class Tally:
    """Per effect: how many requests arrived and how many effects were applied."""

    requests: Mapping[str, int]
    effects: Mapping[str, int]

    @classmethod
    def of(cls, requests: Sequence[RequestRow], effects: Sequence[EffectRow]) -> "Tally":
        return cls(
            requests=Counter(row["effect"] for row in requests),
            effects=Counter(row["effect"] for row in effects),
        )


def all_once(tally: Tally) -> str | None:
    """None where every effect of the task was applied exactly once and nothing else was; else what is wrong."""
    wrong = [
        f"{effect}: {tally.effects.get(effect, 0)} instead of {TASK_EFFECTS.get(effect, 0)}"
        for effect in dict.fromkeys((*TASK_EFFECTS, *tally.effects))
        if tally.effects.get(effect, 0) != TASK_EFFECTS.get(effect, 0)
    ]
    return "; ".join(wrong) or None


def refunded_twice(tally: Tally) -> str | None:
    """None where the refund was applied twice, as it must be without a key; else what is wrong."""
    refunds = tally.effects.get("refund", 0)
    return None if refunds == 2 else f"refund: {refunds} instead of 2"


def one_key(requests: Sequence[RequestRow], effect: str) -> str | None:
    """None where several requests for `effect` arrived and all carried one key; else what is wrong."""
    keys = [row["key"] for row in requests if row["effect"] == effect]
    if len(keys) < 2:
        return f"{effect}: {len(keys)} requests arrived, so nothing was repeated"
    if None in keys or len(set(keys)) != 1:
        return f"{effect}: {len(set(keys))} different keys arrived"
    return None
