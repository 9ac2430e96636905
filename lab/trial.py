"""One trial: runs under way on a ground, what is done to them, and what is seen. Faults are written in its verbs.

Rule: every act is noted with its time, every fault is asserted where it is brought, and whatever goes wrong on the way
is a LabError that breaks the trial off, never a guess.
Must not know: what any verdict is.
"""

import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from lab import pids
from lab.background import Background
from lab.errors import LabError
from lab.ground import Ground
from lab.history import Event, Landing, Ledger
from lab.jobs import Job
from lab.process import Process, wait_until
from lab.targets import Call

ENDS = frozenset({"completed", "failed", "refused", "cancelled"})
WAITS = frozenset({"outcome_unknown", "waiting_approval"})
CUT_OFF = frozenset({"absent", "interrupted"})
"""Nobody works on the run. Where it does not go on by itself it has to be submitted again."""

REST_S = 60.0
"""From the last strike until every run is at rest: the longest wait of a run is that for a late request, about 16 s."""
SUBMIT_S = 20.0
LOOK_S = 0.1
PAUSE_S_MAX = 0.05
"""A strike comes this much later than the point was reached, at most, so that trials differ."""
QUIET_S = 0.6
"""A thawed worker that uses no processor for so long has done its late work."""
QUIET_S_MAX = 15.0
IDLE_CPU_S = 0.02
"""What an idle event loop may use in that time."""


@dataclass(slots=True)
class Run:
    """One run of a trial, as far as it has come."""

    cell: str
    job: Job
    tag: str
    run_id: str
    invocation: str = ""
    state: str = "absent"
    rested_at: float | None = None
    decided: str | None = None
    state_after: str | None = None
    newest: dict[str, Any] | None = None
    more: dict[str, Any] = field(default_factory=dict)
    abandoned: bool = False
    """Nobody goes on with it."""
    proof: str = ""
    """What was seen of the point at which it is; empty where it is not there."""
    landings: list[Landing] = field(default_factory=list)


class Trial:
    """`idle` is entered for waits in which nothing is done; `say` gets what happens, for whoever watches."""

    def __init__(
        self,
        ground: Ground,
        runs: Sequence[Run],
        rng: random.Random,
        idle: Callable[[], AbstractContextManager[None]],
        say: Callable[[str], None],
    ) -> None:
        self.ground = ground
        self.runs = list(runs)
        self.rng = rng
        self.idle = idle
        self.say = say
        self.events: list[Event] = []
        self.scripts: list[str] = []
        """Scripts of the model that are for this trial only."""
        self.strikes = 0
        self.struck_at: float | None = None
        self.started_at = time.time()
        self._seen = self._ends_of_ledger()
        self._submitting: list[tuple[Run, Background[str]]] = []

    # What is noted

    def note(self, lane: str, what: str, text: str = "") -> None:
        self.events.append(Event(time.time(), lane, what, text))

    def lane(self, process: Process) -> str:
        """The name of a process as the events call it."""
        names = {
            id(self.ground.worker): "worker",
            id(self.ground.stack.receiver_process): "receiver",
            id(self.ground.stack.model_process): "model",
            id(self.ground.stack.server): "server",
        }
        return names.get(id(process), process.command.name.replace("restate-", ""))

    def landed(self, fault: str, at: float | None = None) -> None:
        """The fault is proved, now or as having come at a time; it counts for each run that was seen at its point."""
        self.strikes += 1
        self.struck_at = time.time() if at is None else at
        for run in self.runs:
            if run.proof:
                run.landings.append(Landing(self.struck_at, fault, run.proof))

    # Runs

    @contextmanager
    def only(self, runs: Sequence[Run]) -> Iterator[None]:
        """For a while the trial is about these runs."""
        every, self.runs = self.runs, list(runs)
        try:
            yield
        finally:
            self.runs = every

    def submit(self) -> None:
        """Submit the runs, one after the other. Raises LabError where one is not accepted."""
        for run in self.runs:
            run.invocation = self.submit_one(run) or run.invocation

    def submit_behind(self) -> None:
        """Submit the runs at once, without waiting until they are accepted: `rest` does that."""
        for run in self.runs:
            self._submitting.append((run, Background(partial(self.submit_one, run))))

    def submit_one(self, run: Run) -> str:
        """Submit one run; its invocation where the target has such."""
        call = self.ground.target.submit
        if run.more:
            call = Call(call.method, call.url, {**call.body, **run.more})
        status, told = self.ground.ask(call, SUBMIT_S, run_id=run.run_id, task=run.job.task(run.tag))
        if not 200 <= status < 300:
            raise LabError(f"the run {run.run_id} was not accepted: status {status}, {told}")
        self.note("run", "submitted", f"{run.run_id}: {run.job.task(run.tag)}")
        given = told if isinstance(told, dict) else {}
        return str(given.get("invocation_id") or given.get("invocationId") or "")

    def look(self, run: Run) -> str:
        """The state of a run now; `unreachable` where nobody answers."""
        target = self.ground.target
        try:
            status, told = self.ground.ask(target.look, run_id=run.run_id)
        except LabError:
            return "unreachable"
        if status == 404:
            return "absent"
        try:
            return target.state(told) if 200 <= status < 300 else f"status {status}"
        except (KeyError, IndexError, TypeError):
            return f"unreadable: {told}"

    def rest(self, within_s: float = REST_S) -> None:
        """Wait until the runs have ended or wait for a person. What is not at rest in time stays as it was seen."""
        end = time.monotonic() + within_s
        open_runs = [run for run in self.runs if not run.abandoned]
        self.say("waiting for the runs")
        with self.idle():
            while self._submitting:
                run, submission = self._submitting.pop()
                run.invocation = submission.result(within_s)
            while open_runs and time.monotonic() < end:
                open_runs = [run for run in open_runs if not self._rests(run)]
                time.sleep(LOOK_S if open_runs else 0)

    def end_of(self, run: Run, within_s: float) -> str:
        """Wait until the run has ended; the last state that was seen."""
        end = time.monotonic() + within_s
        state = self.look(run)
        while state not in ENDS and time.monotonic() < end:
            time.sleep(LOOK_S)
            state = self.look(run)
        self.note("run", state, run.run_id)
        return state

    def _rests(self, run: Run) -> bool:
        run.state = self.look(run)
        if run.state in CUT_OFF and not self.ground.target.resumes:
            # It does not go on by itself: whoever asked for it asks again.
            self.submit_one(run)
        if run.state not in ENDS | WAITS:
            return False
        run.rested_at = time.time()
        self.note("run", run.state, run.run_id)
        return True

    # People

    def asked(self, run: Run) -> str:
        """The key of what the run asks a person about. Raises LabError where it asks nothing."""
        _, told = self.ground.ask(self.ground.target.look, run_id=run.run_id)
        questions = told.get("questions") if isinstance(told, dict) else None
        if not questions:
            raise LabError(f"the run {run.run_id} waits for a person and does not say what about: {told}")
        return str(questions[0]["key"])

    def decide(self, run: Run, decision: str) -> None:
        """Answer what the run asks. Raises LabError where the decision is not taken."""
        call = self.ground.target.decide
        if call is None:
            raise LabError(f"{self.ground.target.title} has no way to take a decision")
        key = self.asked(run)
        status, told = self.ground.ask(call, SUBMIT_S, run_id=run.run_id, key=key, decision=decision)
        if status != 200:
            raise LabError(f"the decision {decision} on {run.run_id} was answered with {status}: {told}")
        self.note("run", "decided", f"a person said of {run.run_id}: {decision}")

    def abandon(self, run: Run, why: str) -> None:
        run.abandoned, run.state = True, "abandoned"
        self.note("run", "abandoned", why)

    def drift(self, run: Run) -> None:
        """From now on the model answers this run's first request differently."""
        self.ground.stack.model.json("PUT", f"/scripts/{run.tag}", run.job.drifted_script(run.tag))
        self.scripts.append(run.tag)
        self.note("model", "drifted", f"another first reply for {run.run_id}")

    # Processes

    def kill(self, *processes: Process) -> None:
        """SIGKILL, each asserted."""
        for process in processes:
            pid = process.pid
            process.kill()
            self.note(self.lane(process), "killed", f"SIGKILL to pid {pid}: it died of it, and its port refuses")

    def start(self, *processes: Process) -> None:
        """Start again, all at once, and wait until they serve."""
        for process in processes:
            process.spawn()
        for process in processes:
            process.wait_ready()
            self.note(self.lane(process), "started", f"pid {process.pid} serves")

    def freeze(self, process: Process) -> None:
        process.freeze()
        self.note(self.lane(process), "frozen", f"SIGSTOP to pid {process.pid}: the kernel says T")

    def thaw(self, process: Process) -> None:
        """SIGCONT, then wait until it has done whatever it still had to do."""
        process.thaw()
        self.note(self.lane(process), "thawed", f"SIGCONT to pid {process.pid}")
        self.say("waiting for late work")
        wait_until("an answer of the thawed worker", process.command.ready, QUIET_S_MAX, LOOK_S)
        used_s, since = pids.cpu_s(process.pid), time.monotonic()
        end = time.monotonic() + QUIET_S_MAX
        while time.monotonic() - since < QUIET_S:
            if time.monotonic() > end:
                raise LabError(f"the thawed worker did not come to rest within {QUIET_S_MAX:g} s")
            time.sleep(LOOK_S)
            if pids.cpu_s(process.pid) > used_s + IDLE_CPU_S:
                used_s, since = pids.cpu_s(process.pid), time.monotonic()
        self.note(self.lane(process), "quiet", "it has done its late work")

    def pause(self) -> None:
        """The seeded moment between the point and the strike."""
        time.sleep(self.rng.uniform(0, PAUSE_S_MAX))

    def wait(self, seconds: float, why: str) -> None:
        """Let time pass."""
        self.say(why)
        with self.idle():
            time.sleep(seconds)

    # Ledgers

    def ledger(self) -> Ledger:
        """The rows since the trial began. Raises LabError where they cannot be read."""
        model, requests, effects = self._seen
        stack = self.ground.stack
        return Ledger(
            tuple(stack.model.requests(model)),
            tuple(stack.receiver.requests(requests)),
            tuple(stack.receiver.effects(effects)),
        )

    def _ends_of_ledger(self) -> tuple[int, int, int]:
        stack = self.ground.stack
        rows = (stack.model.requests(), stack.receiver.requests(), stack.receiver.effects())
        return (_last(rows[0]), _last(rows[1]), _last(rows[2]))


def _last(rows: Sequence[Any]) -> int:
    return int(rows[-1]["n"]) if rows else 0
