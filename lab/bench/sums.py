"""Medians, spreads and ratios. Pure.

Rule: a ratio is taken within each round and then its median, because what the machine does meanwhile happens to both.
"""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from lab.window_sums import at_share

Spread = dict[str, float]


def spread(values: Sequence[float], digits: int = 3) -> Spread:
    """Of one number per round: the median, the least and the most."""
    return {
        name: round(value, digits)
        for name, value in (("median", median(values)), ("least", min(values)), ("most", max(values)))
    }


def ratio(mine: Sequence[float], others: Sequence[float]) -> Spread:
    """Mine over the other's, round by round."""
    return spread([one / other for one, other in zip(mine, others, strict=True)])


def percentiles(times_s: Sequence[float]) -> dict[str, float]:
    """In milliseconds."""
    return {f"p{share}": round(1000 * at_share(times_s, share / 100), 3) for share in (50, 90, 99)}


def by_name(rows: Sequence[Mapping[str, Any]], name: str) -> Mapping[str, Any] | None:
    """The entry of that name."""
    return next((row for row in rows if row["name"] == name), None)
