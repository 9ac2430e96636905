"""Part `replay`: a run of 200 turns whose worker is killed while the model thinks; another one, warm, takes over.

Rule: the clock runs from the first bytes of the run's journal that reach the second worker, which the relay before it
sees, to the arrival of the repeated model request. Start of a process and waits of the server are not in it; those are
the part `recovery`. The server says how many entries the journal has.
"""

import threading
import time
from dataclasses import dataclass, field
from typing import Any

from lab.background import Background
from lab.bench.audit import check
from lab.bench.contestants import LEAN, Contestant
from lab.bench.field import Field
from lab.bench.growth import QUICK_TURNS, ROOM, TURNS
from lab.bench.jobs import Job, long
from lab.bench.recovery import ANSWER_S, HELD_S, patient
from lab.bench.sitting import Sitting
from lab.bench.sums import spread
from lab.process import wait_until
from lab.relay import Relay, Way

WHO = (LEAN, "pawl")
TRIALS = 3


@dataclass(slots=True)
class Seen:
    """When DATA came to the worker last, and first since it was asked to watch."""

    first: float | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def see(self, way: Way, _stream: tuple[int, int], _raw: bytes) -> None:
        with self.lock:
            if way is Way.TO_WORKER and self.first is None:
                self.first = time.time()


def measure(sitting: Sitting) -> dict[str, Any]:
    """See the module."""
    job = long(sitting.pick(TURNS, QUICK_TURNS))
    told: list[dict[str, Any]] = []
    for each in sitting.of(*WHO):
        found = [_once(sitting, each, job) for _ in range(sitting.pick(TRIALS, 1))]
        told.append(
            {
                "name": each.name,
                "title": each.title,
                "entries": found[0][0],
                "replay_ms": spread([ms for _, ms in found]),
                "ms_per_entry": spread([ms / entries for entries, ms in found], 4),
            }
        )
        sitting.say(f"{each.title}: {told[-1]['ms_per_entry']['median']} ms for each entry")
    return {"turns": job.turns, "contestants": told}


def _once(sitting: Sitting, contestant: Contestant, job: Job) -> tuple[int, float]:
    with sitting.field() as ground, Relay(0) as line:
        env = ROOM if contestant.name == "pawl" else None
        on = ground.add(contestant, env, line)
        second = ground.stack.add_worker(contestant.target, env, at=on.at, known_as="")
        for worker in (second, on.worker):
            line.aim(worker.command.port)
            line.cut()
            ground.batch(on, 8, 4)
        tag = f"{contestant.name.replace('-', '')}r0x"
        ground.stack.model.json("POST", "/hold", {"what": "chat", "tag": tag, "turn": job.turns})
        asked = ground.request(on, tag, job)
        waiting = Background(lambda: patient(asked.url, dict(asked.body), again=False))
        wait_until(
            "the last model call", lambda: ground.stack.model.json("GET", "/held")["held"] == 1, HELD_S + ANSWER_S
        )
        entries = _entries(ground, contestant)
        seen = Seen()
        line.watch = seen.see
        line.aim(second.command.port)
        on.worker.kill()
        waiting.result(ANSWER_S)
        rows = ground.rows()
        check(contestant.title, job, [tag], rows)
        again = [row["at"] for row in rows if row["tag"] == tag and row["turn"] == job.turns]
        assert seen.first is not None and len(again) == 2, "the run was not taken over while the model was thinking"
        return entries, 1000 * (again[1] - seen.first)


def _entries(ground: Field, contestant: Contestant) -> int:
    """Of the one run that is at work."""
    rows = ground.stack.admin.query(
        "SELECT count(1) AS entries FROM sys_journal j JOIN sys_invocation i ON j.id = i.id "  # noqa: S608 - our own name
        f"WHERE i.status <> 'completed' AND i.target_service_name = '{contestant.target.service}'"
    )
    return int(rows[0]["entries"])
