"""Load on a handler: so many runs, so many at once, and what they took.

Rule: bounded in count; each answer is checked; times are of this machine at this moment, so only ratios of one
sitting mean anything. The client is the leanest there is at hand, because it shares the machine with what it measures.
Must not know: what is behind the address.
"""

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median

import aiohttp

from lab import pids
from lab.errors import LabError

TIMEOUT_S = 300.0
SETTLED_STATUSES = (200, 202)


@dataclass(frozen=True, slots=True)
class Measured:
    """`cpu_ms`: processor time of the worker for one run; `p50_ms` of one run, from request to answer."""

    runs_per_s: float
    p50_ms: float
    cpu_ms: float


@dataclass(frozen=True, slots=True)
class Request:
    """How one run is submitted, to be answered at its end."""

    url: str
    body: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Driven:
    """How long all runs took together, and each of them."""

    seconds: float
    times_s: tuple[float, ...]


def load(address: Callable[[int], str], runs: int, at_once: int, pid: int) -> Measured:
    """Sends `runs` runs, `at_once` at a time, to `address(number)`. Raises LabError where one did not complete."""
    before_s = cpu_s(pid)
    driven = drive(lambda number: Request(address(number), {"task": "empty steps"}), runs, at_once)
    return Measured(runs / driven.seconds, 1000 * median(driven.times_s), 1000 * (cpu_s(pid) - before_s) / max(1, runs))


def drive(request: Callable[[int], Request], runs: int, at_once: int) -> Driven:
    """Sends `request(number)` for each run, `at_once` at a time. Raises LabError where one did not complete."""
    return asyncio.run(_drive(request, runs, at_once))


async def _drive(request: Callable[[int], Request], runs: int, at_once: int) -> Driven:
    numbers, times_s = iter(range(runs)), list[float]()
    timeout = aiohttp.ClientTimeout(total=TIMEOUT_S)
    async with aiohttp.ClientSession(timeout=timeout, connector=aiohttp.TCPConnector(limit=at_once)) as client:

        async def one_after_the_other() -> None:
            for number in numbers:
                asked = request(number)
                began = time.perf_counter()
                async with client.post(asked.url, json=asked.body) as answer:
                    said, status = await answer.read(), answer.status
                check(asked.url, status, said)
                times_s.append(time.perf_counter() - began)

        began = time.perf_counter()
        try:
            await asyncio.gather(*(one_after_the_other() for _ in range(at_once)))
        except (aiohttp.ClientError, TimeoutError) as error:
            raise LabError(f"a run was not answered: {error!r}") from error
        return Driven(time.perf_counter() - began, tuple(times_s))


def check(url: str, status: int, said: bytes) -> None:
    """Raises LabError where the answer is not that of a completed run."""
    try:
        completed = status in SETTLED_STATUSES and json.loads(said)["state"] == "completed"
    except (ValueError, KeyError, TypeError):
        completed = False
    if not completed:
        raise LabError(f"a run at {url} was answered with {status}: {said[:300].decode(errors='replace')}")


cpu_s = pids.cpu_s
