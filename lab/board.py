"""What a person sees of a matrix while it runs, and the table at its end.

Rule: at a terminal, a bar and one line for each lane, drawn in place; into a file, one line for each trial that is
over. The table says everything in words: colours only help.
"""

import threading
import time
from collections.abc import Sequence
from typing import Self

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from lab.cells import Group as Part
from lab.cells import Verdict
from lab.checker import Result
from lab.published import TITLE
from lab.results import CellResult
from lab.words import count

STYLES = {
    Result.AS_PROMISED: "green",
    Result.NOT_AS_PROMISED: "bold red",
    Result.CANNOT_TELL: "bold yellow",
}
WIDTH = 150
"""Of a table that goes into a file: no column has to be shortened."""
TITLES = {
    Part.PUBLISHED: f"The scenarios published in: {TITLE}",
    Part.PAWL: "Pawl",
    Part.CONTROL: "Controls, which must fail where they must",
    Part.CONTESTANT: "Peers",
    Part.OWN: "Targets of your own",
}


class Board:
    """The progress of one run. Lanes speak to it from their threads."""

    def __init__(self, trials: int) -> None:
        self._console = Console(highlight=False)
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=self._console,
        )
        self._task = self._progress.add_task("trials", total=trials)
        self._lanes: dict[int, tuple[str, str, float]] = {}
        self._lock = threading.Lock()
        self._done = 0
        self._total = trials
        self._red = 0
        self._live = Live(
            get_renderable=self._draw, console=self._console, refresh_per_second=4, transient=True, auto_refresh=True
        )

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def watch(self, lane: int, what: str, words: str) -> None:
        """What a lane does now."""
        with self._lock:
            if not what:
                self._lanes.pop(lane, None)
                return
            known = self._lanes.get(lane)
            since = known[2] if known is not None and known[0] == what else time.monotonic()
            self._lanes[lane] = (what, words, since)

    def over(self, scene: str, trial: int, red: Sequence[str], seconds: float) -> None:
        """A trial is over; `red` are the cells of it that are not as promised, or cannot be told."""
        with self._lock:
            self._done += 1
            self._red += len(red)
            done = self._done
        self._progress.update(self._task, completed=done)
        if not self._console.is_terminal or red:
            what = Text(f"{done:4}/{self._total}  {seconds:5.1f} s  {scene} trial {trial}")
            if red:
                what.append(f"   not as it must be: {', '.join(red)}", style="bold red")
            self._console.print(what, soft_wrap=True)

    def _draw(self) -> RenderableType:
        with self._lock:
            lanes = sorted(self._lanes.items())
            red = self._red
        now = time.monotonic()
        lines = [Text(f"  {now - since:5.1f} s  {what}: {words}", style="dim") for _, (what, words, since) in lanes]
        told = [Text(f"  not as they must be so far: {count(red, 'cell')}", style="bold red")] if red else []
        return Group(self._progress, *lines, *told)


def print_tables(results: Sequence[CellResult]) -> None:
    """A table for each part of the matrix that has cells."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = WIDTH
    for part in Part:
        members = [each for each in results if each.cell.group is part]
        if members:
            console.print()
            console.print(table(part, members))


def table(part: Part, results: Sequence[CellResult]) -> Table:
    """One part of the matrix, a row for each cell."""
    out = Table(title=TITLES[part], title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False)
    for name in ("target", "job", "fault", "point"):
        out.add_column(name, vertical="bottom", overflow="fold")
    for name in ("model\ncalls", "received", "applied"):
        out.add_column(name, justify="right", vertical="bottom")
    out.add_column("verdict", vertical="bottom")
    out.add_column("recovered", justify="right", vertical="bottom")
    out.add_column("trials\nagree", justify="right", vertical="bottom")
    for each in results:
        out.add_row(
            each.title,
            each.cell.job,
            each.cell.fault.value,
            each.cell.point.value,
            each.counted("model_calls"),
            each.counted("received"),
            each.counted("applied"),
            verdict(each),
            "-" if each.recovered_s is None else f"{each.recovered_s:.1f} s",
            f"{each.agree} of {len(each.trials)}",
        )
    return out


def verdict(result: CellResult) -> Text:
    """The verdict, and whether it is the right one."""
    text = Text(result.verdict.value, style=STYLES[result.result])
    if result.result is Result.NOT_AS_PROMISED:
        text.append(f", must be {' or '.join(sorted(each.value for each in result.cell.expected))}")
    elif result.verdict is Verdict.DUPLICATED:
        text.append(", as it must")
    return text
