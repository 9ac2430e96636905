"""`up`: the whole stack on the usual ports, until Ctrl-C. `down`: ends it from another terminal.

Rule: ports are settled before anything starts, and what was started is recorded before the addresses are printed. A
part that dies is started again, since whoever kills one wants to see what becomes of the runs.
"""

import os
import shutil
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from lab import pids, ports, record, server
from lab.errors import LabError, UsageError
from lab.paths import ROOT, SCRATCH, STACK_FILE
from lab.process import GRACE_S, SIGNAL_DEADLINE_S, wait_until
from lab.show import Show
from lab.signals import Interrupted, shielded
from lab.stack import Stack

_FOLDER = SCRATCH / "up"
_LOCK = SCRATCH / "up.lock"
_LOOK_S = 0.25
# More deaths than this in a minute are not somebody trying out a kill: the part cannot run.
_DEATHS_PER_MINUTE_MAX = 10
TASK = "refund order 1042, then mail the customer"


def up(asked: dict[str, int | None], show: Show) -> int:
    """Start, print, stay; the exit code. Returns after Ctrl-C, SIGTERM or `down`."""
    lock = record.take_lock(_LOCK)
    if lock is None:
        return _say_what_runs(asked, show)
    with lock:
        settled = ports.settle(asked)
        binary = server.find()
        version = server.check_version(binary)
        for part, usual, port in settled.replaced:
            show.line(f"port {usual}, usual for the {part}, is taken: {port} is used instead")
        show.line(f"starting restate-server {version}, receiver, model and worker")
        shutil.rmtree(_FOLDER / "logs", ignore_errors=True)
        stack = Stack(_FOLDER, ports=settled.ports, binary=binary)
        try:
            with stack:
                _describe(stack)
                _print(stack, show)
                _stay(stack, show)
        except Interrupted:
            show.line("stopped: nothing is left running")
            return 0
        finally:
            STACK_FILE.unlink(missing_ok=True)
    return 1


def down(show: Show) -> int:
    """End what `up` started; the exit code is 0 also where there was nothing."""
    described = record.read(STACK_FILE)
    ours = record.own(described) if described else []
    if not ours:
        show.line("nothing is running")
        return 0
    # The first is `up` itself: it ends its parts in order. What is left after it, or where it is gone, is ended here.
    for pid in ours:
        _end(pid, str((described or {})["marks"][str(pid)]))
    STACK_FILE.unlink(missing_ok=True)
    show.line("stopped: nothing is left running")
    return 0


def _end(pid: int, mark: str) -> None:
    def gone() -> bool:
        return not pids.is_same(pid, mark)

    for number, deadline_s in ((signal.SIGTERM, 2 * GRACE_S), (signal.SIGKILL, SIGNAL_DEADLINE_S)):
        if gone():
            return
        with suppress(ProcessLookupError):
            os.kill(pid, number)
        with suppress(LabError):
            wait_until("the end", gone, deadline_s)
    if not gone():
        raise LabError(f"process {pid} could not be ended")


def _say_what_runs(asked: dict[str, int | None], show: Show) -> int:
    described = record.read(STACK_FILE)
    if described is None:
        raise LabError("another `make up` is just starting or stopping: try again in a moment")
    show.line("Pawl is already up; `make down` ends it.")
    _print_addresses(described, show)
    refused = [part for part, port in asked.items() if port is not None and not _is_at(described, part, port)]
    if refused:
        raise UsageError(f"the running stack does not have the port asked for the {', the '.join(refused)}")
    return 0


def _is_at(described: dict[str, Any], part: str, port: int) -> bool:
    return bool(described.get("ports", {}).get(part) == port)


def _describe(stack: Stack) -> None:
    described = stack.describe()
    described["pid"] = os.getpid()
    described["marks"][str(os.getpid())] = pids.mark(os.getpid())
    described["ports"] = asdict(stack.ports)
    described["workers"] = [stack.url(worker) for worker in stack.workers]
    record.write(STACK_FILE, described)


def _print(stack: Stack, show: Show) -> None:
    run = f"{stack.at.ingress}/Agent/run-{time.strftime('%H%M%S')}"
    show.line("Pawl is up. Ctrl-C ends it, and so does `make down` in another terminal.")
    _print_addresses(record.read(STACK_FILE) or {}, show)
    show.heading("Submit a run:")
    show.verbatim(f"curl -sS {run}/submit -H 'content-type: application/json' -d '{{\"task\": \"{TASK}\"}}'")
    show.heading("Ask its status:")
    show.verbatim(f"curl -sS -X POST {run}/status")
    show.blank()


def _print_addresses(described: dict[str, Any], show: Show) -> None:
    show.blank()
    show.pair("ingress", described["ingress"])
    show.pair("Restate's UI", f"{described['admin']}/ui/")
    show.pair("receiver", f"{described['receiver']}   what it received and applied: /requests, /effects")
    show.pair("model", f"{described['model']}   what it was asked: /requests")
    for url, pid in zip(described["workers"], described["worker_pids"], strict=True):
        show.pair("worker", f"{url}   pid {pid}")
    for name, log in described["logs"].items():
        show.pair(f"log of {name}", str(Path(log).relative_to(ROOT)))
    show.pair("all of this", str(STACK_FILE.relative_to(ROOT)))


def _stay(stack: Stack, show: Show, clock: Callable[[], float] = time.monotonic) -> None:
    deaths: list[float] = []
    while True:
        time.sleep(_LOOK_S)
        for process in stack.processes():
            if process.alive:
                continue
            deaths = [at for at in deaths if clock() - at < 60] + [clock()]
            if len(deaths) > _DEATHS_PER_MINUTE_MAX:
                raise LabError(f"the {process.command.name} keeps ending.{process.log_tail()}")
            show.line(f"the {process.command.name} (pid {process.pid}) ended with {process.how_it_ended()}")
            with shielded():
                process.spawn()
            process.wait_ready()
            _describe(stack)
            show.line(f"the {process.command.name} was started again as pid {process.pid}")
