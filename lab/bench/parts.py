"""The parts of the benchmark, in the order in which they are measured. One line each; `lab.bench.told` says what a part
leaves in bench.json.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from lab.bench import ceiling, clients, growth, memory, recovery, replay, speed, steps, windows, workers
from lab.bench.sitting import Sitting


@dataclass(frozen=True, slots=True)
class Part:
    """`compares`: it has contestants beside Pawl, so that the choice of contestants concerns it."""

    name: str
    title: str
    measure: Callable[[Sitting], dict[str, Any]]
    compares: bool = False


PARTS: Mapping[str, Part] = {
    part.name: part
    for part in (
        Part("ceiling", "what the mocks can do", ceiling.measure),
        Part("speed", "the job on every contestant", speed.measure, compares=True),
        Part("steps", "empty steps, Pawl beside a loop by hand", steps.measure),
        Part("clients", "processor time of one call", clients.measure),
        Part("windows", "applied and not yet recorded", windows.measure),
        Part("recovery", "a kill in the window, to the answer", recovery.measure, compares=True),
        Part("growth", "the cost of a turn in a long run", growth.measure, compares=True),
        Part("replay", "a kill after the last turn of a long run", replay.measure, compares=True),
        Part("workers", "one, two and four workers", workers.measure),
        Part("memory", "the worker's memory after many runs", memory.measure),
    )
}
