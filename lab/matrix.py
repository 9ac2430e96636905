"""The matrix: every cell, and how cells are gathered into scenes. Pure.

Rule: a list, made from tables; what is expected of a cell follows from what its target promises. Cells that strike the
same target at the same point with the same fault and do not disturb each other make one scene: their runs are under way
together and are struck together, each at its own effect.
Must not know: how anything is done.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from lab.cells import UNCOUNTED, Cell, Counts, Fault, Group, Point, Verdict, named
from lab.jobs import JOBS, Class, Job
from lab.published import JOB, PUBLISHED
from lab.targets import CONTROLS, KEYED, PAWL, Promise, Target

ALL = ("order", "crm", "charge", "transfer", "sms")
EFFECTS = ("crm", "charge", "transfer", "sms")
REPEATING = ("order", "crm", "charge")
ONCES = ("transfer", "sms")

EFFECT = (Point.ARRIVED, Point.APPLIED, Point.UNRECORDED, Point.RECORDED)
"""From the moment at which a request is out."""
MODEL_ASKED = (Point.MODEL_ARRIVED, Point.MODEL_ANSWERED, Point.MODEL_UNRECORDED, Point.MODEL_RECORDED)
MODEL = (Point.MODEL_BEFORE, *MODEL_ASKED)
"""All points of a model call."""

Row = tuple[Fault, tuple[Point, ...], tuple[str, ...]]
"""A fault, the points at which it strikes, the jobs that it strikes there."""

TOGETHER: tuple[Row, ...] = (
    (Fault.NONE, (Point.NONE,), ALL),
    (Fault.WORKER_KILL, (Point.BEFORE,), EFFECTS),
    (Fault.WORKER_KILL, EFFECT, ALL),
    (Fault.WORKER_KILL, MODEL, ALL),
    (Fault.WORKER_KILL_TWICE, (Point.ARRIVED, Point.APPLIED, Point.UNRECORDED), REPEATING),
    (Fault.WORKER_KILL_TWICE, (Point.ARRIVED, Point.APPLIED, Point.UNRECORDED), ONCES),
    (Fault.WORKER_KILL_TWICE, (Point.MODEL_UNRECORDED,), EFFECTS),
    (Fault.WORKER_FREEZE, EFFECT, ALL),
    (Fault.WORKER_FREEZE, MODEL, ALL),
    (Fault.WORKER_FREEZE, (Point.BEFORE,), ("crm", "charge")),
    (Fault.WORKER_FREEZE_LATE, (Point.BEFORE,), EFFECTS),
    (Fault.WORKER_REDEPLOY, (Point.BEFORE,), EFFECTS),
    (Fault.WORKER_REDEPLOY, EFFECT, ALL),
    (Fault.WORKER_REDEPLOY, MODEL, ALL),
    (Fault.SERVER_KILL, (Point.BEFORE,), EFFECTS),
    (Fault.SERVER_KILL, EFFECT, ALL),
    (Fault.SERVER_KILL, MODEL_ASKED, ALL),
    (Fault.BOTH_KILL, (Point.BEFORE,), EFFECTS),
    (Fault.BOTH_KILL, EFFECT, ALL),
    (Fault.BOTH_KILL, MODEL_ASKED, ALL),
    (Fault.LINE_CUT, (Point.BEFORE,), EFFECTS),
    (Fault.LINE_CUT, EFFECT, ALL),
    (Fault.LINE_CUT, MODEL, ALL),
    (Fault.LINE_DEAD, (Point.BEFORE,), EFFECTS),
    (Fault.LINE_DEAD, EFFECT, ALL),
    (Fault.LINE_DEAD, MODEL, ALL),
    (Fault.RECEIVER_KILL, (Point.ARRIVED, Point.APPLIED), ALL),
    (Fault.MODEL_KILL, (Point.MODEL_ARRIVED, Point.MODEL_ANSWERED), ALL),
    (Fault.ANSWER_LOST, (Point.ARRIVED, Point.APPLIED, Point.MODEL_ANSWERED), ALL),
    (Fault.RESTARTED_SCRATCH, (Point.BEFORE,), EFFECTS),
    (Fault.RESTARTED_SCRATCH, EFFECT, ALL),
    (Fault.RESTARTED_SCRATCH, MODEL_ASKED, ALL),
    (Fault.RESTARTED_ENDED, (Point.NONE,), ALL),
    (Fault.SUBMITTED_TWICE, (Point.APPLIED,), ALL),
)
"""Pawl's cells whose runs are under way together."""

ALONE: tuple[Row, ...] = (
    (Fault.RESTARTED_CUTS, (Point.ARRIVED, Point.APPLIED, Point.RECORDED), EFFECTS),
    (Fault.LEADER_KILL, EFFECT, ("charge",)),
    (Fault.LEADER_KILL, (Point.MODEL_ARRIVED, Point.MODEL_ANSWERED, Point.MODEL_UNRECORDED), ("charge",)),
    (Fault.LEADER_KILL, (Point.APPLIED,), ("transfer", "sms")),
    (Fault.ASKED_AGAIN, (Point.NONE,), ("sms-again", "transfer-again")),
    (Fault.DRIFT_AMOUNT, (Point.MODEL_UNRECORDED,), ("charge-other-amount",)),
    (Fault.DRIFT_WORDS, (Point.APPLIED,), ("charge-other-words",)),
    (Fault.KEY_EXPIRED, (Point.ARRIVED, Point.APPLIED), ("charge",)),
    (Fault.WRITTEN_SINCE, (Point.APPLIED,), ("crm",)),
    (Fault.WRITTEN_VERSION, (Point.APPLIED,), ("crm-version",)),
)
"""Pawl's cells with one run at a time, or one of their own ground."""

CONTROL_ROWS: tuple[tuple[Fault, tuple[Point, ...]], ...] = (
    (Fault.NONE, (Point.NONE,)),
    (
        Fault.WORKER_KILL,
        (Point.BEFORE, Point.ARRIVED, Point.APPLIED, Point.UNRECORDED, Point.RECORDED, Point.MODEL_ANSWERED),
    ),
)
ENGINE_ROWS: tuple[tuple[Fault, tuple[Point, ...]], ...] = (
    (Fault.WORKER_FREEZE, (Point.APPLIED,)),
    (Fault.SERVER_KILL, (Point.APPLIED,)),
    (Fault.LINE_CUT, (Point.APPLIED,)),
    (Fault.ANSWER_LOST, (Point.APPLIED,)),
    (Fault.RESTARTED_SCRATCH, (Point.APPLIED,)),
)
"""For controls that live in a restate-server."""
UNHEEDED_POINTS = (Point.ARRIVED, Point.APPLIED, Point.RECORDED)
"""Where the worker is killed before a receiver that takes no notice of keys."""

CUTS = 24
"""Runs of a cell that restarts from every index: a journal is shorter at the point."""
IN_DOUBT = frozenset({Point.BEFORE, Point.ARRIVED, Point.APPLIED, Point.UNRECORDED})
"""Here a worker that takes over cannot know by itself whether the request has left."""
ASKS_ANEW = frozenset(
    {
        Fault.RESTARTED_SCRATCH,
        Fault.RESTARTED_CUTS,
        Fault.RESTARTED_ENDED,
        Fault.MODEL_KILL,
        Fault.DRIFT_WORDS,
        Fault.LEADER_KILL,
    }
)
"""Here the model may be asked more often: from the start, or until it is back, or whenever the lead changes hands."""
ALONE_FAULTS = frozenset(fault for fault, _, _ in ALONE)


def cells(contestants: Iterable[Target] = (), own: Iterable[tuple[Target, Job]] = ()) -> tuple[Cell, ...]:
    """All of them, in the order of the report."""
    made = [*_published(), *_pawl()]
    for target in CONTROLS:
        made += _by_promise(target, "charge", Group.CONTROL)
    made += _unheeded(KEYED, PAWL)
    for target in contestants:
        made += _by_promise(target, "charge", Group.CONTESTANT)
    for target, job in own:
        made += _by_promise(target, job.name, Group.OWN)
    return tuple(made)


def chosen(from_cells: Sequence[Cell], pattern: str | None) -> tuple[Cell, ...]:
    """Those whose id fits: a shell pattern, or some of the id's words in a row; or the name of a group. Several are
    parted by commas."""
    if not pattern:
        return tuple(from_cells)
    parts = [part.strip() for part in pattern.split(",") if part.strip()]
    return tuple(cell for cell in from_cells if any(part == cell.group or _fits(cell.id, part) for part in parts))


def _fits(name: str, part: str) -> bool:
    if any(sign in part for sign in "*?["):
        return fnmatchcase(name, part) or fnmatchcase(name, f"{part.rstrip('/')}/*")
    return f"/{part.strip('/')}/" in f"/{name}/"


def _published() -> Iterator[Cell]:
    for scenario in PUBLISHED:
        once = scenario.counts.applied == 1
        yield Cell(
            target=scenario.target,
            job=JOB,
            fault=scenario.fault,
            point=scenario.point,
            expected=frozenset({Verdict.ONCE if once else Verdict.DUPLICATED}),
            group=Group.PUBLISHED,
            counts=scenario.counts,
        )


def _pawl() -> Iterator[Cell]:
    for fault, points, jobs in (*TOGETHER, *ALONE):
        for point in points:
            for name in jobs:
                yield Cell(
                    target=PAWL.name,
                    job=name,
                    fault=fault,
                    point=point,
                    expected=promised(JOBS[name].kind, fault, point),
                    group=Group.PAWL,
                    counts=_model_limit(JOBS[name], fault, point),
                    silent=fault is Fault.WORKER_FREEZE_LATE,
                )


def promised(kind: Class, fault: Fault, point: Point) -> frozenset[Verdict]:
    """What the effect class promises."""
    once, unknown = frozenset({Verdict.ONCE}), frozenset({Verdict.UNKNOWN})
    if kind is Class.READ:
        return frozenset({Verdict.NONE})
    if fault is Fault.KEY_EXPIRED:
        return unknown if point is Point.ARRIVED else once
    if fault in (Fault.WRITTEN_SINCE, Fault.WRITTEN_VERSION):
        return once | unknown
    restarted = fault in (Fault.RESTARTED_SCRATCH, Fault.RESTARTED_CUTS)
    if restarted and kind is not Class.KEYED and not point.value.startswith("model"):
        # The new pass knows that it was armed and not what became of it: what the journal had recorded is gone.
        return once | unknown
    if kind is Class.SET and fault is Fault.WORKER_FREEZE_LATE:
        return once | unknown
    if kind in (Class.ONCE, Class.ONCE_FOUND) and point in IN_DOUBT:
        return once | unknown
    return once


def _model_limit(job: Job, fault: Fault, point: Point) -> Counts:
    """A reply that was recorded is not asked for again; one that a strike cut off is, and so is one of an attempt that
    the server gave up by itself on a busy machine."""
    if fault in ASKS_ANEW:
        return UNCOUNTED
    struck = 2 if fault is Fault.WORKER_KILL_TWICE else 1
    return Counts(model_calls_max=job.model_calls + 1 + (struck if point.value.startswith("model") else 0))


def _by_promise(target: Target, job: str, group: Group) -> Iterator[Cell]:
    rows = (*CONTROL_ROWS, *(ENGINE_ROWS if target.on_restate else ()))
    for fault, points in rows:
        for point in points:
            if not can_be_brought_to(target, point) or (
                fault is Fault.RESTARTED_SCRATCH and group is not Group.CONTROL
            ):
                continue
            yield Cell(
                target=target.name,
                job=job,
                fault=fault,
                point=point,
                expected=frozenset({must_be(target.promise, fault, point)}),
                group=group,
            )


def _unheeded(*targets: Target) -> Iterator[Cell]:
    """A key keeps nothing single by itself: where the receiver does not look at it, Pawl's KEYED doubles as well."""
    for target in targets:
        for point in UNHEEDED_POINTS:
            yield Cell(
                target=target.name,
                job="charge",
                fault=Fault.KEYS_IGNORED,
                point=point,
                expected=frozenset({must_be(Promise.RECORDED, Fault.KEYS_IGNORED, point)}),
                group=Group.CONTROL,
            )


def can_be_brought_to(target: Target, point: Point) -> bool:
    """Whether the lab can hold a target there from outside."""
    if point in (Point.UNRECORDED, Point.MODEL_UNRECORDED, Point.MODEL_RECORDED):
        return target.on_restate and target.effect_is_step
    return point is not Point.MODEL_BEFORE or target is PAWL


def must_be(promise: Promise, fault: Fault, point: Point) -> Verdict:
    """What must be seen of a target that promises so."""
    if fault is Fault.RESTARTED_SCRATCH:
        return Verdict.DUPLICATED
    if promise in (Promise.ONCE, Promise.BY_CLASS) or point in (Point.NONE, Point.BEFORE, Point.MODEL_ANSWERED):
        return Verdict.ONCE
    if point is Point.RECORDED and promise is Promise.RECORDED:
        return Verdict.ONCE
    return Verdict.DUPLICATED


@dataclass(frozen=True, slots=True)
class Scene:
    """Cells that are played together."""

    target: str
    fault: Fault
    point: Point
    cells: tuple[Cell, ...]

    @property
    def id(self) -> str:
        jobs = "+".join(cell.job for cell in self.cells)
        return named(self.target, jobs, self.fault, self.point)


def scenes(of_cells: Iterable[Cell]) -> tuple[Scene, ...]:
    """The cells gathered, in their order."""
    gathered: dict[tuple[object, ...], list[Cell]] = {}
    for cell in of_cells:
        gathered.setdefault(_together(cell), []).append(cell)
    return tuple(Scene(group[0].target, group[0].fault, group[0].point, tuple(group)) for group in gathered.values())


def _together(cell: Cell) -> tuple[object, ...]:
    alone = cell.id if cell.fault in ALONE_FAULTS or cell.group is not Group.PAWL else None
    # A second attempt of what leaves once only does not come to the point again.
    once = cell.fault is Fault.WORKER_KILL_TWICE and JOBS[cell.job].kind in (Class.ONCE, Class.ONCE_FOUND)
    return (cell.group, cell.target, cell.fault, cell.point, once, alone)
