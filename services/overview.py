"""One run as it looks from outside: its own record joined with what Restate says about its invocations. Pure.

Rule: what the run knows stands in its record; what it cannot know (stuck, queued, scheduled) stands in Restate's
tables. An ended run is what its record says. A run that waits for a person is still waiting while no worker answers,
as it is when it has been waiting so long that it has no connection to one; anything else that holds it up makes it
stuck.
Must not know: HTTP, SQL, how it is shown.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from services.messages import NEWER, Begun, Intent, Question, Ruling, RunEnd, RunRow, RunState, Tombstone
from services.rulings import Slots
from services.trouble import Cause, Failure, Invocation, Trouble, trouble_of

RUN_ROW = "run"
OWN = ("end", RUN_ROW, "begun")
"""The entries of a run that say where it stands."""
RUN = ("Agent", "run")
ASKED = (("Agent", "submit"), ("Agent", "decide"), ("Agent", "cancel"))
"""What people and programs ask of a run; while no worker answers, such calls wait at Restate."""


class Ahead(StrEnum):
    """Where a run is that has not begun. The run itself cannot know."""

    QUEUED = "queued"
    SCHEDULED = "scheduled"


@dataclass(frozen=True, slots=True)
class Record:
    """The run's own entries, and the slots of its `Decision` by key of the intent. `unreadable`: why entries, by
    name, cannot be read."""

    begun: Begun | None = None
    row: RunRow | None = None
    end: RunEnd | Tombstone | None = None
    intents: tuple[Intent, ...] = ()
    slots: Mapping[str, Slots] = field(default_factory=dict)
    unreadable: Mapping[str, str] = field(default_factory=dict)

    @property
    def newer(self) -> str | None:
        """Why the run's own entries cannot be read, where newer code has written one."""
        own = (self.unreadable.get(name) for name in OWN)
        return next((why for why in own if why is not None and why.startswith(NEWER)), None)

    @property
    def ended(self) -> RunEnd | Tombstone | None:
        """The end of the newest pass; None while one goes on, and where the row that says so cannot be read."""
        if RUN_ROW in self.unreadable and self.row is None:
            return None
        if isinstance(self.end, RunEnd) and self.row is not None and self.end.pass_number < self.row.pass_number:
            return None
        return self.end


@dataclass(frozen=True, slots=True)
class Seen:
    """What was read about one run. `cancelled`: invocations that have been told to end. `at` is the server's time."""

    run_id: str
    at: float
    record: Record = field(default_factory=Record)
    invocations: tuple[Invocation, ...] = ()
    failures: Mapping[str, Sequence[Failure]] = field(default_factory=dict)
    cancelled: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Open:
    """A question that nobody has answered. `since` is unix seconds; `intent` is None for one about the run itself."""

    question: Question
    since: float
    intent: Intent | None


@dataclass(frozen=True, slots=True)
class Overview:
    run_id: str
    at: float
    state: RunState | Ahead
    reason: str
    record: Record
    since: float | None = None
    invocation: Invocation | None = None
    """The one that has the run."""
    questions: tuple[Open, ...] = ()
    trouble: Trouble | None = None
    queued: tuple[Invocation, ...] = ()
    """Further `run` invocations behind it."""
    asked: tuple[Invocation, ...] = ()
    """Calls that no worker has answered yet."""
    cancelling: bool = False

    @property
    def over(self) -> bool:
        """It has ended, and no further pass of it is held up."""
        return self.record.ended is not None and self.trouble is None

    @property
    def waits_for_people(self) -> bool:
        return self.state in (RunState.WAITING_APPROVAL, RunState.OUTCOME_UNKNOWN)


def overview(seen: Seen) -> Overview | None:
    """The run as it stands; None where nothing is known under the id."""
    runs = [each for each in seen.invocations if (each.service, each.handler) == RUN]
    live = [each for each in runs if each.live]
    asked = tuple(each for each in seen.invocations if each.live and (each.service, each.handler) in ASKED)
    active = next((each for each in live if not each.waits), None)
    queued = tuple(each for each in live if each.waits)
    bare = Overview(
        seen.run_id, seen.at, RunState.RUNNING, "", seen.record, invocation=active, queued=queued, asked=asked
    )
    ended = seen.record.ended
    again = first_trouble((active,) if active is not None else (), seen)
    # A repeat of what has ended is answered when a worker is back; a further pass may be held up for good.
    if ended is not None and (again is None or again.heals):
        return replace(bare, state=ended.state, reason=reason_of(ended), since=ended_at(ended))
    if active is not None:
        return going(bare, active, seen)
    if queued:
        first = min(queued, key=lambda each: each.start_at or each.created_at)
        if first.status == "scheduled":
            return replace(bare, state=Ahead.SCHEDULED, reason="it is not yet time to begin", since=first.created_at)
        return replace(bare, state=Ahead.QUEUED, reason="waits for its turn", since=first.created_at)
    if seen.record.newer is not None:
        # Whether it has ended, and how, stands in what cannot be read.
        return unknowable(bare, Trouble(Cause.NEWER, seen.record.newer, ""))
    if seen.record.begun is not None:
        return killed(bare, seen.record.begun, runs)
    if asked:
        trouble = first_trouble(asked, seen)
        reason = "handed to Restate; no worker has taken it yet"
        state = Ahead.QUEUED if trouble is None else RunState.STUCK
        return replace(bare, state=state, reason=reason, since=asked[0].created_at, trouble=trouble)
    return None


def unknowable(bare: Overview, trouble: Trouble) -> Overview:
    return replace(bare, state=RunState.STUCK, reason=f"{trouble.cause}: {trouble.text}", trouble=trouble)


def going(bare: Overview, active: Invocation, seen: Seen) -> Overview:
    """A run that has an invocation which works, waits or fails."""
    row, record = seen.record.row, seen.record
    others = [each for each in seen.invocations if each.live and each is not active and not each.waits]
    trouble = first_trouble((active, *others), seen)
    shown = replace(bare, trouble=trouble, cancelling=active.id in seen.cancelled, since=active.created_at)
    if row is None:
        shown = replace(shown, reason="the first reply is awaited")
    else:
        questions = () if shown.cancelling else open_questions(record)
        shown = replace(shown, state=row.state, reason=row.reason, since=row.since, questions=questions)
        if shown.cancelling:
            shown = replace(shown, state=RunState.RUNNING, reason="told to end")
        elif shown.waits_for_people and row.questions and not questions:
            given = ", ".join(ruling.sentence() for ruling in given_rulings(record))
            shown = replace(shown, state=RunState.RUNNING, reason=f"answered: {given}" if given else row.reason)
    if trouble is None or (shown.waits_for_people and trouble.heals):
        return shown
    return replace(shown, state=RunState.STUCK, reason=f"{trouble.cause}: {trouble.text}", since=trouble.since)


def killed(bare: Overview, begun: Begun, runs: Sequence[Invocation]) -> Overview:
    """A run that has begun, has not ended, and that nothing carries on."""
    last = next((each for each in runs if each.id == begun.invocation), None)
    text = f"its invocation ended with {last.ended_with}" if last is not None else "Restate has no invocation of it"
    trouble = Trouble(Cause.ABSENT, text, begun.invocation)
    row = bare.record.row
    return replace(
        bare,
        state=RunState.STUCK,
        reason=f"{trouble.cause}: {trouble.text}",
        since=row.since if row is not None else None,
        trouble=trouble,
        questions=open_questions(bare.record),
    )


def first_trouble(invocations: Sequence[Invocation], seen: Seen) -> Trouble | None:
    """The trouble of the run's own invocation, or else of one that it may be waiting for."""
    found = (trouble_of(each, seen.failures.get(each.id, ()), seen.at) for each in invocations)
    return next((trouble for trouble in found if trouble is not None), None)


def open_questions(record: Record) -> tuple[Open, ...]:
    if record.row is None:
        return ()
    intents = {intent.key: intent for intent in record.intents}
    found = []
    for question in record.row.questions:
        slot = record.slots.get(question.key, Slots()).find(question.kind, question.number)
        if slot is not None and slot.ruling is not None:
            continue
        since = slot.asked_at if slot is not None and slot.asked_at is not None else record.row.since
        found.append(Open(question, since, intents.get(question.key)))
    return tuple(found)


def given_rulings(record: Record) -> list[Ruling]:
    """Answers to the row's questions that the run has not taken up yet."""
    questions = record.row.questions if record.row is not None else ()
    slots = [record.slots.get(each.key, Slots()).find(each.kind, each.number) for each in questions]
    return [slot.ruling for slot in slots if slot is not None and slot.ruling is not None]


def ended_at(end: RunEnd | Tombstone) -> float:
    return end.at if isinstance(end, RunEnd) else end.ended_at


def reason_of(end: RunEnd | Tombstone) -> str:
    if isinstance(end, Tombstone):
        return "forgotten, or past its retention; only this is kept of it"
    if end.detail.startswith(end.reason):
        return end.detail
    return f"{end.reason}: {end.detail}" if end.detail else end.reason
