"""The field: model, receiver and server of one sitting, and the contestants that are up on it.

Rule: a contestant is measured only after its worker has done runs; each batch of runs is checked against the ledger
before its numbers are given out. Times of processors are read from the kernel, of each process by itself.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from lab import pids
from lab.bench import audit
from lab.bench.contestants import Contestant
from lab.bench.jobs import SHORT, Job
from lab.load import Driven, Request, drive
from lab.ports import HOST
from lab.process import Process
from lab.relay import Relay
from lab.remotes import Remote
from lab.stack import Stack
from lab.targets import PAWL, Addresses

GRACE_S = 1.0
MOCKS = "lab.bench.mock"


@dataclass(frozen=True, slots=True)
class Batch:
    """Runs of one contestant in one go, with what they cost: processor seconds by part. `rows` are the ledger's.
    `again` says how many model calls were made again."""

    runs: int
    driven: Driven
    cpu_s: Mapping[str, float]
    rows: Sequence[Mapping[str, Any]]
    again: int

    @property
    def per_s(self) -> float:
        return self.runs / self.driven.seconds


@dataclass(slots=True)
class Standing:
    """A contestant that is up. `workers` serve it; `engine` is the pid of its server of its own, where it has one."""

    contestant: Contestant
    at: Addresses
    workers: list[Process]
    engine: Callable[[], int | None]
    url: str
    runs: int = 0
    numbers: "Iterator[int]" = field(default_factory=count)

    @property
    def worker(self) -> Process:
        return self.workers[0]


class Field:
    """See the module. `folder` is its own."""

    def __init__(self, folder: Path, binary: Path) -> None:
        self.folder = folder
        self.stack = Stack(folder, binary=binary, target=PAWL, workers=0, grace_s=GRACE_S, mocks=MOCKS)
        self._open = ExitStack()
        self._read = {"model": 0, "receiver": 0}

    def __enter__(self) -> Self:
        self._open.callback(self.stack.close)
        self.stack.open()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._open.close()

    def add(
        self,
        contestant: Contestant,
        env: Mapping[str, str] | None = None,
        line: Relay | None = None,
        receiver: str = "",
        *,
        known: bool = True,
    ) -> Standing:
        """Start its worker, and its server where it has one of its own. `line` stands before the worker, what listens
        at `receiver` before the receiver. One that is not to be `known` is not registered."""
        own = self.folder / contestant.name
        own.mkdir(exist_ok=True)
        at = replace(self.stack.at, folder=str(own), receiver=receiver or self.stack.at.receiver)
        helper = self._helper(contestant, own)
        if helper is not None:
            at = replace(at, helper=f"{HOST}:{helper.command.port}")
        target = replace(contestant.target, process=contestant.name)
        process = self.stack.add_worker(target, env, at=at, known_as=None if known and line is None else "")
        if line is not None:
            line.aim(process.command.port)
            target.register(self.stack.at, line.url)
        engine = (lambda: self.stack.server.pid) if target.on_restate else (lambda: helper.pid if helper else None)
        return Standing(contestant, at, [process], engine, self.stack.url(process))

    def run(self, process: Process) -> Process:
        """Start one more process, to be ended with the field."""
        self._open.callback(process.end, GRACE_S)
        process.start()
        return process

    def batch(self, on: Standing, runs: int, at_once: int, *, mark: str = "") -> Batch:
        """So many runs, so many at once, checked against the ledger. Their tags begin with `mark`."""
        mark = mark or on.contestant.name.replace("-", "")
        tags = [f"{mark}{next(on.numbers):05}x" for _ in range(runs)]
        before = self.cpu(on)
        driven = drive(lambda number: self.request(on, tags[number]), runs, at_once)
        after = self.cpu(on)
        on.runs += runs
        rows = self.rows()
        audit.check(on.contestant.title, SHORT, tags, rows)
        cost = {name: after[name] - before[name] for name in before}
        return Batch(runs, driven, cost, rows, audit.again(SHORT, tags, rows))

    def request(self, on: Standing, tag: str, job: Job = SHORT) -> Request:
        return Request(on.contestant.url(on.at, on.url, f"run-{tag}"), {"task": job.task(tag)})

    def rows(self) -> list[dict[str, Any]]:
        """The ledger's rows that nobody has read yet, of model and receiver."""
        found: list[dict[str, Any]] = []
        for name, remote in self._mocks():
            rows = remote.json("GET", f"/rows?after={self._read[name]}", timeout_s=60.0)
            self._read[name] += len(rows)
            found += rows
        return found

    def _mocks(self) -> Sequence[tuple[str, Remote]]:
        return ("model", self.stack.model), ("receiver", self.stack.receiver)

    def cpu(self, on: Standing) -> dict[str, float]:
        """Processor seconds so far: of its workers, its engine, the mocks, and this program, which sends the load."""
        engine = on.engine()
        mocks = (self.stack.receiver_process, self.stack.model_process)
        return {
            "worker": sum(pids.cpu_s(worker.pid) for worker in on.workers),
            "engine": pids.cpu_s(engine) if engine is not None else 0.0,
            "mocks": sum(pids.cpu_s(process.pid) for process in mocks),
            "load": time.process_time(),
        }

    def _helper(self, contestant: Contestant, folder: Path) -> Process | None:
        helper = self.stack.helper_of(contestant.target, folder)
        return None if helper is None else self.run(helper)
