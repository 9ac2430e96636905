"""Part `steps`: what keys, ledger and seal cost where nothing else costs anything: empty steps, Pawl beside a loop by
hand with as many journalled steps, that loop without its seals, and that loop with as many rows as the ledger writes.

Rule: model and receiver answer in the worker itself. How many steps and entries each makes is counted by the server,
not claimed.
"""

import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from lab.bench.sitting import Sitting
from lab.bench.sums import ratio, spread
from lab.load import Measured, load
from lab.process import Process
from lab.stack import Stack
from lab.targets import PAWL, Target, control_argv

AT_ONCE = (1, 32)
RUNS = {1: 150, 32: 600}
HAND = Target(name="hand", argv=control_argv("lab.controls.empty"), register=PAWL.register, on_restate=True)
EMPTY = replace(PAWL, name="empty", argv=lambda _listen, _at: (sys.executable, "-m", "tests.workers.empty_steps"))
SEALS = 2
"""One for each turn with an effect."""
PATHS = {
    "pawl": "Agent/{run}/run",
    "bare": "Bare/run",
    "unsealed": "Unsealed/run",
    "with_rows": "WithRows/{run}/run",
}
QUICK_RUNS = {1: 8, 32: 64}
Rounds = Mapping[str, list[Measured]]


def measure(sitting: Sitting) -> dict[str, Any]:
    """See the module."""
    runs = QUICK_RUNS if sitting.quick else RUNS
    found = {at_once: {name: list[Measured]() for name in PATHS} for at_once in AT_ONCE}
    with (
        tempfile.TemporaryDirectory(dir=sitting.folder) as folder,
        Stack(Path(folder), binary=sitting.binary, target=HAND) as stack,
    ):
        hand, pawl = stack.workers[0], stack.add_worker(EMPTY)
        workers: Mapping[str, Process] = {name: pawl if name == "pawl" else hand for name in PATHS}
        for turn in range(-1, sitting.rounds):
            for at_once in AT_ONCE:
                for name, worker in workers.items():
                    measured = load(_address(stack, name, f"{turn}-{at_once}"), runs[at_once], at_once, worker.pid)
                    # The first round warms up and is not counted.
                    if turn >= 0:
                        found[at_once][name].append(measured)
            sitting.say(f"round {turn + 1} of {sitting.rounds}")
        counts = {name: _counts(stack, path.partition("/")[0]) for name, path in PATHS.items()}
    return {
        "steps": {name: steps for name, (steps, _) in counts.items()},
        "entries": {name: entries for name, (_, entries) in counts.items()},
        "loads": [_told(at_once, rounds) for at_once, rounds in found.items()],
    }


def _address(stack: Stack, name: str, prefix: str) -> Callable[[int], str]:
    return lambda number: f"{stack.at.ingress}/{PATHS[name].format(run=f'empty-{prefix}-{number}')}"


def _counts(stack: Stack, service: str) -> tuple[int, int]:
    """How many steps one run of the service has in its journal, and how many entries with them: all that the handler
    wrote or read, but for its input and output."""
    rows = stack.admin.query(
        "SELECT count(1) FILTER (WHERE j.entry_type = 'Command: Run') AS steps, count(1) AS entries "  # noqa: S608 - our own names
        "FROM sys_journal j JOIN sys_invocation i ON j.id = i.id "
        f"WHERE i.target_service_name = '{service}' AND i.target_handler_name = 'run' "
        "AND j.entry_type LIKE 'Command: %' AND j.entry_type NOT IN ('Command: Input', 'Command: Output') "
        "GROUP BY i.id LIMIT 1"
    )
    return (int(rows[0]["steps"]), int(rows[0]["entries"])) if rows else (0, 0)


def _told(at_once: int, rounds: Rounds) -> dict[str, Any]:
    seal_ms = [
        (one.p50_ms - other.p50_ms) / SEALS for one, other in zip(rounds["bare"], rounds["unsealed"], strict=True)
    ]
    seal_cpu_ms = [
        (one.cpu_ms - other.cpu_ms) / SEALS for one, other in zip(rounds["bare"], rounds["unsealed"], strict=True)
    ]
    return {
        "at_once": at_once,
        **{
            name: {
                "runs_per_s": spread([each.runs_per_s for each in measured]),
                "p50_ms": spread([each.p50_ms for each in measured]),
                "cpu_ms": spread([each.cpu_ms for each in measured]),
            }
            for name, measured in rounds.items()
        },
        "pawl_over_bare": ratio(_rates(rounds["pawl"]), _rates(rounds["bare"])),
        "rows_over_bare": ratio(_rates(rounds["with_rows"]), _rates(rounds["bare"])),
        # With many at once a run waits for others most of the time, so there the difference says nothing of a seal.
        "seal_ms": spread(seal_ms) if at_once == 1 else None,
        "seal_cpu_ms": spread(seal_cpu_ms),
    }


def _rates(measured: list[Measured]) -> list[float]:
    return [each.runs_per_s for each in measured]
