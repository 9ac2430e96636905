"""What the matrix says at its end: the tables, what is red and why, how to see it again, and whether all is well.

Rule: it speaks of what was played and of nothing else. Of a cell that is red it says what was seen and what it must be;
of an own target's also which promise would fit, because the file may be what is wrong.
Must not know: how anything was played.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from lab import board, matrix
from lab.cells import Group
from lab.checker import Result
from lab.paths import shown
from lab.results import CellResult, red
from lab.show import Show
from lab.targets import Promise
from lab.words import all_well, count

FILE_MAY_SAY = (Promise.ONCE, Promise.RECORDED, Promise.NOTHING)


def tell(
    results: Sequence[CellResult], seconds: float, out: Path, logs: Path, again: Callable[[str], str], show: Show
) -> int:
    """All of it; the exit code. `again` makes the command that plays one cell once more, from its id."""
    board.print_tables(results)
    bad = red(results)
    show.blank()
    for each in bad:
        show.error(why(each))
        show.error(f"  again: {again(each.cell.id)}")
    own = [each for each in results if each.cell.group is Group.OWN]
    if any(_breaks_its_promise(each) for each in own):
        show.error(fitting(own))
    twice = sum(trial.replayed is not None for each in results for trial in each.trials)
    if twice:
        show.line(f"{count(twice, 'trial was', 'trials were')} played twice, because the first time could not be told")
    show.line(f"{count(len(results), 'cell')} in {seconds:.0f} s; report and histories are in {shown(out)}")
    if bad:
        show.error(
            f"{count(len(bad), 'cell is', 'cells are')} not as {'it' if len(bad) == 1 else 'they'} must be; "
            f"the logs are in {shown(logs)}"
        )
        return 1
    others = [each.cell.id for each in results if each.result is not Result.AS_PROMISED]
    if others:
        show.line(f"of the peers these are not as expected, which does not decide: {', '.join(others)}", "yellow")
    show.line(all_well({each.cell.group for each in results}), "green")
    return 0


def why(of: CellResult) -> str:
    """What was seen of a red cell, what it must be, and what the checker found."""
    said = f"{of.cell.id}: {of.verdict.value}, {of.result.value}"
    if _breaks_its_promise(of):
        by = "by its file's promise " if of.cell.group is Group.OWN else ""
        said += f"; {by}it must be {' or '.join(sorted(each.value for each in of.cell.expected))}"
    return f"{said}. {' '.join(of.findings)}".rstrip()


def fitting(results: Sequence[CellResult]) -> str:
    """Which promises the verdicts of an own target fit."""
    promises = [
        f'"{promise.value}"'
        for promise in FILE_MAY_SAY
        if all(each.verdict is matrix.must_be(promise, each.cell.fault, each.cell.point) for each in results)
    ]
    if not promises:
        return "What was seen fits no promise that the target's file may make: once, recorded or nothing."
    return f"What was seen fits promise = {' or '.join(promises)}: if that is right, write it into the target's file."


def _breaks_its_promise(of: CellResult) -> bool:
    """The verdict itself is another one than was promised; a count may be wrong beside a right verdict."""
    return of.result is Result.NOT_AS_PROMISED and of.verdict not in of.cell.expected
