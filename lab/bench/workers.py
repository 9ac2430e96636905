"""Part `workers`: Pawl with one, two and four workers behind one address, 32 runs at once.

Rule: all of them stand behind the same balancer, the single one too, so that what differs is their number.
"""

import sys
from typing import Any

from lab.bench.field import Batch, Field, Standing
from lab.bench.sitting import Sitting
from lab.bench.sums import spread
from lab.ports import free_port, refuses
from lab.process import Command, Process
from lab.targets import PAWL

AT_ONCE = 32
COUNTS = (1, 2, 4)
RUNS = 250


def measure(sitting: Sitting) -> dict[str, Any]:
    """See the module."""
    counts = COUNTS[:2] if sitting.quick else COUNTS
    runs = sitting.pick(RUNS, AT_ONCE)
    found: dict[int, list[Batch]] = {number: [] for number in counts}
    for turn in range(sitting.rounds):
        for number in counts:
            with sitting.field() as ground:
                on = _several(ground, number, sitting)
                ground.batch(on, sitting.pick(3 * AT_ONCE, AT_ONCE), AT_ONCE)
                found[number].append(ground.batch(on, runs, AT_ONCE))
        sitting.say(f"round {turn + 1} of {sitting.rounds}")
    return {
        "at_once": AT_ONCE,
        "counts": [
            {
                "workers": number,
                "runs_per_s": spread([batch.per_s for batch in found[number]]),
                "each_round": [round(batch.per_s, 3) for batch in found[number]],
                "worker_cpu_s_per_1000": spread([1000 * batch.cpu_s["worker"] / batch.runs for batch in found[number]]),
                # Of processors: what is near the machine's own number is what limits.
                "busy": {part: spread(_busy(found[number], part)) for part in ("worker", "engine", "mocks", "load")},
            }
            for number in counts
        ],
    }


def _busy(batches: list[Batch], part: str) -> list[float]:
    return [batch.cpu_s[part] / batch.driven.seconds for batch in batches]


def _several(ground: Field, number: int, sitting: Sitting) -> Standing:
    contestant = sitting.pawl()
    on = ground.add(contestant, known=False)
    for _ in range(number - 1):
        on.workers.append(ground.stack.add_worker(contestant.target, at=on.at, known_as=""))
    port = free_port()
    ports = [str(worker.command.port) for worker in on.workers]
    command = Command(
        name="balancer",
        argv=(sys.executable, "-m", "lab.bench.balance", str(port), *ports),
        env={},
        log=ground.stack.logs / "balancer.log",
        port=port,
        ready=lambda: not refuses(port),
    )
    ground.run(Process(command))
    PAWL.register(ground.stack.at, f"http://127.0.0.1:{port}")
    return on
