"""Part `speed`: the job on every contestant, in turn, alone and with 8 and 32 runs at once.

Rule: all are up on one field, and each round gives every one its turn. What idles meanwhile is measured once and told.
How many runs a batch has follows from the contestant's own pace, so that the slow ones are not measured for longer.
"""

import time
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from lab.bench.field import Batch, Field, Standing
from lab.bench.jobs import SHORT
from lab.bench.memory import resident_mb
from lab.bench.sitting import Sitting
from lab.bench.sums import percentiles, spread

AT_ONCE = (1, 8, 32)
SECONDS = {1: 1.2, 8: 2.0, 32: 3.0}
"""How long a batch of each load is to take, about."""
MOST = {1: 60, 8: 300, 32: 500}
IDLE_S = 3.0


@dataclass(slots=True)
class Record:
    """One contestant's batches, by load, one for each round."""

    on: Standing
    batches: dict[int, list[Batch]] = field(default_factory=lambda: {at_once: [] for at_once in AT_ONCE})
    pace: dict[int, float] = field(default_factory=dict)


def measure(sitting: Sitting) -> dict[str, Any]:
    """See the module."""
    with sitting.field() as ground:
        records = [_ready(ground, ground.add(each), sitting) for each in sitting.contestants]
        idle = _idle(ground, records, sitting)
        for number in range(sitting.rounds):
            for record in records:
                for at_once in AT_ONCE:
                    record.batches[at_once].append(ground.batch(record.on, _runs(record, at_once, sitting), at_once))
            sitting.say(f"round {number + 1} of {sitting.rounds}")
        told = [_told(record) for record in records]
    return {"rounds": sitting.rounds, "job_steps": SHORT.steps, "idle_cores": idle, "contestants": told}


def _ready(ground: Field, on: Standing, sitting: Sitting) -> Record:
    """Warm, and its pace known."""
    record = Record(on)
    for at_once in AT_ONCE:
        runs = max(2, at_once) if sitting.quick else max(12, 2 * at_once)
        record.pace[at_once] = ground.batch(on, runs, at_once).per_s
    sitting.say(f"{on.contestant.title} is up")
    return record


def _runs(record: Record, at_once: int, sitting: Sitting) -> int:
    if sitting.quick:
        return max(4, at_once)
    return max(2 * at_once, 10, min(MOST[at_once], round(record.pace[at_once] * SECONDS[at_once])))


def _idle(ground: Field, records: list[Record], sitting: Sitting) -> float:
    """Processors that all of them together keep busy while nobody runs anything."""
    if sitting.quick:
        return 0.0
    before, began = [ground.cpu(record.on) for record in records], time.monotonic()
    time.sleep(IDLE_S)
    seconds = time.monotonic() - began
    after = [ground.cpu(record.on) for record in records]
    pairs = list(zip(before, after, strict=True))
    workers = sum(late["worker"] - early["worker"] for early, late in pairs)
    # The restate-server is shared: it counts once.
    engines = {
        record.on.engine(): late["engine"] - early["engine"]
        for record, (early, late) in zip(records, pairs, strict=True)
    }
    return round((workers + sum(engines.values())) / seconds, 3)


def _told(record: Record) -> dict[str, Any]:
    alone, *_ = (record.batches[at_once] for at_once in AT_ONCE)
    busiest = record.batches[AT_ONCE[-1]]
    times_s = [each for batch in alone for each in batch.driven.times_s]
    return {
        "name": record.on.contestant.name,
        "title": record.on.contestant.title,
        "alone_ms": {
            **percentiles(times_s),
            "runs": len(times_s),
            "median_of_round": spread([1000 * median(batch.driven.times_s) for batch in alone]),
            "each_round": [round(1000 * median(batch.driven.times_s), 3) for batch in alone],
        },
        "runs_per_s": {
            str(at_once): {
                **spread([batch.per_s for batch in record.batches[at_once]]),
                "each_round": [round(batch.per_s, 3) for batch in record.batches[at_once]],
                "runs": sum(batch.runs for batch in record.batches[at_once]),
                **percentiles([each for batch in record.batches[at_once] for each in batch.driven.times_s]),
            }
            for at_once in AT_ONCE[1:]
        },
        "cpu_s_per_1000": {
            part: spread([1000 * batch.cpu_s[part] / batch.runs for batch in busiest])
            for part in ("worker", "engine", "mocks", "load")
        },
        "model_calls_again": sum(batch.again for batches in record.batches.values() for batch in batches),
        "mocks_busy": round(max(batch.cpu_s["mocks"] / batch.driven.seconds for batch in busiest), 3),
        "memory_mb": {"after_runs": record.on.runs, "resident": round(resident_mb(record.on), 1)},
    }
