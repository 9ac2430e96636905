"""A whole stack on this machine: restate-server, receiver, model and workers, started together and always torn down.

Rule: whoever opens a stack gets it ready or gets an error and nothing left behind. Every part is a `Process` that may
be killed, frozen and started again in between; its port, its data and its log stay the same.

    with Stack(folder) as stack:                      # free ports, one worker, registered
        answer = stack.ingress.invoke("Agent", "run-1", "run", {"task": "refund order 1042"})
        stack.workers[0].kill(); stack.workers[0].start()
        stack.server.kill(); stack.server.start()
        stack.receiver.requests()                     # the remotes: ingress, admin, receiver, model
        stack.receiver_process.kill()                 # the processes: server, workers, *_process
"""

import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from lab import pids, server
from lab.ports import HOST, Ports, all_free, free_port, refuses
from lab.process import GRACE_S, Command, Process
from lab.remotes import Admin, Ingress, MockRemote, Model, Receiver, Remote
from lab.signals import shielded
from lab.targets import PAWL, Addresses, Target


class Stack:
    """See the module. `folder` holds data and logs; the same folder again continues with the same data.

    Of several workers the first is registered; the others only listen, until something is put before them.
    `grace_s` is what the parts get to finish what they are at when the stack is closed. `mocks` is the program that
    stands for receiver and model.
    """

    def __init__(  # noqa: PLR0913  all of it by name, and all of it usual
        self,
        folder: Path,
        *,
        ports: Ports | None = None,
        binary: Path | None = None,
        target: Target = PAWL,
        workers: int = 1,
        worker_env: Mapping[str, str] | None = None,
        server_env: Mapping[str, str] | None = None,
        grace_s: float = GRACE_S,
        mocks: str = "mocks",
    ) -> None:
        self.folder = folder
        self.logs = folder / "logs"
        self.grace_s = grace_s
        self._mocks = mocks
        self.ports = ports or all_free()
        self.at = Addresses(
            ingress=f"http://{HOST}:{self.ports.ingress}",
            admin=f"http://{HOST}:{self.ports.admin}",
            receiver=f"http://{HOST}:{self.ports.receiver}",
            model=f"http://{HOST}:{self.ports.model}",
        )
        self.ingress = Ingress("ingress", self.at.ingress)
        self.admin = Admin("admin API", self.at.admin)
        self.receiver = Receiver("receiver", self.at.receiver)
        self.model = Model("model", self.at.model)
        if binary is None:
            binary = server.find()
            server.check_version(binary)
        log = self.logs / "restate-server.log"
        serve = server.command(binary, folder / "restate", self.ports, log, self._server_serves)
        self.server = Process(replace(serve, env={**serve.env, **(server_env or {})}))
        self.receiver_process = Process(self._mock_command("receiver", self.receiver, self.ports.receiver))
        self.model_process = Process(self._mock_command("model", self.model, self.ports.model))
        self.workers: list[Process] = []
        self._probes: list[Remote] = []
        self._target = target
        first = self.ports.worker
        for index in range(workers):
            self._add(target, first if index == 0 else free_port(), worker_env or {})

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def open(self) -> None:
        """Start everything at once, wait until it serves, register the first worker."""
        try:
            for process in self.processes():
                process.spawn()
            for process in self.processes():
                process.wait_ready()
            if self.workers:
                self._target.register(self.at, self.url(self.workers[0]))
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End everything, in the order in which the parts need each other; what outlasts the grace is killed."""
        with shielded(deliver=False):
            for process in self.workers:
                process.ask_to_end()
            end = time.monotonic() + self.grace_s
            rest = (self.server, self.receiver_process, self.model_process)
            for process in (*self.workers, *rest):
                process.end(max(0.1, end - time.monotonic()))
            for remote in (self.ingress, self.admin, self.receiver, self.model, *self._probes):
                remote.close()

    def processes(self) -> tuple[Process, ...]:
        """Every part, the server first: it takes longest to start. A target that needs no server has none."""
        servers = (self.server,) if self._target.on_restate else ()
        return (*servers, self.receiver_process, self.model_process, *self.workers)

    def url(self, worker: Process) -> str:
        """Where a worker listens."""
        return f"http://{HOST}:{worker.command.port}"

    def helper_of(self, target: Target, folder: Path) -> Process | None:
        """The process that a target needs beside its worker, not started yet; its data goes to `folder`."""
        helper = target.helper
        if helper is None:
            return None
        port = free_port()
        argv, log = helper.argv(f"{HOST}:{port}", folder), self.logs / f"{helper.name}.log"
        return Process(Command(helper.name, argv, env={}, log=log, port=port, ready=lambda: not refuses(port)))

    def add_worker(
        self,
        target: Target,
        env: Mapping[str, str] | None = None,
        *,
        at: Addresses | None = None,
        known_as: str | None = None,
    ) -> Process:
        """Start one more worker on a free port, wait until it serves, and register it.

        `at`: other addresses than the stack's own, where something stands in between. `known_as`: the address to
        register in place of the worker's; an empty one registers nothing.
        """
        process = self._add(target, free_port(), env or {}, at)
        process.spawn()
        process.wait_ready()
        url = self.url(process) if known_as is None else known_as
        if url:
            target.register(self.at, url)
        return process

    def describe(self) -> dict[str, Any]:
        """What was started, for scripts: addresses, pids, logs. A mark tells whether a pid still is that process."""
        running = [process.pid for process in self.processes()]
        return {
            "ingress": self.at.ingress,
            "admin": self.at.admin,
            "receiver": self.at.receiver,
            "model": self.at.model,
            "worker_pids": [process.pid for process in self.workers],
            "server_pid": self.server.pid,
            "receiver_pid": self.receiver_process.pid,
            "model_pid": self.model_process.pid,
            "logs": {process.command.name: str(process.command.log) for process in self.processes()},
            "marks": {str(pid): pids.mark(pid) for pid in running},
        }

    def _server_serves(self) -> bool:
        return self.admin.answers("/health") and self.ingress.answers("/restate/health") and self.admin.leads()

    def _mock_command(self, name: str, remote: MockRemote, port: int) -> Command:
        database = self.folder / f"{name}.sqlite"
        return Command(
            name=name,
            argv=(sys.executable, "-m", self._mocks, name, "--host", HOST, "--port", str(port), "--db", str(database)),
            env={},
            log=self.logs / f"{name}.log",
            port=port,
            ready=lambda: remote.answers("/health"),
        )

    def _add(self, target: Target, port: int, env: Mapping[str, str], at: Addresses | None = None) -> Process:
        at = at or self.at
        taken = {process.command.name for process in self.workers}
        name = target.process if target.process not in taken else f"{target.process}-{len(self.workers) + 1}"
        listen = f"{HOST}:{port}"
        probe = Remote(name, f"http://{listen}")
        self._probes.append(probe)
        command = Command(
            name=name,
            argv=target.argv(listen, at),
            env={**target.env(listen, at), **env},
            log=self.logs / f"{name}.log",
            port=port,
            ready=lambda: probe.answers("/health"),
        )
        process = Process(command)
        self.workers.append(process)
        return process
