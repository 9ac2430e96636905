"""Load on a handler: so many runs, so many at once, and what they took.

Rule: bounded in count; each answer is checked; times are of this machine at this moment, so only ratios of one
sitting mean anything.
Must not know: what is behind the address.
"""

import asyncio
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import httpx

from lab.errors import LabError

TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True)
class Measured:
    """`cpu_ms`: processor time of the worker for one run; `p50_ms` of one run, from request to answer."""

    runs_per_s: float
    p50_ms: float
    cpu_ms: float


def load(address: Callable[[int], str], runs: int, at_once: int, pid: int) -> Measured:
    """Sends `runs` runs, `at_once` at a time, to `address(number)`. Raises LabError where one did not complete."""
    before_s = cpu_s(pid)
    took_s, times_s = asyncio.run(_load(address, runs, at_once))
    return Measured(runs / took_s, 1000 * median(times_s), 1000 * (cpu_s(pid) - before_s) / runs)


async def _load(address: Callable[[int], str], runs: int, at_once: int) -> tuple[float, list[float]]:
    numbers, times_s = iter(range(runs)), list[float]()
    limits = httpx.Limits(max_connections=at_once, max_keepalive_connections=at_once)
    async with httpx.AsyncClient(timeout=TIMEOUT_S, limits=limits, trust_env=False) as client:

        async def one_after_the_other() -> None:
            for number in numbers:
                began = time.perf_counter()
                answer = await client.post(address(number), json={"task": "empty steps"})
                if answer.status_code != 200 or answer.json()["state"] != "completed":
                    raise LabError(f"a run was answered with {answer.status_code}: {answer.text[:300]}")
                times_s.append(time.perf_counter() - began)

        began = time.perf_counter()
        await asyncio.gather(*(one_after_the_other() for _ in range(at_once)))
        return time.perf_counter() - began, times_s


def cpu_s(pid: int) -> float:
    """Seconds of processor time that a process has used, in user and system mode."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
