"""The ground on which trials are played one after the other: a stack, a relay at each place where a fault can strike a
line, and a second worker where one has to take over.

Rule: it is reused only as it was found: after each trial everything is put back, and what cannot be put back spoils it,
so that the next trial gets a new one.
Must not know: cells, verdicts.
"""

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from lab import pids
from lab.jobs import JOBS, Job
from lab.nodes import Node, Nodes
from lab.ports import HOST
from lab.process import Process
from lab.relay import Relay
from lab.remotes import Remote
from lab.stack import Stack
from lab.targets import Addresses, Call, Target

GRACE_S = 1.0
"""Nobody waits for the runs of a ground that is given up."""
ANSWER_S = 5.0


@dataclass(frozen=True, slots=True)
class GroundKind:
    """What a ground must be like: the target, settings of its worker, how many server nodes."""

    target: Target
    worker_env: tuple[tuple[str, str], ...] = ()
    nodes: int = 1

    @property
    def name(self) -> str:
        """Tells it from every other kind."""
        return " ".join((self.target.name, *(f"{name}={value}" for name, value in self.worker_env), str(self.nodes)))


class Ground:
    """See the module. Open it before use; `folder` is its own."""

    def __init__(self, kind: GroundKind, folder: Path, binary: Path, jobs: Mapping[str, Job] = JOBS) -> None:
        self.kind = kind
        self.target = kind.target
        self.jobs = jobs
        self.nodes = Nodes(folder, binary, kind.nodes) if kind.nodes > 1 else None
        self.stack = Stack(
            folder,
            binary=binary,
            target=kind.target,
            workers=0,
            server_env=self.nodes.first_env if self.nodes else None,
            ports=self.nodes.ports[0] if self.nodes else None,
            grace_s=GRACE_S,
        )
        self.line = Relay(0)
        """From the server to the worker."""
        self.to_model = Relay(self.stack.ports.model)
        self.to_receiver = Relay(self.stack.ports.receiver)
        self._helper: Process | None = None
        self._second: Process | None = None
        self._remote = Remote(self.target.title, "")
        self._open = contextlib.ExitStack()

    @property
    def worker(self) -> Process:
        return self.stack.workers[0]

    @property
    def second(self) -> Process:
        """The worker that takes over; started when it is first needed."""
        if self._second is None:
            self._second = self.stack.add_worker(self.target, dict(self.kind.worker_env), at=self.at, known_as="")
        return self._second

    @property
    def members(self) -> tuple[Node, ...]:
        """The server's nodes."""
        first = Node(1, self.stack.server, self.stack.ports)
        return (first, *(self.nodes.others if self.nodes else ()))

    @property
    def at(self) -> Addresses:
        """The addresses as the worker is given them. Of the server's nodes, those of one that lives."""
        own = self.stack.folder / "target"
        own.mkdir(exist_ok=True)
        at = replace(self.stack.at, folder=str(own))
        node = next((node for node in self.members if node.process.alive), self.members[0])
        at = replace(at, ingress=f"http://{HOST}:{node.ports.ingress}", admin=f"http://{HOST}:{node.ports.admin}")
        if not self.acks:
            at = replace(at, model=self.to_model.url, receiver=self.to_receiver.url)
        if self._helper is not None:
            at = replace(at, helper=f"{HOST}:{self._helper.command.port}")
        return at

    @property
    def acks(self) -> bool:
        """The server tells the worker that it has recorded an effect, so the line between them shows it."""
        return self.target.on_restate and self.target.effect_is_step

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def open(self) -> None:
        """Start everything, make the worker known, teach the model the jobs."""
        try:
            for relay in (self.line, self.to_model, self.to_receiver):
                self._open.enter_context(relay)
            if self.nodes is not None:
                self._open.callback(self.nodes.close)
                self.nodes.spawn()
            self._open.callback(self.stack.close)
            self.stack.open()
            for node in self.members[1:]:
                node.process.wait_ready()
            self._start_helper()
            process = self.stack.add_worker(self.target, dict(self.kind.worker_env), at=self.at, known_as="")
            self.line.aim(process.command.port)
            self.target.register(self.at, self.line.url if self.target.on_restate else self.stack.url(process))
            for job in self.jobs.values():
                self.stack.model.json("PUT", f"/scripts/{job.name}", job.script())
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self._remote.close()
        self._open.close()

    def restore(self) -> None:
        """As it was before the trial. Raises LabError where that cannot be done."""
        for process in self.processes():
            if process.alive and pids.state(process.pid) == "T":
                process.thaw()
            if not process.alive:
                process.start()
        for relay in (self.line, self.to_model, self.to_receiver):
            relay.release()
        self.line.aim(self.worker.command.port)
        # What still leads to the second worker, or is half dead, is ended: the next run begins on a new connection.
        self.line.cut()
        self.stack.receiver.json("DELETE", "/behaviour/*")
        self.stack.model.json("PUT", "/switches", {"strict": True})

    def processes(self) -> tuple[Process, ...]:
        """Everything that a fault may have hurt."""
        others = self.nodes.others if self.nodes else ()
        return (*(node.process for node in others), *self.stack.processes())

    def ask(self, call: Call, timeout_s: float = ANSWER_S, **filled: str) -> tuple[int, Any]:
        """One exchange of the target's: status, and the answer's JSON or None. Raises LabError where there is no
        answer."""
        at = self.at
        worker = self.stack.url(self.worker)
        names = {"worker": worker, "ingress": at.ingress, "admin": at.admin, "helper": at.helper, **filled}
        reply = self._remote.call(call.method, fill(call.url, names), fill(call.body, names), timeout_s)
        try:
            return reply.status_code, reply.json()
        except ValueError:
            return reply.status_code, None

    def logs(self) -> dict[str, str]:
        """Where each process writes, by its name."""
        helpers = (self._helper,) if self._helper is not None else ()
        return {process.command.name: str(process.command.log) for process in (*self.processes(), *helpers)}

    def _start_helper(self) -> None:
        self._helper = self.stack.helper_of(self.target, Path(self.at.folder))
        if self._helper is None:
            return
        self._open.callback(self._helper.end, GRACE_S)
        self._helper.start()


def fill(value: Any, names: Mapping[str, str]) -> Any:
    """`value` with `{name}` replaced in each of its strings; other braces stay."""
    match value:
        case str():
            for name, text in names.items():
                value = value.replace(f"{{{name}}}", text)
            return value
        case dict():
            return {key: fill(each, names) for key, each in value.items()}
        case list():
            return [fill(each, names) for each in value]
        case _:
            return value
