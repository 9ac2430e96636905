"""From what was seen on the line and in the receiver's rows to the width of the window. Pure.

Rule: an effect whose frames were not seen counts as not measured, never as zero. All times are unix seconds of one
machine's clock.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, median
from typing import Any

from lab.relay import Way
from mocks.rows import EffectRow

TAG = re.compile(rb"w[a-z]\d{5}x")
"""The mark of a run, as it stands in what the server sends the worker first."""


@dataclass(frozen=True, slots=True)
class Passed:
    """A frame of DATA: when it came to the relay, its way, its stream, and the mark in it where there is one."""

    at: float
    way: Way
    stream: tuple[int, int]
    tag: str | None = None


@dataclass(frozen=True, slots=True)
class Width:
    """Of one effect, in ms since it was applied: until the receiver's answer was seen, until the worker's word was,
    and until the server's word came back, by which it is recorded."""

    tag: str
    answered_ms: float
    told_ms: float
    recorded_ms: float


@dataclass(frozen=True, slots=True)
class Series:
    """One load. `seconds` is how long it lasted; `missed` effects could not be measured."""

    name: str
    widths: tuple[Width, ...]
    seconds: float
    missed: int = 0


@dataclass(frozen=True, slots=True)
class Kills:
    """Kills at random moments: how many, over how many effects, and how many were applied once more than asked for."""

    name: str
    kills: int
    effects: int
    doubled: int


def tag_of(row: EffectRow) -> str:
    """The mark of the run that an effect was applied for."""
    found = TAG.search(json.dumps(row["body"]).encode())
    return found[0].decode() if found else ""


def widths(effects: Sequence[EffectRow], answered: Mapping[str, float], passed: Sequence[Passed]) -> list[Width]:
    """The width of every effect whose answer and frames were seen. `answered` by the mark of its run."""
    streams: dict[str, set[tuple[int, int]]] = {}
    frames: dict[tuple[int, int], list[Passed]] = {}
    for each in passed:
        frames.setdefault(each.stream, []).append(each)
        if each.tag is not None:
            streams.setdefault(each.tag, set()).add(each.stream)
    found = []
    for row in effects:
        tag = tag_of(row)
        if tag not in answered:
            continue
        seen = sorted((each for stream in streams.get(tag, ()) for each in frames[stream]), key=lambda each: each.at)
        told = next((each for each in seen if each.way is Way.TO_SERVER and each.at >= answered[tag]), None)
        if told is None:
            continue
        back = (each for each in seen if each.way is Way.TO_WORKER and each.stream == told.stream)
        recorded = next((each for each in back if each.at >= told.at), None)
        if recorded is not None:
            moments = (answered[tag], told.at, recorded.at)
            found.append(Width(tag, *(1000 * (moment - row["at"]) for moment in moments)))
    return found


def at_share(values: Sequence[float], share: float) -> float:
    """The least of the values that so large a share does not exceed."""
    ordered = sorted(values)
    return ordered[max(0, min(len(ordered) - 1, -int(-share * len(ordered) // 1) - 1))]


def doubled_per_1000(series: Series) -> float:
    """Derived: how many effects a thousand crashes at random moments of this load would find applied and not told."""
    return 1000 * sum(each.told_ms for each in series.widths) / 1000 / series.seconds


def told(series: Sequence[Series], kills: Kills | None) -> dict[str, Any]:
    """The part of window.json that is derived."""
    return {
        "says": "From the receiver's commit of an effect, which it includes, to the server's word that the result is "
        "recorded, seen on the lines between them. A worker that dies before it has told the server leaves an effect "
        "that no journal knows of. The worker's share runs from the answer to what it tells the server.",
        "estimate": _estimate(series, kills),
        "series": [_series(each) for each in series],
        "kills": None
        if kills is None
        else {
            "name": kills.name,
            "kills": kills.kills,
            "effects": kills.effects,
            "doubled": kills.doubled,
            "doubled_per_1000": 1000 * kills.doubled / kills.kills,
        },
    }


def _series(each: Series) -> dict[str, Any]:
    recorded = [width.recorded_ms for width in each.widths]
    untold = [width.told_ms for width in each.widths]
    worker = [width.told_ms - width.answered_ms for width in each.widths]
    return {
        "name": each.name,
        "effects": len(recorded),
        "missed": each.missed,
        "seconds": round(each.seconds, 2),
        "effects_per_s": round(len(recorded) / each.seconds, 2),
        "median_ms": median(recorded),
        "p95_ms": at_share(recorded, 0.95),
        "max_ms": max(recorded),
        "untold": {"median_ms": median(untold), "p95_ms": at_share(untold, 0.95), "mean_ms": mean(untold)},
        "worker": {"median_ms": median(worker), "p95_ms": at_share(worker, 0.95), "max_ms": max(worker)},
        "doubled_per_1000": doubled_per_1000(each),
        "samples_ms": [round(value, 4) for value in recorded],
    }


def _estimate(series: Sequence[Series], kills: Kills | None) -> str:
    derived = (
        "How many a thousand crashes would double is derived: the time that effects of a load spent applied and "
        "untold, over the time that the load lasted, is the number that a worker's crash at a random moment doubles "
        "where there is no key. It grows with the effects per second"
    )
    rates = ", ".join(f"{len(each.widths) / each.seconds:.1f} with {each.name}" for each in series)
    text = f"{derived} ({rates})."
    if kills is None:
        return text
    return (
        f"{text} Counted: {kills.kills} kills at random moments of {kills.name} doubled {kills.doubled} of "
        f"{kills.effects} effects, which is {1000 * kills.doubled / kills.kills:.0f} for a thousand crashes."
    )
