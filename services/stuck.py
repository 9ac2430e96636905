"""Which stuck runs somebody is to be told of, and when. Pure.

Rule: a run that is held up is told of once for each place in its journal where it stands still, however often and by
whomever it is seen there; once more where it is held up there still after a time. What was told is remembered until the
run has ended.
Must not know: Restate, who looks, who is told.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from pydantic import Field

from services.messages import SCHEMA, Kept, RunState
from services.notice import Event
from services.overview import Overview

NEWS_MAX = 100
"""Told of at one look; the others at the next ones. Where all runs of a version are stuck the first say enough."""
REMEMBERED_MAX = 5_000
"""Runs that have been told of. It bounds what a look reads; of those beyond, the oldest are told of again."""
TEXT_CHARS_MAX = 400


@dataclass(frozen=True, slots=True)
class Found:
    """A run that is held up: since when (unix seconds; None where nobody knows), where in which invocation, why, and
    what helps."""

    run_id: str
    pass_number: int
    place: str
    since: float | None
    why: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Looked:
    """What a look came to. `ended`: runs that had been told of and need not be remembered."""

    found: tuple[Found, ...] = ()
    ended: tuple[str, ...] = ()
    kind: Literal["looked"] = "looked"


@dataclass(frozen=True, slots=True)
class NotLooked:
    """Restate's tables could not be read."""

    why: str
    kind: Literal["not_looked"] = "not_looked"


class Heard(Kept):
    """What was told of a run: where it stood, when (unix seconds), and whether it was told once more."""

    place: str
    at: float
    again: bool = False


class Memory(Kept):
    """What has been told, by run id, and when somebody looked last."""

    schema_number: int = Field(SCHEMA, le=SCHEMA)
    looked_at: float = 0.0
    told: dict[str, Heard] = Field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a run may be stuck before it is told of, and how long after that until it is told of once more."""

    stuck_s: float
    escalate_s: float | None = None

    @property
    def look_s(self) -> float:
        """Between two looks."""
        return min(30.0, max(0.5, self.stuck_s / 2))


@dataclass(frozen=True, slots=True)
class Due:
    """Who is told what now, and what is remembered from now on."""

    memory: Memory
    events: tuple[Event, ...] = field(default=())


def looked(seen: Sequence[Overview], told: Mapping[str, Heard]) -> Looked:
    """What is made of the runs that looked as if they were stuck, and of those that have been told of."""
    there = {run.run_id for run in seen if not run.over}
    return Looked(
        found=tuple(made for run in seen if (made := found(run)) is not None),
        ended=tuple(sorted(run_id for run_id in told if run_id not in there)),
    )


def found(run: Overview) -> Found | None:
    trouble, row = run.trouble, run.record.row
    if run.state is not RunState.STUCK or trouble is None or not trouble.invocation:
        return None
    return Found(
        run.run_id,
        row.pass_number if row is not None else 1,
        f"{trouble.invocation} {trouble.after if trouble.after is not None else '-'}",
        trouble.since,
        f"{trouble.cause.value}: {trouble.text}"[:TEXT_CHARS_MAX],
        trouble.remedy,
    )


def due(memory: Memory, seen: Looked, at: float, patience: Patience) -> Due:
    """`at`: unix seconds of the look."""
    told = {run_id: heard for run_id, heard in memory.told.items() if run_id not in seen.ended}
    events: list[Event] = []
    for each in seen.found:
        if len(events) == NEWS_MAX:
            break
        heard = told.get(each.run_id)
        if heard is None or heard.place != each.place:
            if each.since is None or at - each.since >= patience.stuck_s:
                events.append(event(each, "stuck", at))
                told[each.run_id] = Heard(place=each.place, at=at)
        elif not heard.again and patience.escalate_s is not None and at - heard.at >= patience.escalate_s:
            events.append(event(each, "escalated", at))
            told[each.run_id] = heard.model_copy(update={"again": True})
    newest = sorted(told.items(), key=lambda item: item[1].at)[-REMEMBERED_MAX:]
    return Due(Memory(looked_at=at, told=dict(newest)), tuple(events))


def event(found: Found, name: str, at: float) -> Event:
    return Event(
        name=name,
        run_id=found.run_id,
        pass_number=found.pass_number,
        state=RunState.STUCK,
        reason=found.why,
        remedy=found.remedy,
        at=at,
        about=found.place,
    )
