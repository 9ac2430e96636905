"""One real process of a stack: start it, wait until it is ready, kill, freeze, thaw or end it, start it again.

Rule: after every act the world is asserted, not assumed. A killed process was waited for, died of signal 9 and its
port refuses; a frozen one is in state T; a thawed one is not. Each process has a session of its own, so Ctrl-C in the
terminal reaches the lab only, and the lab decides the order in which things end.
"""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from lab import guard, pids, ports
from lab.errors import LabError
from lab.paths import ROOT
from lab.signals import shielded

POLL_S = 0.02
# A signal is delivered and a process reaped within milliseconds; on a busy machine it may take longer, never this.
SIGNAL_DEADLINE_S = 5.0
# What a process gets to end by itself after SIGTERM. The worker's own limit for steps in flight lies below it.
GRACE_S = 10.0
_LOG_TAIL_BYTES = 1500


def wait_until(what: str, happened: Callable[[], bool], deadline_s: float, poll_s: float = POLL_S) -> None:
    """Poll until `happened`; raises LabError that says `what` did not come in time."""
    end = time.monotonic() + deadline_s
    while not happened():
        if time.monotonic() > end:
            raise LabError(f"{what} did not happen within {deadline_s:g} s")
        time.sleep(poll_s)


def environment(own: Mapping[str, str], without: Sequence[str] = ()) -> dict[str, str]:
    """The environment of a child: this process's, less every setting that would reach it by accident, plus its own.
    `without`: names that it must not have either, in whatever case."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PAWL_", "RESTATE_"))}
    made = inherited | {"PYTHONUNBUFFERED": "1", "NO_PROXY": "127.0.0.1,localhost"} | dict(own)
    return {name: value for name, value in made.items() if name.upper() not in without}


def run_to_end(
    argv: Sequence[str], env: Mapping[str, str], limit_s: float, stderr: int | IO[str] = subprocess.PIPE
) -> subprocess.CompletedProcess[str]:
    """Run a program to its end; its exit code and what it wrote. subprocess.TimeoutExpired after `limit_s`.

    subprocess.run would lose the program where a signal arrives while it is being started.
    """
    child: subprocess.Popen[str] | None = None
    try:
        with shielded():
            child = subprocess.Popen(
                argv,
                env=env,
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
                start_new_session=True,
            )
            guard.watch(child.pid)
        out, err = child.communicate(timeout=limit_s)
        return subprocess.CompletedProcess(argv, child.returncode, out, err or "")
    finally:
        if child is not None:
            with child:  # closes its pipes and waits for it
                child.kill()


@dataclass(frozen=True, slots=True)
class Command:
    """What to run, where it listens, and how to see that it serves: `ready` is asked until it says so."""

    name: str
    argv: tuple[str, ...]
    env: Mapping[str, str]
    log: Path
    port: int
    ready: Callable[[], bool]
    ready_s: float = 30.0
    without: tuple[str, ...] = ()
    """Names, in capitals, that its environment must not have."""


@dataclass(slots=True)
class Process:
    """A command that may be started more than once; its log grows over all its lives."""

    command: Command
    _child: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def pid(self) -> int:
        """The pid of the present life; raises LabError before the first."""
        if self._child is None:
            raise LabError(f"the {self.command.name} was never started")
        return self._child.pid

    @property
    def alive(self) -> bool:
        return self._child is not None and self._child.poll() is None

    @property
    def exit_code(self) -> int | None:
        """As in subprocess: negative is the signal that it died of; None while it runs."""
        return self._child.poll() if self._child is not None else None

    def how_it_ended(self) -> str:
        """For a sentence: exit code or signal."""
        code = self.exit_code
        if code is not None and code < 0:
            return signal.Signals(-code).name
        return f"exit code {code}"

    def spawn(self) -> None:
        """Start it without waiting until it serves."""
        if self.alive:
            raise LabError(f"the {self.command.name} is already running as pid {self.pid}")
        self.command.log.parent.mkdir(parents=True, exist_ok=True)
        with shielded(), self.command.log.open("ab") as log:
            self._child = subprocess.Popen(
                self.command.argv,
                env=environment(self.command.env, self.command.without),
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            guard.watch(self._child.pid)

    def wait_ready(self) -> None:
        """Wait until it serves; raises LabError with the end of its log where it died or took too long."""
        end = time.monotonic() + self.command.ready_s
        while not self.command.ready():
            if not self.alive:
                raise self._failure(f"ended with exit code {self.exit_code} before it was ready")
            if time.monotonic() > end:
                raise self._failure(f"was not ready within {self.command.ready_s:g} s")
            time.sleep(POLL_S)
        if not self.alive:
            raise self._failure(f"has ended, though something answers on its port {self.command.port}")

    def start(self) -> None:
        """Start it and wait until it serves."""
        self.spawn()
        self.wait_ready()

    def kill(self) -> None:
        """SIGKILL. Afterwards it is certain that it died of it and that nothing listens on its port."""
        child = self._running()
        child.send_signal(signal.SIGKILL)
        code = child.wait(SIGNAL_DEADLINE_S)
        if code != -signal.SIGKILL:
            raise LabError(f"the {self.command.name} was sent SIGKILL but ended with {code}")
        if not ports.refuses(self.command.port):
            raise LabError(f"the {self.command.name} was killed, but port {self.command.port} still answers")

    def freeze(self) -> None:
        """SIGSTOP. Afterwards the kernel says that it is stopped."""
        self._running().send_signal(signal.SIGSTOP)
        wait_until(f"stopping the {self.command.name}", lambda: pids.state(self.pid) == "T", SIGNAL_DEADLINE_S)

    def thaw(self) -> None:
        """SIGCONT. Afterwards the kernel says that it is not stopped."""
        self._running().send_signal(signal.SIGCONT)
        wait_until(f"thawing the {self.command.name}", lambda: pids.state(self.pid) != "T", SIGNAL_DEADLINE_S)

    def ask_to_end(self) -> None:
        """SIGTERM, without waiting. A frozen process is thawed first, else it could not obey."""
        if self._child is not None:  # Popen sends nothing to a process that has ended
            self._child.send_signal(signal.SIGTERM)
            self._child.send_signal(signal.SIGCONT)

    def end(self, grace_s: float = GRACE_S) -> bool:
        """SIGTERM, then SIGKILL after the grace. True where it left by itself in time, or was not running."""
        self.ask_to_end()
        if self._child is None:
            return True
        try:
            self._child.wait(grace_s)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait(SIGNAL_DEADLINE_S)
            return False
        return True

    def log_tail(self) -> str:
        """The end of the log, as something to put behind a sentence."""
        try:
            text = self.command.log.read_bytes()[-_LOG_TAIL_BYTES:].decode(errors="replace").strip()
        except OSError:
            return ""
        return f" The end of {self.command.log}:\n{text}" if text else f" Its log, {self.command.log}, is empty."

    def _failure(self, what: str) -> LabError:
        return LabError(f"the {self.command.name} {what}.{self.log_tail()}")

    def _running(self) -> subprocess.Popen[bytes]:
        if self._child is None or self._child.poll() is not None:
            raise LabError(f"the {self.command.name} is not running")
        return self._child
