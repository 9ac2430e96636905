"""`matrix`: plays the cells that were asked for, shows how it goes, judges, and writes the report.

Rule: the exit code is 0 only when every cell of Pawl has a verdict that its class promises and every control fails as
it must; peers are shown and do not decide. Whatever was seen of a trial is kept as a history below the report's
folder, so that it can be judged, drawn and read again.
"""

import importlib.metadata
import json
import os
import platform
import shlex
import shutil
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from lab import board, history, matrix, own, server
from lab.cells import Cell, Fault, Group, Verdict
from lab.checker import Judgement, Result, judge
from lab.closing import tell
from lab.contestants import targets as peers
from lab.errors import LabError, UsageError
from lab.faults.people import KEY_LIFETIME_S
from lab.ground import Ground, GroundKind
from lab.history import History
from lab.jobs import JOBS, Job
from lab.lanes import Lanes, Task
from lab.matrix import Scene
from lab.merging import check_alike, merged
from lab.paths import SCRATCH, shown
from lab.play import Played
from lab.results import SCHEMA, CellResult, TrialResult, junit, red, report
from lab.show import Show
from lab.signals import shielded
from lab.targets import CONTROLS, PAWL, Target
from lab.words import count

KEY_LIFETIME = (("PAWL_KEY_LIFETIME_S", f"{KEY_LIFETIME_S:g}"),)
NODES = 3
HISTORIES = Path("histories")
UNPLAYED = Judgement(Verdict.INVALID, Result.CANNOT_TELL, ("it was not played",))
LOOK_S = 0.2
OUT = Path("lab-report")
"""Where report and histories go unless something else is asked for."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked for on the command line."""

    trials: int
    only: str | None
    out: Path
    jobs: int
    seed: int
    target: Path | None = None
    folder: Path = SCRATCH
    keep: bool = False

    def again(self, cell: str) -> str:
        """The command that plays one cell as it was played, for a shell."""
        said = f"python -m lab matrix --only {shlex.quote(cell)} --seed {self.seed} --trials {self.trials}"
        usual = {"--target": None, "--out": OUT, "--dir": SCRATCH}
        given = {"--target": self.target, "--out": self.out, "--dir": self.folder}
        for option, path in given.items():
            if path is not None and path != usual[option]:
                said += f" {option} {shlex.quote(shown(path))}"
        return said


@dataclass(frozen=True, slots=True)
class Lineup:
    """Who takes part: targets and jobs by name, and the cells."""

    targets: Mapping[str, Target]
    jobs: Mapping[str, Job]
    cells: tuple[Cell, ...]
    missing: tuple[str, ...] = ()
    """Sentences about targets that cannot run here."""


def lineup(asked_target: Path | None, only: str | None) -> Lineup:
    """Pawl, the controls and the peers that are installed; or the target that a file describes, and nobody else.
    Raises UsageError."""
    others = [(target, peers.why_not(target)) for target in peers.TARGETS]
    present = [target for target, missing in others if missing is None]
    told = [own.load(asked_target)] if asked_target is not None else []
    known = {target.name: target for target in (PAWL, *CONTROLS, *present)}
    if told and told[0][0].name in known:
        raise UsageError(f"the target's file: there is a target {told[0][0].name} already; choose another name")
    cells = matrix.chosen(matrix.cells(present, told), only)
    if told:
        others, cells = [], tuple(cell for cell in cells if cell.group is Group.OWN)
    return Lineup(
        {**known, **{target.name: target for target, _ in told}},
        {**JOBS, **{job.name: job for _, job in told}},
        cells,
        tuple(dict.fromkeys(f"{target.title.partition(',')[0]}: {why}" for target, why in others if why)),
    )


def kind_of(scene: Scene, targets: Mapping[str, Target]) -> GroundKind:
    """The ground that a scene needs."""
    target = targets[scene.target]
    match scene.fault:
        case Fault.KEY_EXPIRED:
            return GroundKind(target, KEY_LIFETIME)
        case Fault.LEADER_KILL:
            return GroundKind(target, nodes=NODES)
        case _:
            return GroundKind(target)


@dataclass(slots=True)
class Tray:
    """What the lanes bring: histories are written and judged, and kept by cell and trial."""

    asked: Asked
    lineup: Lineup
    board: board.Board
    kept: dict[str, dict[int, TrialResult]] = field(default_factory=lambda: defaultdict(dict))
    lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, task: Task, played: Played) -> bool:
        """Whether the trial can be told; one that cannot is kept as well, in case it cannot be told again."""
        judged = [
            (cell, seen, judge(cell, self.lineup.jobs[cell.job], seen))
            for cell, seen in zip(task.scene.cells, played.histories, strict=True)
        ]
        good = all(judgement.result is not Result.CANNOT_TELL for _, _, judgement in judged)
        for cell, seen, judgement in judged:
            self._keep(cell, task, seen, judgement)
        if good or task.again:
            bad = [cell.id for cell, _, judgement in judged if judgement.result is not Result.AS_PROMISED]
            self.board.over(task.scene.id, task.number, bad, time.time() - played.histories[0].started_at)
        return good

    def fail(self, task: Task, why: str) -> None:
        """The ground did not open: nothing can be told."""
        broken = [
            History(cell.id, cell.job, task.number, self.asked.seed, time.time(), 1, error=why)
            for cell in task.scene.cells
        ]
        self.take(task, Played(tuple(broken), spoilt=True))

    def _keep(self, cell: Cell, task: Task, seen: History, judgement: Judgement) -> None:
        with self.lock:
            before = self.kept[cell.id].get(task.number)
        again = "-again" if task.again and before is not None else ""
        file = HISTORIES / folder_of(cell) / f"trial-{task.number}{again}.json"
        history.write(seen, self.asked.out / file)
        replayed = "; ".join(before.judgement.findings) if before is not None else None
        kept = TrialResult(task.number, self.asked.seed, judgement, seen.recovered_s, str(file), replayed)
        with self.lock:
            self.kept[cell.id][task.number] = kept

    def results(self) -> list[CellResult]:
        """Of all cells, in the order of the matrix. A trial that was not played cannot be told."""
        return [
            CellResult(
                cell,
                self.lineup.targets[cell.target].title,
                self.lineup.jobs[cell.job],
                tuple(
                    self.kept[cell.id].get(number) or TrialResult(number, self.asked.seed, UNPLAYED, None, "")
                    for number in range(1, self.asked.trials + 1)
                ),
            )
            for cell in self.lineup.cells
        ]


def list_cells(asked: Asked, show: Show) -> int:
    """The ids, one in a line, without running anything."""
    for cell in lineup(asked.target, asked.only).cells:
        show.verbatim(cell.id)
    return 0


def run(asked: Asked, show: Show) -> int:
    """Play, judge, write, show; the exit code."""
    who = lineup(asked.target, asked.only)
    if not who.cells:
        which = f" --target {shown(asked.target)}" if asked.target else ""
        raise UsageError(f"no cell fits {asked.only}; `python -m lab matrix{which} --list` shows them all")
    binary = server.find()
    versions = versions_of(server.check_version(binary))
    scenes = matrix.scenes(who.cells)
    tasks = [
        Task(scene, kind_of(scene, who.targets), number) for number in range(1, asked.trials + 1) for scene in scenes
    ]
    show.line(
        f"{count(len(who.cells), 'cell')} in {count(len(scenes), 'scene')}, {count(asked.trials, 'trial')} each, "
        f"seed {asked.seed}; restate-server {versions['restate_server']}, {asked.jobs} at work at a time"
    )
    for sentence in who.missing if asked.only is None else ():
        show.line(f"left out: {sentence}")
    about: dict[str, Any] = {
        "seed": asked.seed,
        "trials": asked.trials,
        "versions": versions,
        "machine": machine(),
        "left_out": list(who.missing),
    }
    before = kept(asked.out) if asked.keep else None
    if before is not None:
        check_alike(before, {"schema": SCHEMA, **about})
    asked.folder.mkdir(parents=True, exist_ok=True)
    mine = Path(tempfile.mkdtemp(prefix="matrix-", dir=asked.folder))
    if asked.target is not None:
        try_out(tasks[0].kind, mine / "first", binary)
    for name in (folder_of(cell) for cell in who.cells) if before else ("",):
        shutil.rmtree(asked.out / HISTORIES / name, ignore_errors=True)
    started = time.time()
    tray = Tray(asked, who, board.Board(len(tasks)))
    try:
        play_all(tray, tasks, mine, binary)
    finally:
        if not red(tray.results()):
            shutil.rmtree(mine, ignore_errors=True)
    seconds = round(time.time() - started, 1)
    write(asked.out, tray.results(), {"started_at": started, "seconds": seconds, **about}, before)
    return tell(tray.results(), seconds, asked.out, mine, asked.again, show)


def try_out(kind: GroundKind, folder: Path, binary: Path) -> None:
    """Start an own target once: one that does not start is a mistake in its file, and no cell has to find that out.
    Raises LabError."""
    folder.mkdir()
    try:
        with Ground(kind, folder, binary):
            pass
    except (LabError, httpx.HTTPError, OSError) as error:
        raise LabError(f"{kind.target.title} does not start, so nothing was played: {error}") from error


def play_all(tray: Tray, tasks: Sequence[Task], folder: Path, binary: Path) -> None:
    """Returns when every trial is over; ends all that was started where the lab is asked to end."""
    asked = tray.asked
    lanes = Lanes(folder, binary, asked.jobs, asked.seed, tray.take, tray.fail, tray.board.watch, tray.lineup.jobs)
    with tray.board:
        try:
            lanes.start(tasks)
            while lanes.running:
                time.sleep(LOOK_S)
        except BaseException:
            with shielded(deliver=False):
                lanes.stop()
            raise


def write(
    out: Path, results: Sequence[CellResult], about: Mapping[str, Any], before: Mapping[str, Any] | None = None
) -> None:
    """report.json and junit.xml, with the cells of an earlier report where one is kept."""
    out.mkdir(parents=True, exist_ok=True)
    told = report(results, about) if before is None else merged(before, report(results, about))
    (out / "report.json").write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    (out / "junit.xml").write_text(junit(told), encoding="utf-8")


def kept(out: Path) -> dict[str, Any] | None:
    """The report that is there; None where there is none yet. Raises UsageError where it cannot be read."""
    try:
        return dict(json.loads((out / "report.json").read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise UsageError(f"the report in {shown(out)} cannot be kept, because it cannot be read: {error}") from error


def folder_of(cell: Cell) -> str:
    """Where a cell's histories are kept."""
    return cell.id.replace("/", "_")


def versions_of(restate_server: str) -> dict[str, str]:
    """What was tested, and on what."""
    found = {name: importlib.metadata.version(name) for name in ("restate-sdk", "httpx", "openai", "hypercorn")}
    return {"restate_server": restate_server, "python": platform.python_version(), **found}


def machine() -> dict[str, Any]:
    return {"system": platform.platform(), "processors": os.cpu_count()}
