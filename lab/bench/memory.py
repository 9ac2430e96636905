"""Part `memory`: what Pawl's worker holds after many runs. A leak of a kilobyte a run would be ten megabytes here."""

import time
from pathlib import Path
from typing import Any

from lab.bench.field import Field, Standing
from lab.bench.sitting import Sitting

AT_ONCE = 32
MARKS = (1_000, 2_000, 5_000, 10_000)
QUICK = (100, 200)
BATCH = 500
REST_S = 1.0


def resident_mb(on: Standing) -> float:
    """Of the workers, together; as the kernel counts it."""
    return sum(_resident_mb(worker.pid) for worker in on.workers)


def _resident_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    line = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) / 1024


def measure(sitting: Sitting) -> dict[str, Any]:
    """See the module."""
    marks = QUICK if sitting.quick else MARKS
    with sitting.field() as ground:
        on = ground.add(sitting.pawl())
        found = []
        for mark in marks:
            _run_until(ground, on, mark)
            time.sleep(REST_S)
            found.append({"runs": on.runs, "resident_mb": round(resident_mb(on), 1)})
            sitting.say(f"{on.runs} runs: {found[-1]['resident_mb']} MB")
    return {
        "at_once": AT_ONCE,
        "marks": found,
        "grown_mb": round(found[-1]["resident_mb"] - found[0]["resident_mb"], 1),
    }


def _run_until(ground: Field, on: Standing, mark: int) -> None:
    while on.runs < mark:
        ground.batch(on, min(BATCH, mark - on.runs), AT_ONCE)
