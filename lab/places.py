"""The points at which faults strike, each as a place that runs are brought to and held at.

Rule: `arm` before the runs are submitted, `reach` until all of them are there, `let_go` after the strike. A run is at
the place only where the rows of the mocks say so as well; what they said is its proof. The product has no hook: a place
is a gate at a mock, or bytes held on a line.
Must not know: what is done to the runs there.
"""

import time
from collections import Counter
from collections.abc import Callable, Mapping

from lab.cells import Point
from lab.checker import sent
from lab.errors import LabError
from lab.history import Ledger
from lab.jobs import Class, is_of
from lab.process import wait_until
from lab.relay import HELD_S, Relay, Way
from lab.remotes import Gate
from lab.trial import Run, Trial
from mocks.rows import GatePoint

MODEL = "chat"


class Place:
    """Nowhere: the runs are simply under way."""

    submits_behind = False
    """The runs cannot be accepted before they are let go: nobody waits for that."""

    def __init__(self, trial: Trial) -> None:
        self.trial = trial
        self.ground = trial.ground
        self.point = Point.NONE
        self.gates: list[Gate] = []

    def arm(self) -> None:
        pass

    def reach(self) -> None:
        for run in self.trial.runs:
            run.proof = "submitted"

    def let_go(self) -> None:
        """What is held at a mock goes on, also where nobody waits for it any more."""
        for gate in self.gates:
            gate.release()
        self.gates.clear()

    def forget(self) -> None:
        """The mock that held them has died, and the gates with it."""
        self.gates.clear()

    # What the places share

    def gate_effects(self, point: GatePoint) -> None:
        for effect, times in Counter(run.job.effect for run in self.trial.runs).items():
            self.gates.append(self.ground.stack.receiver.gate(effect, point, times))

    def gate_model(self, point: GatePoint) -> None:
        self.gates.append(self.ground.stack.model.gate(MODEL, point, len(self.trial.runs)))

    def wait_gates(self) -> None:
        """Wait until every run is held."""
        self.trial.say("bringing the runs to the point")
        count = len(self.trial.runs)
        held = lambda: sum(gate.held() for gate in self.gates) >= count  # noqa: E731
        wait_until(f"holding {count} request(s) at a mock", held, HELD_S)

    def hold(self, relay: Relay, way: Way, after: int = 0) -> None:
        """Let the mocks answer, and hold what that leads to on a line."""
        relay.hold(way, after)
        answered_at = time.monotonic()
        self.let_go()
        relay.wait_held(way, streams=len(self.trial.runs), since=answered_at)

    def prove(self, what: str, is_there: Callable[[Run, Ledger], bool]) -> None:
        """Note for each run whether the rows say that it is here. Raises LabError where none is."""
        ledger = self.trial.ledger()
        for run in self.trial.runs:
            run.proof = what if is_there(run, ledger) else ""
        if not any(run.proof for run in self.trial.runs):
            raise LabError(f"the rows of the mocks do not say: {what}")
        self.trial.note("lab", "reached", what)


def _arrived(run: Run, ledger: Ledger) -> bool:
    return any(row["status"] is None and not row["applied"] for row in sent(run.job, ledger.requests))


def _applied(run: Run, ledger: Ledger) -> bool:
    unanswered = any(row["status"] is None for row in sent(run.job, ledger.requests))
    return unanswered and (run.job.kind is Class.READ or _has_effect(run, ledger))


def _answered(run: Run, ledger: Ledger) -> bool:
    answered = any(row["status"] is not None for row in sent(run.job, ledger.requests))
    return answered and (run.job.kind is Class.READ or _has_effect(run, ledger))


def _has_effect(run: Run, ledger: Ledger) -> bool:
    return any(row["effect"] == run.job.effect and is_of(row, run.tag) for row in ledger.effects)


def _not_sent(run: Run, ledger: Ledger) -> bool:
    return not sent(run.job, ledger.requests)


class Received(Place):
    """At the receiver's gate: arrived and not applied, or applied and not answered."""

    def __init__(self, trial: Trial, held_when: GatePoint) -> None:
        super().__init__(trial)
        self.held_when = held_when

    def arm(self) -> None:
        self.gate_effects(self.held_when)

    def reach(self) -> None:
        self.wait_gates()
        if self.held_when == "arrived":
            self.prove("the receiver holds the request and has applied nothing", _arrived)
        else:
            self.prove("the receiver has applied it and holds the answer", _applied)


class Unrecorded(Place):
    """The worker has read the answer: what it tells the server about it is held on the line."""

    def arm(self) -> None:
        self.gate_effects("applied")

    def reach(self) -> None:
        self.wait_gates()
        self.hold(self.ground.line, Way.TO_SERVER)
        self.prove("what the worker tells the server after the receiver's answer is held on the line", _answered)


class Recorded(Place):
    """The server says that it has recorded the result, and that is held on the line; or, where no server says so, the
    next request to the model is."""

    def arm(self) -> None:
        self.gate_effects("applied")

    def reach(self) -> None:
        self.wait_gates()
        if self.ground.acks:
            self.hold(self.ground.line, Way.TO_WORKER)
            self.prove("the server has recorded it, and its word to the worker is held on the line", _answered)
        else:
            self.hold(self.ground.to_model, Way.TO_WORKER)
            self.prove("the answer is read: the next request to the model is held on the line", _answered)


class Before(Place):
    """Ready to leave: the last word of the server that is needed is held on the line; or, where none is, the request
    itself is."""

    def arm(self) -> None:
        self.gate_model("applied")

    def reach(self) -> None:
        self.wait_gates()
        if self.ground.acks:
            self.hold(self.ground.line, Way.TO_WORKER, after=self.ground.target.acks_before)
            self.prove("the server's last word before the request is held on the line; nothing has arrived", _not_sent)
        else:
            self.hold(self.ground.to_receiver, Way.TO_WORKER)
            self.prove("the request is held on its way; nothing has arrived", _not_sent)


class Modelled(Place):
    """At the model's gate: the request has arrived, or the reply is decided and held."""

    def __init__(self, trial: Trial, held_when: GatePoint) -> None:
        super().__init__(trial)
        self.held_when = held_when

    def arm(self) -> None:
        self.gate_model(self.held_when)

    def reach(self) -> None:
        self.wait_gates()
        count = len(self.trial.runs)
        what = "has the request" if self.held_when == "arrived" else "has decided its reply"
        self.prove(
            f"the model {what} and holds it",
            lambda _run, ledger: sum(row["status"] is None for row in ledger.model) >= count,
        )


class Replied(Place):
    """The worker has read the model's reply: held on the line is what it tells the server of it, or what the server
    answers to that."""

    def __init__(self, trial: Trial, way: Way) -> None:
        super().__init__(trial)
        self.way = way

    def arm(self) -> None:
        self.gate_model("applied")

    def reach(self) -> None:
        self.wait_gates()
        self.hold(self.ground.line, self.way)
        count = len(self.trial.runs)
        what = {
            Way.TO_SERVER: "what the worker tells the server after the model's reply is held on the line",
            Way.TO_WORKER: "the server has recorded the reply, and its word to the worker is held on the line",
        }[self.way]
        self.prove(
            what,
            lambda run, ledger: (
                sum(row["status"] is not None for row in ledger.model) >= count and _not_sent(run, ledger)
            ),
        )


class ModelNotAsked(Place):
    """The run has begun, and the server's word that it may go on is held on the line: no request to the model has
    left."""

    submits_behind = True
    FRAMES = 2
    """What a run is sent before anything of its own is recorded: its start and its input."""

    def arm(self) -> None:
        self.ground.line.hold(Way.TO_WORKER, after=self.FRAMES)

    def reach(self) -> None:
        self.trial.say("bringing the runs to the point")
        # One stream is the run's own; the other is that of the call which submitted it.
        self.ground.line.wait_held(Way.TO_WORKER, streams=2 * len(self.trial.runs))
        self.prove("the server's word before the first model call is held on the line", lambda _, seen: not seen.model)


PLACES: Mapping[Point, Callable[[Trial], Place]] = {
    Point.NONE: Place,
    Point.BEFORE: Before,
    Point.ARRIVED: lambda trial: Received(trial, "arrived"),
    Point.APPLIED: lambda trial: Received(trial, "applied"),
    Point.UNRECORDED: Unrecorded,
    Point.RECORDED: Recorded,
    Point.MODEL_BEFORE: ModelNotAsked,
    Point.MODEL_ARRIVED: lambda trial: Modelled(trial, "arrived"),
    Point.MODEL_ANSWERED: lambda trial: Modelled(trial, "applied"),
    Point.MODEL_UNRECORDED: lambda trial: Replied(trial, Way.TO_SERVER),
    Point.MODEL_RECORDED: lambda trial: Replied(trial, Way.TO_WORKER),
}


def place_of(trial: Trial, point: Point) -> Place:
    """The place of a point, for the runs of a trial."""
    place = PLACES[point](trial)
    place.point = point
    return place
