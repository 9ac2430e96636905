"""What became of the runs of a scene, job by job. Pure.

Rule: the lab's checker judges; here a scene is put into its words. The same is promised of runs that were not at the
victim: a cluster that loses a node moves the lead of others too.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.table import Table
from rich.text import Text

from lab.cells import Cell, Fault, Group, Point
from lab.checker import Judgement, Result, judge
from lab.containers.scene import SceneSeen
from lab.history import History, RunSeen
from lab.matrix import promised
from lab.trial import Run

JOB_TITLES = {"crm": "SET", "charge": "KEYED", "transfer": "ONCE, with a look-up", "sms": "ONCE"}


@dataclass(frozen=True, slots=True)
class JudgedScene:
    """A scene after it has been judged: per job of a struck run its judgement, and what is wrong beside."""

    name: str
    struck: dict[str, Judgement]
    beside: tuple[str, ...]
    recovered_s: float | None

    @property
    def right(self) -> bool:
        struck = self.struck.values()
        return bool(struck) and all(each.result is Result.AS_PROMISED for each in struck) and not self.beside


def judged(name: str, like: Fault, scene: SceneSeen, error: str | None) -> JudgedScene:
    """`like` is the lab's fault that was played; `error` says why the scene broke off."""
    struck = [run for run in scene.runs if run.landings]
    spared = [run for run in scene.runs if not run.landings]
    verdicts = {run.job.name: _judge(like, scene, run, error) for run in struck}
    if error is not None and not verdicts:
        return JudgedScene(name, {}, (error,), None)
    beside = tuple(_beside(like, scene, spared)) if error is None else ()
    rested = [run.rested_at for run in struck if run.rested_at is not None]
    took = max(rested) - scene.struck_at if rested and scene.struck_at is not None else None
    return JudgedScene(name, verdicts, beside, took)


def _beside(like: Fault, scene: SceneSeen, spared: Sequence[Run]) -> Iterator[str]:
    for run in spared:
        found = _judge(like, scene, run, None)
        if found.result is not Result.AS_PROMISED:
            yield f"{run.run_id}, which was not struck: {found.verdict}. {' '.join(found.findings)}"


def _judge(fault: Fault, scene: SceneSeen, run: Run, error: str | None) -> Judgement:
    kind = run.job.kind
    cell = Cell("containers", run.job.name, fault, Point.APPLIED, promised(kind, fault, Point.APPLIED), Group.PAWL)
    seen = History(
        cell=cell.id,
        job=run.job.name,
        trial=1,
        seed=0,
        started_at=scene.struck_at or 0.0,
        strikes=1 if run.landings else 0,
        runs=(_seen(run),),
        landings=tuple(run.landings),
        ledger=scene.ledger,
        after=scene.after,
        beside=tuple(other.tag for other in scene.runs if other is not run),
        error=error,
    )
    return judge(cell, run.job, seen)


def _seen(run: Run) -> RunSeen:
    return RunSeen(
        run_id=run.run_id,
        tag=run.tag,
        state=run.state,
        rested=run.rested_at is not None,
        decided=run.decided,
        state_after=run.state_after,
    )


def table(scenes: Sequence[JudgedScene]) -> Table:
    out = Table(title="What became of the effects", title_justify="left")
    out.add_column("fault, the effect applied and unread")
    for title in JOB_TITLES.values():
        out.add_column(title)
    out.add_column("fault to rest, s", justify="right")
    for scene in scenes:
        cells = [_cell(scene.struck.get(name)) for name in JOB_TITLES]
        out.add_row(scene.name, *cells, "" if scene.recovered_s is None else f"{scene.recovered_s:.1f}")
    return out


def _cell(found: Judgement | None) -> Text:
    if found is None:
        return Text("-", "dim")
    right = found.result is Result.AS_PROMISED
    return Text(found.verdict.value, "" if right else "bold red")


def wrong(scenes: Sequence[JudgedScene]) -> Iterator[str]:
    """What is not as promised, as sentences."""
    for scene in scenes:
        for name, found in scene.struck.items():
            if found.result is not Result.AS_PROMISED:
                yield f"{scene.name}, {name}: {found.verdict}, {found.result}. {' '.join(found.findings)}"
        yield from (f"{scene.name}: {text}" for text in scene.beside)
        if not scene.struck and not scene.beside:
            yield f"{scene.name}: nothing was struck"
