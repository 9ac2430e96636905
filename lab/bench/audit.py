"""Whether each run did exactly its job, by the rows of model and receiver. Pure.

Rule: what is slow is a number, what is wrong is an error: a run that is lost or doubled makes the measurement void. A
model call may be made again where an engine lost sight of a busy worker; that is counted and told.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lab.bench.jobs import Job
from lab.errors import LabError

Rows = Sequence[Mapping[str, Any]]
SHOWN = 3
AGAIN_MAX = 3
"""Of one run. More is no hiccup any more."""


def tally(rows: Rows) -> dict[str, Counter[str]]:
    """What was applied for each tag, and how many model calls there were."""
    counted: dict[str, Counter[str]] = {}
    for row in rows:
        if row["applied"]:
            counted.setdefault(row["tag"], Counter())[row["what"]] += 1
    return counted


def faults(job: Job, tags: Iterable[str], rows: Rows, *, more_calls: int = 0) -> list[str]:
    """A sentence for each run whose effects, or model calls, are not those of the job; `more_calls` of them may have
    been made again."""
    counted, wanted = tally(rows), Counter(job.effects)
    found = []
    for tag in tags:
        of_tag = counted.get(tag, Counter())
        calls = of_tag.pop("chat", 0)
        if of_tag != wanted:
            found.append(f"run {tag} was to apply {dict(wanted)} and applied {dict(of_tag)}")
        elif not job.turns + 1 <= calls <= job.turns + 1 + more_calls:
            found.append(f"run {tag} was to make {job.turns + 1} model calls and made {calls}")
    return found


def check(who: str, job: Job, tags: Iterable[str], rows: Rows, *, more_calls: int = AGAIN_MAX) -> None:
    """Raises LabError where a run was not as it must be."""
    found = faults(job, tags, rows, more_calls=more_calls)
    if found:
        raise LabError(f"{len(found)} runs of {who} are not right: {'; '.join(found[:SHOWN])}")


def again(job: Job, tags: Iterable[str], rows: Rows) -> int:
    """How many model calls of these runs were made again."""
    counted = tally(rows)
    return sum(max(0, counted[tag]["chat"] - job.turns - 1) for tag in tags if tag in counted)
