"""What durability with keys costs over durability without: empty steps, Pawl beside a hand-written Restate loop.

Both run eight journalled steps (one beginning, three model calls, two seals, two effects) against a model and a
receiver that answer at once in the worker itself, in turn, on one server. Only ratios mean anything.

Run: python -m lab empty [--rounds N]
"""

import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from statistics import median

from rich.table import Table

from lab.load import Measured, load
from lab.process import Process
from lab.show import Show
from lab.stack import Stack
from lab.targets import PAWL, Target, control_argv

AT_ONCE = (1, 32)
RUNS = {1: 60, 32: 600}
HAND = Target(
    name="hand",
    argv=control_argv("lab.controls.empty"),
    register=PAWL.register,
    on_restate=True,
)
EMPTY = replace(PAWL, name="empty", argv=lambda _listen, _at: (sys.executable, "-m", "tests.workers.empty_steps"))


def measure(rounds: int) -> dict[int, list[tuple[Measured, Measured]]]:
    """Pawl and the hand-written loop of each round, by how many runs were at work at once."""
    results: dict[int, list[tuple[Measured, Measured]]] = {at_once: [] for at_once in AT_ONCE}
    with tempfile.TemporaryDirectory() as folder, Stack(Path(folder), target=HAND) as stack:
        hand, pawl = stack.workers[0], stack.add_worker(EMPTY)
        for turn in range(-1, rounds):
            for at_once in AT_ONCE:
                pair = _pair(stack, pawl, hand, f"{turn}-{at_once}", at_once)
                # The first round warms both up and is not counted.
                if turn >= 0:
                    results[at_once].append(pair)
    return results


def _pair(stack: Stack, pawl: Process, hand: Process, name: str, at_once: int) -> tuple[Measured, Measured]:
    ingress, runs = stack.at.ingress, RUNS[at_once]
    return (
        load(lambda number: f"{ingress}/Agent/empty-{name}-{number}/run", runs, at_once, pawl.pid),
        load(lambda _: f"{ingress}/Bare/run", runs, at_once, hand.pid),
    )


def rows(results: dict[int, list[tuple[Measured, Measured]]]) -> list[tuple[str, ...]]:
    """For a table: at once, runs per second of both, their ratio, p50 and processor time of both."""
    made = []
    for at_once, pairs in results.items():
        ratio = median(pawl.runs_per_s / hand.runs_per_s for pawl, hand in pairs)
        made.append(
            (
                str(at_once),
                *(f"{median(pair[side].runs_per_s for pair in pairs):.0f}" for side in (0, 1)),
                f"{ratio:.2f}",
                *(f"{median(pair[side].p50_ms for pair in pairs):.1f}" for side in (0, 1)),
                *(f"{median(pair[side].cpu_ms for pair in pairs):.2f}" for side in (0, 1)),
            )
        )
    return made


def report(rounds: int, show: Show) -> int:
    show.line(f"empty steps, {rounds} rounds and one to warm up; runs per second, Pawl beside the hand-written loop")
    columns = ("at once", "Pawl", "by hand", "ratio", "Pawl p50 ms", "by hand p50 ms", "Pawl CPU ms", "by hand CPU ms")
    table = Table(*columns)
    for row in rows(measure(rounds)):
        table.add_row(*row)
    show.table(table)
    return 0
