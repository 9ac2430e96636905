"""Plays one trial of a scene on a ground, and writes down a history for each of its cells.

Rule: whatever goes wrong is written into the history and never raised, except that the lab itself is asked to end: the
checker says what it means. A ground on which something went wrong, or on which a run did not come to rest, is spoilt.
Must not know: verdicts.
"""

import hashlib
import random
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from itertools import count

import httpx

from lab.cells import Cell, Fault
from lab.checker import own
from lab.errors import LabError
from lab.faults import FAULTS
from lab.ground import Ground
from lab.history import History, Landing, Ledger, RunSeen
from lab.jobs import Job
from lab.matrix import CUTS, Scene
from lab.places import place_of
from lab.trial import Run, Trial

_plays = count(1)

DECIDED_S = 30.0
"""From a person's decision to the end of the run."""


@dataclass(frozen=True, slots=True)
class Played:
    """The histories of a trial, in the order of the scene's cells."""

    histories: tuple[History, ...]
    spoilt: bool


@dataclass(slots=True)
class _Seen:
    """What was read at the end of a trial."""

    ledger: Ledger | None = None
    after: Ledger | None = None
    error: str | None = None


def play(
    scene: Scene,
    ground: Ground,
    number: int,
    seed: int,
    idle: Callable[[], AbstractContextManager[None]],
    say: Callable[[str], None],
) -> Played:
    """One trial. `number` counts trials from 1; with the seed it decides what is left to chance."""
    rng = random.Random(f"{seed}/{scene.target}/{scene.fault}/{scene.point}/{number}")
    runs = [run for cell in scene.cells for run in _runs(cell, ground.jobs[cell.job], number, seed)]
    trial = Trial(ground, runs, rng, idle, say)
    seen = _Seen()
    try:
        FAULTS[scene.fault](trial, place_of(trial, scene.point))
        trial.rest()
        seen.ledger = trial.ledger()
        seen.after = _decide(trial, seen.ledger)
        trial.note("lab", "done")
    except (LabError, TimeoutError, httpx.HTTPError, OSError) as problem:
        seen.error = str(problem) or repr(problem)
        trial.note("lab", "broke off", seen.error)
    spoilt = seen.error is not None or any(run.rested_at is None and not run.abandoned for run in trial.runs)
    histories = [_history(cell, trial, seen) for cell in scene.cells]
    made = tuple(replace(history, trial=number, seed=seed) for history in histories)
    return Played(made, spoilt or not _restored(ground, trial))


def _runs(cell: Cell, job: Job, number: int, seed: int) -> list[Run]:
    made = []
    for index in range(CUTS if cell.fault is Fault.RESTARTED_CUTS else 1):
        # New for each call, so that the same trial can be played again on the same ground.
        mark = hashlib.sha256(f"{cell.id}/{seed}/{number}/{index}/{next(_plays)}".encode()).hexdigest()[:10]
        tag = f"t{mark}"
        made.append(Run(cell.id, job, tag, f"lab-{job.name}-{tag}"))
    return made


def _decide(trial: Trial, ledger: Ledger) -> Ledger | None:
    """A person looks at the receiver and decides on what waits for one; then it must come to a right end."""
    waiting = [run for run in trial.runs if run.state == "outcome_unknown"]
    if not waiting or trial.ground.target.decide is None:
        return None
    trial.say("a person decides what is unknown")
    for run in waiting:
        seen = RunSeen(run.run_id, run.tag, run.state, rested=True)
        run.decided = "happened" if own(run.job, seen, ledger) else "did_not_happen"
        trial.decide(run, run.decided)
    for run in waiting:
        run.state_after = trial.end_of(run, DECIDED_S)
    return trial.ledger()


def _restored(ground: Ground, trial: Trial) -> bool:
    try:
        for name in trial.scripts:
            ground.stack.model.json("DELETE", f"/scripts/{name}")
        ground.restore()
    except (LabError, httpx.HTTPError, OSError):
        return False
    return True


def _history(cell: Cell, trial: Trial, seen: _Seen) -> History:
    runs = [run for run in trial.runs if run.cell == cell.id]
    rested = [run.rested_at for run in runs if run.rested_at is not None]
    recovered = max(rested) - trial.struck_at if rested and trial.struck_at is not None else None
    beside = [run for run in trial.runs if run.cell != cell.id]
    return History(
        cell=cell.id,
        job=cell.job,
        trial=0,
        seed=0,
        started_at=trial.started_at,
        strikes=max(trial.strikes, 0 if cell.fault is Fault.NONE else 1),
        runs=tuple(_run_seen(run) for run in runs),
        landings=_landings(runs),
        events=tuple(event for event in trial.events if not any(run.run_id in event.text for run in beside)),
        ledger=seen.ledger,
        after=seen.after,
        beside=tuple(run.tag for run in beside),
        recovered_s=recovered if recovered is not None and recovered > 0 else None,
        error=seen.error,
        logs=trial.ground.logs(),
    )


def _landings(runs: Sequence[Run]) -> tuple[Landing, ...]:
    """Those of the run at which fewest landed."""
    each = [tuple(run.landings) for run in runs if not run.abandoned]
    return min(each, key=len) if each else ()


def _run_seen(run: Run) -> RunSeen:
    return RunSeen(
        run_id=run.run_id,
        tag=run.tag,
        state=run.state,
        rested=run.rested_at is not None,
        abandoned=run.abandoned,
        decided=run.decided,
        state_after=run.state_after,
        newest=run.newest,
    )
