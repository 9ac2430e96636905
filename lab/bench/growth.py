"""Part `growth`: what a turn costs when the history is long. One run at a time, 200 turns, replies of 2 KB, a mail each
turn.

Rule: the cost of a turn is the time from one model request's arrival to the next, as the model's own ledger has it, so
nothing is hooked into a worker. Contestants take turns.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import median
from typing import Any

from lab.bench.audit import check
from lab.bench.contestants import LEAN, PLAIN
from lab.bench.field import Field, Standing
from lab.bench.jobs import REPLY_BYTES, Job, long
from lab.bench.sitting import Sitting
from lab.bench.sums import spread
from lab.load import drive

WHO = (PLAIN, "bare", LEAN, "pawl", "typescript")
ROOM = {
    "PAWL_MAX_TURNS": "1000",
    "PAWL_MAX_CALLS": "1000",
    "PAWL_MAX_TOKENS": "1000000000",
    "PAWL_HISTORY_BYTES": "10000000",
}
"""Pawl's own limits would end such a run, or shorten what the model is sent."""
ROUNDS = 3
TURNS, QUICK_TURNS = 200, 20
MARKS, QUICK_MARKS = (10, 50, 200), (5, 10, 20)
NEAR = 10
"""So many turns, the last of which is the one that is named, are taken together."""


def measure(sitting: Sitting) -> dict[str, Any]:
    """See the module."""
    job = long(sitting.pick(TURNS, QUICK_TURNS))
    marks = QUICK_MARKS if sitting.quick else MARKS
    with sitting.field() as ground:
        standing = [ground.add(each, ROOM if each.name == "pawl" else None) for each in sitting.of(*WHO)]
        for on in standing:
            ground.batch(on, 4, 2)
        found: dict[str, list[list[float]]] = {on.contestant.name: [] for on in standing}
        for number in range(sitting.pick(ROUNDS, 1)):
            for on in standing:
                found[on.contestant.name].append(
                    one(ground, on, f"{on.contestant.name.replace('-', '')}g{number}x", job)
                )
            sitting.say(f"{number + 1} rounds of {job.turns} turns")
    return {
        "turns": job.turns,
        "reply_bytes": REPLY_BYTES,
        "contestants": [
            {
                "name": on.contestant.name,
                "title": on.contestant.title,
                "turn_ms": {
                    str(mark): spread([at_turn(costs, mark) for costs in found[on.contestant.name]]) for mark in marks
                },
                "each_turn_ms": [round(median(pair), 3) for pair in zip(*found[on.contestant.name], strict=True)],
            }
            for on in standing
        ],
    }


def one(ground: Field, on: Standing, tag: str, job: Job) -> list[float]:
    """The cost of each turn of one run, in ms."""
    drive(lambda _: ground.request(on, tag, job), 1, 1)
    rows = ground.rows()
    check(on.contestant.title, job, [tag], rows)
    return turns_ms(rows, tag)


def turns_ms(rows: Sequence[Mapping[str, Any]], tag: str) -> list[float]:
    """From each model request's arrival to the next one's. Pure."""
    moments = [row["at"] for row in rows if row["tag"] == tag and row["what"] == "chat"]
    return [1000 * (late - early) for early, late in pairwise(moments)]


def at_turn(costs_ms: Sequence[float], turn: int) -> float:
    """The median of the turns up to this one, counted from 1. Pure."""
    return median(costs_ms[max(0, turn - NEAR) : turn])
