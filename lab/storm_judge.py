"""The verdict over a storm. Pure.

Rule: what was applied is what the receiver's own rows say; a run's own word counts for one question only: whether it is
over, or waits for a person. A run that waits has each effect at most once; one that completed has each exactly once.
Rows that could not be read are no pass.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lab.checker import COMPLETED
from lab.jobs import is_of
from lab.storm_plan import STATE, Member, Strike
from lab.trial import ENDS, WAITS
from mocks.rows import EffectRow, RequestRow

SET_EFFECT = "customer"


@dataclass(frozen=True, slots=True)
class Landed:
    """A strike, when it came (unix seconds), and whether it was seen to land; `proof` or why not."""

    strike: Strike
    at: float
    landed: bool
    proof: str


@dataclass(frozen=True, slots=True)
class RunAfter:
    """One run at the end: the last state that it told, with its reason; when it was submitted and when it was over."""

    member: Member
    state: str
    reason: str
    submitted_at: float
    over_at: float | None = None


@dataclass(frozen=True, slots=True)
class Seen:
    """All that was seen of a storm. The rows are those of all its runs; None where they could not be read."""

    runs: tuple[RunAfter, ...]
    strikes: tuple[Landed, ...]
    requests: tuple[RequestRow, ...] | None
    effects: tuple[EffectRow, ...] | None


@dataclass(frozen=True, slots=True)
class StormVerdict:
    """Sentences by run id; the empty id is for what belongs to no run. Without a sentence the storm was survived."""

    duplicated: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    lost: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    hanging: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unreadable: str | None = None
    parked: Mapping[str, str] = field(default_factory=dict)
    completed: int = 0
    hit: int = 0
    repeated: int = 0

    @property
    def good(self) -> bool:
        return not (self.duplicated or self.lost or self.hanging or self.unreadable)

    @property
    def wrong(self) -> dict[str, tuple[str, ...]]:
        """Every sentence by run."""
        sentences: dict[str, tuple[str, ...]] = {}
        for part in (self.duplicated, self.lost, self.hanging):
            for run_id, told in part.items():
                sentences[run_id] = (*sentences.get(run_id, ()), *told)
        return sentences


def judge(seen: Seen) -> StormVerdict:
    """What became of the runs and their effects."""
    requests, effects = seen.requests, seen.effects
    if requests is None or effects is None:
        return StormVerdict(unreadable="the receiver's rows could not be read")
    applied = Counter(row["effect"] for row in requests if row["applied"])
    made = Counter(row["effect"] for row in effects)
    if applied != made:
        return StormVerdict(unreadable=f"the receiver applied {dict(made)}, and its requests say {dict(applied)}")
    own = {run.member.tag: [row for row in effects if is_of(row, run.member.tag)] for run in seen.runs}
    duplicated = _gathered((run, _twice(run.member, own[run.member.tag])) for run in seen.runs)
    stray = tuple(_stray(seen.runs, effects))
    if stray:
        duplicated[""] = stray
    return StormVerdict(
        duplicated=duplicated,
        lost=_gathered((run, _missing(run, own[run.member.tag])) for run in seen.runs),
        hanging=_gathered((run, _hanging(run)) for run in seen.runs),
        parked={run.member.run_id: f"{run.state}: {run.reason}" for run in seen.runs if run.state in WAITS},
        completed=sum(run.state == COMPLETED for run in seen.runs),
        hit=sum(hits(run, seen.strikes) > 0 for run in seen.runs),
        repeated=len(_repeated(requests)),
    )


def hits(run: RunAfter, strikes: Sequence[Landed]) -> int:
    """How many strikes landed while the run was under way."""
    end = float("inf") if run.over_at is None else run.over_at
    return sum(each.landed and run.submitted_at <= each.at <= end for each in strikes)


def kinds(strikes: Sequence[Landed]) -> dict[str, tuple[int, int]]:
    """By kind of strike: how many landed, of how many."""
    names = sorted({each.strike.name for each in strikes})
    return {
        name: (
            sum(each.landed for each in strikes if each.strike.name == name),
            sum(each.strike.name == name for each in strikes),
        )
        for name in names
    }


def requests_of(member: Member, requests: Sequence[RequestRow], effects: Sequence[EffectRow]) -> list[RequestRow]:
    """The requests that belong to a run, by the keys and references of its effects."""
    own = [row for row in effects if is_of(row, member.tag)]
    marks = {mark for row in own for mark in (row["key"], row["reference"]) if mark}
    return [row for row in requests if {row["key"], row["reference"]} & marks or member.tag in row["path"]]


def _gathered(told: Iterator[tuple[RunAfter, Iterator[str]]]) -> dict[str, tuple[str, ...]]:
    gathered = {run.member.run_id: tuple(sentences) for run, sentences in told}
    return {run_id: sentences for run_id, sentences in gathered.items() if sentences}


def _twice(member: Member, own: Sequence[EffectRow]) -> Iterator[str]:
    for effect, times in Counter(row["effect"] for row in own).items():
        if effect not in member.recipe.effects:
            yield f"{effect} was applied, and nobody asked for it"
        elif effect != SET_EFFECT and times > 1:
            yield f"{effect} was applied {times} times"
    for row in own:
        if row["effect"] == SET_EFFECT and row["body"] != _record(member):
            yield f"the record was written as {row['body']}, which nobody asked for"


def _missing(run: RunAfter, own: Sequence[EffectRow]) -> Iterator[str]:
    if run.state in ENDS and run.state != COMPLETED:
        yield f"the run ended as {run.state}: {run.reason}"
    if run.state == COMPLETED:
        applied = {row["effect"] for row in own}
        for effect in run.member.recipe.effects:
            if effect not in applied:
                yield f"the run completed and {effect} was never applied"


def _hanging(run: RunAfter) -> Iterator[str]:
    if run.state not in ENDS | WAITS:
        yield f"the run did not come to rest: it was last seen as {run.state}"
    elif run.state in WAITS and not run.reason:
        yield f"the run is {run.state} and does not say why"


def _stray(runs: Sequence[RunAfter], effects: Sequence[EffectRow]) -> Iterator[str]:
    for row in effects:
        if not any(is_of(row, run.member.tag) for run in runs):
            yield f"nobody asked for effect {row['n']}: {row['effect']} {row['id']}"


def _repeated(requests: Sequence[RequestRow]) -> set[str]:
    """The keys under which more than one request arrived."""
    counted = Counter(row["key"] for row in requests if row["key"] and row["method"] != "GET")
    return {key for key, times in counted.items() if times > 1}


def _record(member: Member) -> dict[str, Any]:
    return {name: str(value).replace("{tag}", member.tag) for name, value in STATE.items()}
