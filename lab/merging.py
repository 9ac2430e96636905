"""A report that is made in parts: the cells of an earlier run of the matrix beside those of this one. Pure.

Rule: only what was measured alike stands together: the same versions, machine, seed and number of trials. A cell that
was played again is the new one. Summary and published scenarios are made anew from all that is there.
Must not know: files, how anything was played.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lab.cells import Group
from lab.checker import Result
from lab.errors import UsageError

ALIKE = ("schema", "versions", "machine", "seed", "trials")
DECISIVE = frozenset({Group.PUBLISHED, Group.PAWL, Group.CONTROL, Group.OWN})
"""The groups whose cells must be as promised. What peers do is shown, and is theirs."""
Told = Mapping[str, Any]


def summary(cells: Sequence[Told]) -> dict[str, Any]:
    """How many there are, and which are red."""
    good = Result.AS_PROMISED.value
    return {
        "cells": len(cells),
        "trials": sum(len(cell["trials"]) for cell in cells),
        "as_promised": sum(cell["result"] == good for cell in cells),
        "red": [cell["id"] for cell in cells if cell["group"] in DECISIVE and cell["result"] != good],
    }


def check_alike(before: Told, now: Told) -> None:
    """Raises UsageError where two reports do not belong together. Of `now` only what is in `ALIKE` need be there."""
    for name in ALIKE:
        if before.get(name) != now.get(name):
            raise UsageError(
                f"the report that is to be kept has other {name}: {before.get(name)}, and this is {now.get(name)}; "
                "play all of it again, without --keep"
            )


def merged(before: Told, now: Told) -> dict[str, Any]:
    """Both reports as one. Raises UsageError where they do not belong together."""
    check_alike(before, now)
    cells = _in_order({cell["id"]: cell for cell in (*before["cells"], *now["cells"])}.values())
    return {
        **now,
        "started_at": before["started_at"],
        "seconds": round(before["seconds"] + now["seconds"], 1),
        "summary": summary(cells),
        "published": {**now["published"], "rows": _rows(before, now)},
        "cells": cells,
    }


def _in_order(cells: Iterable[Told]) -> list[Told]:
    order = [group.value for group in Group]
    return sorted(cells, key=lambda cell: order.index(cell["group"]))


def _rows(before: Told, now: Told) -> list[Told]:
    """The published scenarios: those that were played now, else as they were."""
    pairs = zip(before["published"]["rows"], now["published"]["rows"], strict=True)
    return [new if new["cell"] is not None else old for old, new in pairs]
