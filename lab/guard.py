"""The guard: ends what a lab process started when that process dies without having ended it itself.

Rule: it outlives its parent by a moment only. It reads lines `pid mark` from standard input; when the input ends, for
whatever reason, it sends SIGKILL to those that still are the processes they were, and leaves. It needs nothing but the
standard library, since one starts with every stack.
"""

import atexit
import contextlib
import os
import signal
import subprocess
import sys
import threading

from lab.paths import ROOT
from lab.pids import is_same, mark

_LEAVE_S = 2.0  # it has nothing to do but to see its input end
_guard: subprocess.Popen[str] | None = None
_lock = threading.Lock()


def watch(pid: int) -> None:
    """Have `pid`, a child of this process, killed if this process dies first. Starts the guard where there is none."""
    global _guard  # noqa: PLW0603 - one guard for the whole process, for as long as it lives
    with _lock:
        if _guard is None or _guard.poll() is not None:
            atexit.register(dismiss)
            _guard = subprocess.Popen(
                [sys.executable, "-m", "lab.guard"],
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                text=True,
            )
        known_mark = mark(pid)
        if known_mark is not None and _guard.stdin is not None:
            _guard.stdin.write(f"{pid} {known_mark}\n")
            _guard.stdin.flush()


def dismiss() -> None:
    """The ordinary end: the guard finds nothing left to do, and leaves before this process does."""
    if _guard is not None and _guard.stdin is not None:
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            _guard.stdin.close()
            _guard.wait(_LEAVE_S)


def main() -> None:
    """Collect until the input ends, then kill what is left."""
    watched: dict[int, str] = {}
    for line in sys.stdin:
        pid, _, known_mark = line.strip().partition(" ")
        watched[int(pid)] = known_mark
    for pid, known_mark in watched.items():
        if is_same(pid, known_mark):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    main()
