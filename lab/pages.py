"""`report`: writes report.html from what the other commands left in a folder.

Rule: it measures nothing and judges nothing; it may be run again at any time. What cannot be read is an error with the
file's name.
"""

import json
from pathlib import Path
from typing import Any

from lab import history
from lab.errors import LabError, UsageError
from lab.history import History
from lab.page import Data, page
from lab.paths import shown
from lab.show import Show

NAME = "report.html"
MADE_OF = ("report.json", "bench.json")
"""Either is enough for a page."""


def run(out: Path, cell: str | None, show: Show) -> int:
    """Write it and say where; the exit code."""
    if not any((out / name).exists() for name in MADE_OF):
        raise UsageError(
            f"there is nothing to show in {shown(out)}; `python -m lab matrix --out {shown(out)}` or `bench` makes it"
        )
    show.line(f"the report is in {shown(write(out, cell))}")
    return 0


def after(code: int, out: Path, show: Show) -> int:
    """What a command does at its end: the page is made anew where there is something to show. Its exit code is kept."""
    if any((out / name).exists() for name in MADE_OF):
        show.line(f"the report is in {shown(write(out))}")
    return code


def write(out: Path, cell: str | None = None) -> Path:
    """The page from the folder's files. `cell` is the one whose timeline is open. Raises LabError."""
    report, bench = _read(out / "report.json"), _read(out / "bench.json")
    if report is None:
        if bench is None:
            raise LabError(f"there is neither {' nor '.join(MADE_OF)} in {shown(out)}")
        # The benchmark alone: the page says that no cell was played.
        report = {"cells": [], **{name: bench[name] for name in ("versions", "machine", "started_at", "seconds")}}
    if cell is not None and cell not in {each["id"] for each in report["cells"]}:
        raise UsageError(f"the report has no cell {cell}; their ids are in report.json")
    files = {trial["history"] for each in report["cells"] for trial in each["trials"] if trial["history"]}
    window, storm = (_read(out / name) for name in ("window.json", "storm.json"))
    data = Data(report, _histories(out, files), window, storm, bench, cell)
    (out / NAME).write_text(page(data), encoding="utf-8")
    return out / NAME


def _read(file: Path) -> dict[str, Any] | None:
    try:
        told: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise LabError(f"{shown(file)} cannot be read: {error}") from error
    return told


def _histories(out: Path, files: set[str]) -> dict[str, History]:
    found: dict[str, History] = {}
    for name in sorted(files):
        try:
            found[name] = history.read(out / name)
        except FileNotFoundError:
            continue
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise LabError(f"{shown(out / name)} cannot be read: {error}") from error
    return found
