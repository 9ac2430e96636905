"""The record of what `up` started, for scripts and for `down`, and the lock that says whether it is running.

Rule: the lock tells the truth, the file only describes. The kernel drops the lock with the process that holds it,
whatever it died of, so a file without a holder is what a crash left.
"""

import fcntl
import json
import os
from pathlib import Path
from typing import IO, Any

from lab import pids


def take_lock(path: Path) -> IO[str] | None:
    """The lock, held until the file is closed or the process ends; None where another process holds it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = path.open("w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        return None
    return lock


def file(folder: Path) -> Path:
    """Where the record of a folder is."""
    return folder / "stack.json"


def write(folder: Path, description: dict[str, Any]) -> None:
    """Replace the record in one move: a reader sees the old or the new one, never half."""
    fresh = folder / "stack.json.new"
    fresh.write_text(json.dumps(description, indent=2) + "\n", encoding="utf-8")
    fresh.replace(file(folder))


def read(folder: Path) -> dict[str, Any] | None:
    """What the record says, or None where there is none that can be read."""
    try:
        described = json.loads(file(folder).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return described if isinstance(described, dict) else None


def own(description: dict[str, Any]) -> list[int]:
    """The pids in the record that still are the processes they were, in the order in which they should end."""
    marks: dict[str, str] = description.get("marks", {})
    listed = [
        description.get("pid"),
        *description.get("worker_pids", ()),
        description.get("server_pid"),
        description.get("receiver_pid"),
        description.get("model_pid"),
    ]
    return [pid for pid in listed if isinstance(pid, int) and _is_ours(pid, marks)]


def _is_ours(pid: int, marks: dict[str, str]) -> bool:
    known = marks.get(str(pid))
    return pid != os.getpid() and known is not None and pids.is_same(pid, known)
