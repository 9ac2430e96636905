"""Part `windows`: how long an effect is applied and not yet recorded, alone and with 32 runs at once.

Rule: as in the command `window`: the receiver's row says when it was applied, a relay sees when the worker says so and
when the server answers. The receiver here does not sync, so what is left is the worker's share, the server's and the
relays'. The loop by hand stands behind the same relays, and says how much of it is theirs.
"""

import time
from collections.abc import Mapping
from statistics import median
from typing import Any

from lab.bench.contestants import LEAN, Contestant, contestant
from lab.bench.field import Field, Standing
from lab.bench.sitting import Sitting
from lab.errors import LabError
from lab.relay import Relay, Way
from lab.window_sums import TAG, Passed, Series, at_share, widths
from mocks.rows import EffectRow

WHO = (LEAN, "pawl")
LOADS = (1, 32)
RUNS = {1: 150, 32: 400}
QUICK_RUNS = {1: 8, 32: 32}


def measure(sitting: Sitting) -> dict[str, Any]:
    """See the module."""
    return {"contestants": [_of(sitting, contestant(name)) for name in WHO]}


def _of(sitting: Sitting, each: Contestant) -> dict[str, Any]:
    with sitting.field() as ground, Relay(0) as line, Relay(ground.stack.ports.receiver) as to_receiver:
        on = ground.add(each, line=line, receiver=to_receiver.url)
        ground.batch(on, 64, 32)
        series = [_series(ground, on, line, to_receiver, at_once, sitting) for at_once in LOADS]
    loads = [_told(one, at_once) for one, at_once in zip(series, LOADS, strict=True)]
    sitting.say(f"{each.title}: {loads[0]['recorded_ms']['median']} ms alone")
    return {"name": each.name, "title": each.title, "loads": loads}


def _series(ground: Field, on: Standing, line: Relay, to_receiver: Relay, at_once: int, sitting: Sitting) -> Series:
    passed, answered = list[Passed](), dict[str, float]()
    runs = (QUICK_RUNS if sitting.quick else RUNS)[at_once]

    def see(way: Way, stream: tuple[int, int], raw: bytes) -> None:
        found = TAG.search(raw) if way is Way.TO_WORKER else None
        passed.append(Passed(time.time(), way, stream, found[0].decode() if found else None))

    def see_answer(way: Way, _stream: tuple[int, int], raw: bytes) -> None:
        found = TAG.search(raw) if way is Way.TO_SERVER else None
        if found:
            answered.setdefault(found[0].decode(), time.time())

    line.watch, to_receiver.watch = see, see_answer
    batch = ground.batch(on, runs, at_once, mark="wp")
    line.watch = to_receiver.watch = None
    rows = [row for row in batch.rows if row["what"] == "charge"]
    found = widths([_effect(row) for row in rows], answered, passed)
    if not found:
        raise LabError(f"no window could be measured: {len(rows)} effects, {len(passed)} frames were seen")
    return Series(
        f"{on.contestant.title}, {at_once} at once", tuple(found), batch.driven.seconds, len(rows) - len(found)
    )


def _effect(row: Mapping[str, Any]) -> EffectRow:
    body = {"customer_id": f"cus_{row['tag']}"}
    return EffectRow(n=row["n"], effect="charge", id="", key=row["key"], reference=None, body=body, at=row["at"])


def _told(series: Series, at_once: int) -> dict[str, Any]:
    recorded = [each.recorded_ms for each in series.widths]
    told = [each.told_ms for each in series.widths]
    worker = [each.told_ms - each.answered_ms for each in series.widths]
    return {
        "at_once": at_once,
        "effects": len(recorded),
        "missed": series.missed,
        "effects_per_s": round(len(recorded) / series.seconds, 1),
        "recorded_ms": _shares(recorded),
        "told_ms": _shares(told),
        "worker_ms": _shares(worker),
    }


def _shares(values: list[float]) -> dict[str, float]:
    return {
        "median": round(median(values), 3),
        "p95": round(at_share(values, 0.95), 3),
        "most": round(max(values), 3),
    }
