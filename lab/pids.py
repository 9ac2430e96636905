"""Processes as the kernel sees them: alive or not, in which state, and whether a pid still means the same process.

Rule: a pid alone is never trusted. The mark, the moment at which the process started, tells it from a later process
that got the same number.
"""

import os
import subprocess
from pathlib import Path


def _ps(pid: int, column: str) -> str | None:
    """One column of ps, for systems without /proc."""
    found = subprocess.run(["ps", "-o", f"{column}=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return found.stdout.strip() or None


def _fields(pid: int) -> list[str] | None:
    """The fields of /proc/<pid>/stat from the third on: the second, the name, may hold spaces and brackets."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return stat.rpartition(")")[2].split()


_HAS_PROC = Path("/proc/self/stat").exists()


def state(pid: int) -> str | None:
    """The state letter (R, S, D, T, Z, ...), or None where there is no such process."""
    if _HAS_PROC:
        columns = _fields(pid)
        return columns[0] if columns else None
    letters = _ps(pid, "state")
    return letters[0] if letters else None


def mark(pid: int) -> str | None:
    """What tells this process from any other that ever has its pid; None where there is none, or only its remains."""
    if _HAS_PROC:
        columns = _fields(pid)
        return columns[19] if columns and columns[0] not in "ZX" else None
    return _ps(pid, "lstart")


def is_same(pid: int, known_mark: str) -> bool:
    """Whether the process that had `known_mark` is still running."""
    return mark(pid) == known_mark


def cpu_s(pid: int) -> float:
    """Processor seconds that the process has used so far; those of one that is gone are 0."""
    if _HAS_PROC:
        columns = _fields(pid)
        return (int(columns[11]) + int(columns[12])) / os.sysconf("SC_CLK_TCK") if columns else 0.0
    told = (_ps(pid, "time") or "0").replace("-", ":").split(":")
    return sum(float(part) * 60.0**place for place, part in enumerate(reversed(told)))
