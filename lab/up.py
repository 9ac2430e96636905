"""`up`: the whole stack on the usual ports, until Ctrl-C. `down`: ends it from another terminal.

Rule: ports are settled before anything starts. Who starts it is recorded before, so that `down` ends it in the middle
of that too; what was started is recorded before the addresses are printed. A part that dies is started again, since
whoever kills one wants to see what becomes of the runs.
"""

import os
import shutil
import signal
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, NoReturn

from lab import pids, ports, record, server
from lab.errors import LabError, UsageError
from lab.paths import shown
from lab.process import GRACE_S, SIGNAL_DEADLINE_S, wait_until
from lab.rounds import TASK
from lab.show import Show
from lab.signals import Interrupted
from lab.stack import Stack

_LOOK_S = 0.25
# From the lock to the record it is a few milliseconds.
_BEGINS_S = 5.0
# More deaths than this in a minute are not somebody trying out a kill: the part cannot run.
_DEATHS_PER_MINUTE_MAX = 10


def up(asked: dict[str, int | None], folder: Path, show: Show) -> int:
    """Start, print, stay; the exit code. Returns after Ctrl-C, SIGTERM or `down`."""
    lock = record.take_lock(folder / "up.lock")
    if lock is None:
        return _say_what_runs(asked, folder, show)
    with lock:
        record.write(folder, _me())
        try:
            settled = ports.settle(asked)
            binary = server.find()
            version = server.check_version(binary)
            for part, usual, port in settled.replaced:
                show.line(f"port {usual}, usual for the {part}, is taken: {port} is used instead")
            show.line(f"starting restate-server {version}, receiver, model and worker")
            shutil.rmtree(folder / "up" / "logs", ignore_errors=True)
            with Stack(folder / "up", ports=settled.ports, binary=binary) as stack:
                _describe(stack, folder)
                _print(stack, folder, show)
                _print_unused(stack.workers[0].command.env, show)
                _stay(stack, folder, show)
        except Interrupted:
            show.line("stopped: nothing is left running")
            return 0
        finally:
            record.file(folder).unlink(missing_ok=True)


def down(folder: Path, show: Show) -> int:
    """End what `up` started; the exit code is 0 also where there was nothing."""
    described = record.read(folder) or _of_one_that_begins(folder)
    ours = record.own(described)
    # The first is `up` itself: it ends its parts in order. What is left after it, or where it is gone, is ended here.
    for pid in ours:
        _end(pid, str(described["marks"][str(pid)]))
    record.file(folder).unlink(missing_ok=True)
    show.line("stopped: nothing is left running" if ours else "nothing is running")
    return 0


def _of_one_that_begins(folder: Path) -> dict[str, Any]:
    """The record of an `up` that has the lock and has written nothing yet; empty where nobody has it."""
    end = time.monotonic() + _BEGINS_S
    while time.monotonic() < end:
        lock = record.take_lock(folder / "up.lock")
        if lock is not None:
            lock.close()
            return {}
        if (described := record.read(folder)) is not None:
            return described
        time.sleep(_LOOK_S / 5)
    return {}


def _me() -> dict[str, Any]:
    return {"pid": os.getpid(), "marks": {str(os.getpid()): pids.mark(os.getpid())}}


def _end(pid: int, mark: str) -> None:
    def gone() -> bool:
        return not pids.is_same(pid, mark)

    for number, deadline_s in ((signal.SIGTERM, 2 * GRACE_S), (signal.SIGKILL, SIGNAL_DEADLINE_S)):
        if gone():
            return
        with suppress(ProcessLookupError):
            os.kill(pid, number)
        with suppress(LabError):
            wait_until(f"the end of process {pid}", gone, deadline_s)
    if not gone():
        raise LabError(f"process {pid} could not be ended")


def _say_what_runs(asked: dict[str, int | None], folder: Path, show: Show) -> int:
    described = record.read(folder)
    if described is None or "ingress" not in described:
        raise LabError("another `make up` is just starting or stopping: try again in a moment")
    show.line("Pawl is already up; `make down` ends it.")
    _print_addresses(described, folder, show)
    for part, port in asked.items():
        if port is not None and described["ports"][part] != port:
            raise UsageError(
                f"port {port} was asked for the {part}, but what is running has {described['ports'][part]}"
            )
    return 0


def _describe(stack: Stack, folder: Path) -> None:
    me, described = _me(), stack.describe()
    described["pid"] = me["pid"]
    described["marks"] |= me["marks"]
    described["ports"] = asdict(stack.ports)
    described["workers"] = [stack.url(worker) for worker in stack.workers]
    record.write(folder, described)


def _print(stack: Stack, folder: Path, show: Show) -> None:
    name = f"run-{time.strftime('%H%M%S')}"
    run = f"{stack.at.ingress}/Agent/{name}"
    show.line("Pawl is up. Ctrl-C ends it, and so does `make down` in another terminal.")
    _print_addresses(record.read(folder) or {}, folder, show)
    show.heading("Submit a run:")
    show.verbatim(f"curl -sS -w '\\n' {run}/submit -H 'content-type: application/json' -d '{{\"task\": \"{TASK}\"}}'")
    show.heading("Ask its status:")
    show.verbatim(f"curl -sS -w '\\n' -X POST {run}/status")
    show.heading("The same at the command line:")
    python, at = shown(Path(sys.executable)), f"--ingress {stack.at.ingress} --admin {stack.at.admin}"
    for words in (f"submit {name} '{TASK}'", f"status {name}", "pending"):
        show.verbatim(f"{python} -m services.cli {words} {at}")
    show.blank()


def _print_unused(used: Mapping[str, str], show: Show) -> None:
    """Names what the caller's shell sets in vain: this stack is the same in every shell."""
    names = sorted(name for name in os.environ if name.startswith("PAWL_") and os.environ[name] != used.get(name))
    if names:
        show.line(f"set in this shell and not used by this stack: {', '.join(names)}. A worker of your own takes them.")


def _print_addresses(described: dict[str, Any], folder: Path, show: Show) -> None:
    show.blank()
    show.pair("ingress", described["ingress"])
    show.pair("Restate's UI", f"{described['admin']}/ui/")
    show.pair("receiver", f"{described['receiver']}   what it received and applied: /requests, /effects")
    show.pair("model", f"{described['model']}   what it was asked: /requests")
    for url, pid in zip(described["workers"], described["worker_pids"], strict=True):
        show.pair("worker", f"{url}   pid {pid}")
    for name, log in described["logs"].items():
        show.pair(f"log of {name}", shown(log))
    show.pair("all of this", shown(record.file(folder)))
    if exports := _exports(described):
        show.heading("Other ports than the usual ones. In a shell where you type commands:")
        show.verbatim(f"export {exports}")


def _exports(described: dict[str, Any]) -> str:
    """The settings that lead a command, or a worker of one's own, to this stack; empty on the usual ports."""
    at, usual = described["ports"], asdict(ports.USUAL)
    settings = {
        "PAWL_INGRESS": ("ingress", described["ingress"]),
        "PAWL_ADMIN": ("admin", described["admin"]),
        "PAWL_LISTEN": ("worker", f"{ports.HOST}:{at['worker']}"),
        "PAWL_RECEIVER_URL": ("receiver", described["receiver"]),
        "PAWL_MODEL_URL": ("model", f"{described['model']}/v1"),
    }
    return " ".join(f"{name}={value}" for name, (part, value) in settings.items() if at[part] != usual[part])


def _stay(stack: Stack, folder: Path, show: Show) -> NoReturn:
    """Start again what dies, for ever. Raises Interrupted when asked to end, LabError where a part keeps dying."""
    deaths: list[float] = []
    while True:
        time.sleep(_LOOK_S)
        for process in stack.processes():
            if process.alive:
                continue
            deaths = [at for at in deaths if time.monotonic() - at < 60] + [time.monotonic()]
            if len(deaths) > _DEATHS_PER_MINUTE_MAX:
                raise LabError(f"the {process.command.name} keeps ending.{process.log_tail()}")
            show.line(f"the {process.command.name} (pid {process.pid}) ended with {process.how_it_ended()}")
            process.spawn()
            process.wait_ready()
            _describe(stack, folder)
            show.line(f"the {process.command.name} was started again as pid {process.pid}")
