"""Small real programs for the lab's own tests: something that listens, and lab commands watched from outside."""

import os
import subprocess
import sys
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path

from lab import pids
from lab.paths import ROOT
from lab.ports import HOST, free_port
from lab.process import Command, Process
from lab.remotes import Remote

MARK = "LAB_TEST_MARK"


def web_server(folder: Path, *argv: str, port: int | None = None, ready_s: float = 10.0) -> Process:
    """The standard library's web server, or another command in its place, that is ready when it answers `/`."""
    port = port or free_port()
    remote = Remote("server", f"http://{HOST}:{port}")

    def ready() -> bool:
        with Remote("server", remote.url) as asked:
            return asked.answers("/")

    usual = (sys.executable, "-m", "http.server", str(port), "--bind", HOST, "--directory", str(folder))
    remote.close()
    return Process(Command("web server", argv or usual, {}, folder / "web.log", port, ready, ready_s))


def marked(mark: str) -> list[str]:
    """The command lines of all running processes that were started, however indirectly, with this mark."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if f"{MARK}={mark}".encode() in (entry / "environ").read_bytes().split(b"\0"):
                found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode().strip())
        except OSError:
            continue
    return found


@dataclass
class LabCommand:
    """`python -m lab …` in a folder of its own, with everything it starts recognisable afterwards."""

    arguments: tuple[str, ...]
    output: Path
    mark: str = field(default_factory=lambda: uuid.uuid4().hex)
    child: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self.output.open("wb") as output:
            self.child = subprocess.Popen(
                [sys.executable, "-m", "lab", *self.arguments],
                cwd=ROOT,
                env=os.environ | {MARK: self.mark},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def running(self) -> subprocess.Popen[bytes]:
        assert self.child is not None
        return self.child

    def wait(self, wait_s: float) -> int:
        return self.running.wait(wait_s)

    def said(self) -> str:
        return self.output.read_text(encoding="utf-8", errors="replace")

    def wait_said(self, text: str, wait_s: float = 30.0) -> None:
        end = time.monotonic() + wait_s
        while text not in self.said():
            assert self.running.poll() is None, f"it ended before it said {text!r}:\n{self.said()}"
            assert time.monotonic() < end, f"it did not say {text!r}:\n{self.said()}"
            time.sleep(0.02)

    def left(self, wait_s: float = 5.0) -> list[str]:
        """What of it is still running; it has a moment, since the guard leaves after its parent."""
        end = time.monotonic() + wait_s
        while (found := marked(self.mark)) and time.monotonic() < end:
            time.sleep(0.05)
        return found

    def clean(self) -> None:
        """End it and what it started, whatever the test made of it."""
        if self.child is not None and self.child.poll() is None:
            self.child.kill()
            self.child.wait(10)
        left = self.left()
        assert not left, left


def gone(pid: int, known_mark: str, wait_s: float = 5.0) -> bool:
    """Whether that process ends in time."""
    end = time.monotonic() + wait_s
    while pids.is_same(pid, known_mark):
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True
