"""bench.json: what a sitting found, put together with what earlier ones left, and written down.

`schema` is 1. `parts` holds each part as its module's `measure` gives it, with `started_at` (unix seconds), `seconds`,
`rounds` and `quick`; a spread is `{"median", "least", "most"}` over the rounds. `goals` says what must be reached and
what was, `ratios` the same numbers by name.

Rule: a quick sitting is not judged, and never takes the place of a thorough one in the same folder.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lab.bench import plots
from lab.bench.goals import judged
from lab.errors import LabError, UsageError
from lab.paths import shown

SCHEMA = 1
NAME = "bench.json"
Told = Mapping[str, Any]


def bench(found: Mapping[str, Any], about: Told, earlier: Told | None) -> dict[str, Any]:
    """All of bench.json. Pure. Raises LabError where a quick sitting would hide a thorough one."""
    old: Told = earlier["parts"] if earlier is not None else {}
    if about["quick"] and any(not part["quick"] for part in old.values()):
        raise LabError(
            "the folder holds a thorough benchmark, which a quick one must not replace: choose another --out"
        )
    # Of quick and thorough parts side by side, the quick ones go.
    kept = {name: part for name, part in old.items() if name not in found and part["quick"] == about["quick"]}
    parts = {name: {**kept, **found}[name] for name in ORDER if name in kept or name in found}
    goals = judged(parts)
    return {
        "schema": SCHEMA,
        **about,
        "goals": goals,
        "ratios": {goal["name"]: goal["ratio"] for goal in goals},
        "parts": parts,
    }


ORDER = (
    "ceiling",
    "speed",
    "steps",
    "clients",
    "windows",
    "recovery",
    "growth",
    "replay",
    "workers",
    "memory",
)


def before(out: Path, *, quick: bool) -> dict[str, Any] | None:
    """What an earlier sitting left there. Raises UsageError where a quick one would take its place."""
    old = read(out)
    if quick and old is not None and any(not part["quick"] for part in old["parts"].values()):
        raise UsageError(
            f"{shown(out / NAME)} is of a thorough sitting, which a quick one must not replace: name --out"
        )
    return old


def read(out: Path) -> dict[str, Any] | None:
    """What is there already; None where nothing is. Raises LabError for what cannot be read."""
    file = out / NAME
    try:
        told: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise LabError(f"{shown(file)} cannot be read: {error}") from error
    if told.get("schema") != SCHEMA:
        raise LabError(f"{shown(file)} is of another version: move it away")
    return told


def write(out: Path, told: Told) -> None:
    """bench.json and the pictures."""
    out.mkdir(parents=True, exist_ok=True)
    (out / NAME).write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    for name, picture in plots.pictures(told["parts"]).items():
        (out / f"bench-{name}.svg").write_text(picture + "\n", encoding="utf-8")
