"""Brings the strikes of a storm, at their times, and undoes each when it is due.

Rule: what was not asserted has not landed. A strike that could not be brought is written down as missed and the storm
goes on; after the last one everything lives again, or it is an error.
Must not know: runs, verdicts.
"""

import heapq
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count

from lab import pids
from lab.errors import LabError
from lab.process import Process
from lab.relay import Relay, Way
from lab.remotes import Receiver
from lab.storm_judge import Landed
from lab.storm_plan import LINES, WORKERS, Kind, Strike

HELD_MORE_S = 3.0
"""A hold in which nothing was said goes on for so long: models think for seconds, and nobody speaks meanwhile."""
LOOK_S = 0.1
GRACE_S = 12.0
"""For a worker that was asked to end: above its own limit for what is in flight."""
SLOW = {"slow_ms": 250, "slow_after_ms": 250}
"""The receiver takes so long before it applies an effect and again before it answers, so that strikes find requests in
both states."""
Due = tuple[float, int, Callable[[], None]]


@dataclass(slots=True)
class Weather:
    """`processes` by the part's name, `lines` likewise; `say` gets a line for each strike."""

    processes: Mapping[str, Process]
    lines: Mapping[str, Relay]
    receiver: Receiver
    say: Callable[[str], None]
    landed: list[Landed] = field(default_factory=list)
    _due: list[Due] = field(default_factory=list)
    _order: "count[int]" = field(default_factory=count)

    def rage(self, strikes: Sequence[Strike]) -> None:
        """All of them; returns when the last one is undone."""
        began = time.monotonic()
        for strike in strikes:
            self._later(began + strike.at_s, self._striker(strike))
        while self._due:
            at, _, act = heapq.heappop(self._due)
            time.sleep(max(0.0, at - time.monotonic()))
            act()
        self.calm()

    def calm(self) -> None:
        """Everything lives, and every line leads to its own worker and passes everything."""
        for process in self.processes.values():
            if process.alive and pids.state(process.pid) == "T":
                process.thaw()
        for process in self.processes.values():
            if not process.alive:
                process.spawn()
        for process in self.processes.values():
            process.wait_ready()
        for line, worker in zip(LINES, WORKERS, strict=True):
            self.lines[line].release()
            self.lines[line].aim(self.processes[worker].command.port)
        self.receiver.json("DELETE", "/behaviour/*")

    def _later(self, at: float, act: Callable[[], None]) -> None:
        heapq.heappush(self._due, (at, next(self._order), act))

    def _striker(self, strike: Strike) -> Callable[[], None]:
        def act() -> None:
            began = time.time()
            try:
                proof = self._strike(strike, began)
            except LabError as error:
                self._note(strike, began, None, str(error))
            else:
                if proof is not None:
                    self._note(strike, began, proof)

        return act

    def _note(self, strike: Strike, at: float, proof: str | None, missed: str = "") -> None:
        self.landed.append(Landed(strike, at, proof is not None, proof or missed))
        what = f"{strike.kind.value} {strike.part} {strike.detail}".strip()
        lasting = f" for {strike.for_s:g} s" if strike.for_s else ""
        self.say(f"{what}{lasting}" if proof is not None else f"{what}: did not land, {missed}")

    def _strike(self, strike: Strike, began: float) -> str | None:
        """The proof that it landed; None where that is known only when it is undone. Raises LabError."""
        undo_at = time.monotonic() + strike.for_s
        match strike.kind:
            case Kind.KILL:
                process = self.processes[strike.part]
                pid = process.pid
                process.kill()
                self._turn_away(strike.part)
                self._later(undo_at, lambda: self._back(strike.part))
                return f"pid {pid} died of SIGKILL, and its port refused"
            case Kind.FREEZE:
                self.processes[strike.part].freeze()
                self._turn_away(strike.part)
                self._later(undo_at, lambda: self._thaw(strike.part))
                return f"the kernel said T of pid {self.processes[strike.part].pid}"
            case Kind.RESTART:
                process = self.processes[strike.part]
                self._turn_away(strike.part)
                process.ask_to_end()
                self._later(undo_at, lambda: self._restarted(strike, began, time.monotonic() + GRACE_S))
                return None
            case Kind.CUT:
                line = self.lines[strike.part]
                lines = line.open_connections()
                if not lines:
                    raise LabError("no connection was there to cut")
                line.cut()
                return f"{lines} connection(s) were cut"
            case Kind.HOLD:
                self.lines[strike.part].hold(Way.TO_SERVER)
                self._later(undo_at, lambda: self._lose_held(strike, began, undo_at + HELD_MORE_S))
                return None
            case Kind.LOSE:
                when, times = strike.detail.split()
                self.receiver.json("PUT", "/behaviour/*", {"lose_answer": when, "times": int(times)})
                self._later(undo_at, lambda: self._lost(strike, began))
                return None

    def _turn_away(self, part: str) -> None:
        """What is connected anew in a struck worker's place comes to the other one."""
        if part in WORKERS:
            index = WORKERS.index(part)
            other = self.processes[WORKERS[1 - index]]
            self.lines[LINES[index]].aim(other.command.port)

    def _turn_back(self, part: str) -> None:
        if part in WORKERS:
            self.lines[LINES[WORKERS.index(part)]].aim(self.processes[part].command.port)

    def _back(self, part: str) -> None:
        if not self.processes[part].alive:
            self.processes[part].spawn()
        self._turn_back(part)

    def _thaw(self, part: str) -> None:
        self.processes[part].thaw()
        self._turn_back(part)

    def _restarted(self, strike: Strike, began: float, until: float) -> None:
        """Start it again once it has left."""
        process = self.processes[strike.part]
        if process.alive and time.monotonic() < until:
            self._later(time.monotonic() + LOOK_S, lambda: self._restarted(strike, began, until))
            return
        left = not process.alive
        if not left:
            process.kill()
        code = process.exit_code
        process.spawn()
        self._turn_back(strike.part)
        proof = f"it left {time.time() - began:.1f} s after SIGTERM with exit code {code}" if left else None
        self._note(strike, began, proof, f"it did not leave within {GRACE_S:g} s and was killed")

    def _lose_held(self, strike: Strike, began: float, until: float) -> None:
        line = self.lines[strike.part]
        held = line.held(Way.TO_SERVER)
        if not held and time.monotonic() < until:
            self._later(time.monotonic() + LOOK_S, lambda: self._lose_held(strike, began, until))
            return
        line.cut()
        line.release()
        proof = f"what the worker said on {held} stream(s) was lost with the line" if held else None
        self._note(strike, began, proof, "nothing was said meanwhile")

    def _lost(self, strike: Strike, began: float) -> None:
        """The receiver says how many answers are still to be lost."""
        asked = int(strike.detail.split()[1])
        try:
            left = self.receiver.json("GET", "/behaviour").get("*", {}).get("times") or 0
            self.receiver.json("PUT", "/behaviour/*", SLOW)
        except LabError as error:
            self._note(strike, began, None, str(error))
            return
        lost = asked - left
        self._note(strike, began, f"{lost} answer(s) were lost" if lost else None, "no request came meanwhile")
