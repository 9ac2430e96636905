"""One scene: runs of several kinds, each held at the receiver with its effect applied and its answer unread, and then
a fault. Stories are written in its verbs.

Rule: a run counts as struck only where it was seen at the point and at the victim. What the fault does not reach is
judged too, as a run to which nothing happened.
Must not know: verdicts, how a container is hurt.
"""

import secrets
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from lab.checker import own
from lab.containers.project import Project
from lab.errors import LabError
from lab.history import Landing, Ledger, RunSeen
from lab.jobs import JOBS
from lab.ports import HOST
from lab.process import wait_until
from lab.remotes import Gate, Ingress, Model, Receiver
from lab.trial import ENDS, WAITS, Run

HELD_S = 30.0
REST_S = 90.0
"""A partition is noticed after 5 s, and the next connection may lead to the same worker again."""
ANSWER_S = 5.0
LOOK_S = 0.25
TRIES = 8
"""Runs of one job until one is at the victim: with two workers, all but one in 250 times."""
AT_POINT = "the receiver has applied it and holds the answer"
AWAITS = "it waits for a person's approval, and nothing has left"


@dataclass(frozen=True, slots=True)
class Remotes:
    """Whom a scene speaks to: any node's ingress, and the mocks."""

    ingresses: tuple[Ingress, ...]
    receiver: Receiver
    model: Model

    @classmethod
    def of(cls, project: Project) -> "Remotes":
        return cls(
            tuple(Ingress("ingress", f"http://{HOST}:{at.ingress}") for at in project.nodes),
            Receiver("receiver", f"http://{HOST}:{project.ports.receiver}"),
            Model("model", f"http://{HOST}:{project.ports.model}"),
        )

    def close(self) -> None:
        for remote in (*self.ingresses, self.receiver, self.model):
            remote.close()


@dataclass(frozen=True, slots=True)
class SceneSeen:
    """What was seen of a scene."""

    runs: tuple[Run, ...]
    struck_at: float | None = None
    ledger: Ledger | None = None
    after: Ledger | None = None


@dataclass(slots=True)
class LiveScene:
    """`say` gets what happens, for whoever watches."""

    project: Project
    remotes: Remotes
    say: Callable[[str], None]
    runs: list[Run] = field(default_factory=list)
    struck_at: float | None = None
    ledger: Ledger | None = None
    after: Ledger | None = None
    _since: tuple[int, int, int] = field(init=False)
    _gates: list[Gate] = field(init=False, default_factory=list)
    _answered: Ingress | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        seen = self.remotes.model.requests(), self.remotes.receiver.requests(), self.remotes.receiver.effects()
        self._since = (_last(seen[0]), _last(seen[1]), _last(seen[2]))

    # Runs

    def hold(self, *jobs: str, times: int = 1) -> None:
        """From now on effects of these jobs are held once they are applied."""
        for name in jobs:
            self._gates.append(self.remotes.receiver.gate(JOBS[name].effect, "applied", times))

    def submit(self, name: str) -> Run:
        """Submit a run and wait until it is held."""
        held = sum(gate.held() for gate in self._gates)
        run = self._begun(name)
        wait_until(f"holding {run.run_id}", lambda: sum(gate.held() for gate in self._gates) > held, HELD_S)
        run.proof = AT_POINT
        return run

    def park(self, name: str) -> Run:
        """Submit a run whose effect a person must approve, and wait until it asks."""
        run = self._begun(name, grant={"approve_above_cents": {JOBS[name].tool: -1}})
        wait_until(f"{run.run_id} to ask", lambda: self.look(run) == "waiting_approval", HELD_S)
        run.proof = AWAITS
        return run

    def _begun(self, name: str, **more: Any) -> Run:
        job, tag = JOBS[name], f"t{secrets.token_hex(5)}"
        run = Run("", job, tag, f"lab-{name}-{tag}")
        reply = self.call(run, "submit", {"task": job.task(tag), **more})
        if reply[0] not in (200, 202):
            raise LabError(f"the run {run.run_id} was answered with {reply[0]}: {reply[1]}")
        self.runs.append(run)
        return run

    def strikes(self) -> None:
        """The fault is brought about from now on."""
        self.struck_at = time.time()

    def landed(self, fault: str, runs: Sequence[Run]) -> None:
        """It has been brought about, and asserted; these runs were struck by it."""
        for run in runs:
            run.landings.append(Landing(time.time(), fault, run.proof))
        self.say(f"{fault}: {', '.join(run.job.name for run in runs)}")

    def let_go(self) -> None:
        """What is held is answered, also where nobody waits for it any more."""
        for gate in self._gates:
            gate.release()
        self._gates.clear()

    def let_go_quietly(self) -> None:
        """The same where the scene has broken off, and the receiver perhaps too."""
        for gate in self._gates:
            with suppress(LabError):
                gate.release()
        self._gates.clear()

    def forget(self) -> None:
        """The receiver has been started anew, and its gates are gone."""
        self._gates.clear()

    def rest(self) -> None:
        """Wait until every run has ended or waits for a person. What is not at rest in time stays as it was seen."""
        end = time.monotonic() + REST_S
        waiting = [run for run in self.runs if run.rested_at is None]
        while waiting and time.monotonic() < end:
            for run in waiting:
                run.state = self.look(run)
                if run.state in ENDS | WAITS:
                    run.rested_at = time.time()
            waiting = [run for run in waiting if run.rested_at is None]
            time.sleep(LOOK_S if waiting else 0)

    def wait(self, seconds: float) -> None:
        """For what comes late."""
        time.sleep(seconds)

    def look(self, run: Run) -> str:
        """The state of a run now; `unreachable` where nobody answers."""
        try:
            status, told = self.call(run, "status")
        except LabError:
            return "unreachable"
        return str(told.get("state")) if status == 200 else f"status {status}"

    def read(self) -> None:
        """What the mocks have seen since the scene began; then a person decides on what waits, and it is read again."""
        self.ledger = self.rows()
        waiting = [run for run in self.runs if run.state == "outcome_unknown"]
        for run in waiting:
            seen = RunSeen(run.run_id, run.tag, run.state, rested=True)
            self.decide(run, "happened" if own(run.job, seen, self.ledger) else "did_not_happen")
        for run in waiting:
            wait_until(f"the end of {run.run_id}", partial(self._has_ended, run), REST_S, LOOK_S)
            run.state_after = self.look(run)
        if waiting:
            self.after = self.rows()

    def _has_ended(self, run: Run) -> bool:
        return self.look(run) in ENDS

    def decide(self, run: Run, decision: str) -> None:
        """A person who has looked at the receiver answers what the run asks."""
        questions = self.call(run, "status")[1].get("questions") or [{}]
        body = {"key": questions[0].get("key"), "decision": decision}
        status, told = self.call(run, "decide", body)
        if status != 200:
            raise LabError(f"the decision {decision} on {run.run_id} was answered with {status}: {told}")
        run.decided = decision

    def seen(self) -> SceneSeen:
        return SceneSeen(tuple(self.runs), self.struck_at, self.ledger, self.after)

    def rows(self) -> Ledger:
        model, requests, effects = self._since
        return Ledger(
            tuple(self.remotes.model.requests(model)),
            tuple(self.remotes.receiver.requests(requests)),
            tuple(self.remotes.receiver.effects(effects)),
        )

    def call(self, run: Run, handler: str, body: Any = None) -> tuple[int, dict[str, Any]]:
        """Through the ingress that answered last, or else another one: a node may be the victim. Raises LabError where
        none answers."""
        problem: LabError | None = None
        for ingress in sorted(self.remotes.ingresses, key=lambda each: each is not self._answered):
            try:
                reply = ingress.invoke("Agent", run.run_id, handler, body, ANSWER_S)
            except LabError as error:
                problem = error
                continue
            self._answered = ingress
            told = reply.json() if reply.headers.get("content-type", "").startswith("application/json") else {}
            return reply.status_code, told if isinstance(told, dict) else {}
        raise problem or LabError(f"there is no ingress, so {run.run_id} could not be asked")


def _last(rows: Sequence[Any]) -> int:
    return int(rows[-1]["n"]) if rows else 0
