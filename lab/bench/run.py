"""The command: which parts, one after the other; then bench.json, the table, the pictures and the page.

Rule: a part that was not asked for keeps what an earlier sitting found, with its own date; ratios never mix two
sittings. The exit code says whether everything could be measured and every run was right, not whether it was fast.
"""

import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab import server
from lab.bench import shown, told
from lab.bench.contestants import NAMES, present
from lab.bench.parts import PARTS
from lab.bench.sitting import Sitting
from lab.campaign import machine, versions_of
from lab.errors import UsageError
from lab.paths import SCRATCH
from lab.paths import shown as where
from lab.show import Show

ROUNDS, QUICK_ROUNDS = 5, 1


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked for on the command line."""

    only: str | None
    rounds: int | None
    quick: bool
    out: Path
    folder: Path = SCRATCH


@dataclass(frozen=True, slots=True)
class Plan:
    """Which parts, and which contestants in those that compare."""

    parts: tuple[str, ...]
    contestants: tuple[str, ...]


def plan(only: str | None) -> Plan:
    """What `--only` names: parts, contestants, or both. Raises UsageError."""
    words = [word.strip() for word in only.split(",") if word.strip()] if only else []
    unknown = [word for word in words if word not in PARTS and word not in NAMES]
    if unknown:
        raise UsageError(
            f"--only {unknown[0]}: there are the parts {', '.join(PARTS)} and the contestants {', '.join(NAMES)}"
        )
    parts = tuple(name for name in PARTS if name in words)
    named = tuple(name for name in NAMES if name in words)
    if not parts:
        # Contestants alone: the parts that compare them, or all parts where nothing was named.
        parts = tuple(name for name, part in PARTS.items() if not named or part.compares)
    return Plan(parts, named or NAMES)


def run(asked: Asked, show: Show) -> int:
    """Measure and tell; the exit code."""
    what = plan(asked.only)
    earlier = told.before(asked.out, quick=asked.quick)
    binary = server.find()
    versions = versions_of(server.check_version(binary))
    rounds = asked.rounds or (QUICK_ROUNDS if asked.quick else ROUNDS)
    contestants, missing = present(what.contestants)
    asked.folder.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="bench-", dir=asked.folder))
    show.line(f"{len(what.parts)} parts, {rounds} rounds, {len(contestants)} contestants; model and receiver in memory")
    for sentence in missing:
        show.line(f"left out: {sentence}")
    started, found = time.time(), dict[str, Any]()
    try:
        sitting = Sitting(folder, binary, rounds, asked.quick, contestants, show.verbatim)
        for name in what.parts:
            show.heading(f"{name}: {PARTS[name].title}")
            began = time.time()
            measured = PARTS[name].measure(sitting)
            found[name] = {
                "started_at": began,
                "seconds": round(time.time() - began, 1),
                "quick": asked.quick,
                "rounds": rounds,
                **measured,
            }
    except BaseException:
        show.error(f"the logs are in {where(folder)}")
        raise
    shutil.rmtree(folder, ignore_errors=True)
    about = {
        "started_at": started,
        "seconds": round(time.time() - started, 1),
        "quick": asked.quick,
        "versions": versions,
        "machine": machine(),
        "left_out": list(missing),
    }
    result = told.bench(found, about, earlier)
    told.write(asked.out, result)
    shown.show(result, show)
    show.line(f"{told.NAME} and the pictures are in {where(asked.out)}; it took {about['seconds']:.0f} s")
    return 0
