"""Faults of processes: killed, killed twice, frozen, asked to end."""

import time
from collections.abc import Callable

from lab.cells import Point
from lab.errors import LabError
from lab.faults.common import Act, begin, cut, kill_worker
from lab.jobs import Class
from lab.nodes import Invocations
from lab.places import Place
from lab.process import Process, wait_until
from lab.trial import Trial

LEAVE_S = 15.0
"""After SIGTERM a worker gives its steps 8 s."""
SEND_DEADLINE_S = 10.0
"""Pawl's tools do not send later than this after they were armed."""
MARGIN_S = 0.5


def worker_kill(trial: Trial, place: Place) -> None:
    begin(trial, place)
    kill_worker(trial, place)
    trial.landed("SIGKILL to the worker")
    trial.start(trial.ground.worker)


def worker_kill_twice(trial: Trial, place: Place) -> None:
    """The second kill strikes the second attempt at the same point. One that sends nothing more, because it cannot know
    whether the first has, never gets there: it is struck as soon as it has begun."""
    begin(trial, place)
    kill_worker(trial, place)
    trial.landed("SIGKILL to the worker")
    repeats = all(run.job.kind not in (Class.ONCE, Class.ONCE_FOUND) for run in trial.runs)
    if repeats:
        place.arm()
    trial.start(trial.ground.worker)
    if repeats:
        place.reach()
    trial.pause()
    kill_worker(trial, place)
    trial.landed("SIGKILL to the worker that took over")
    trial.start(trial.ground.worker)


def worker_freeze(trial: Trial, place: Place) -> None:
    """The frozen worker keeps its connection; only an unanswered ping tells the server. What it was waiting for comes
    meanwhile, and lies in its socket when it is thawed. What it had to tell comes when all is over, if at all."""
    second = trial.ground.second
    begin(trial, place)
    freeze(trial, place, second)
    trial.rest()
    trial.ground.line.release()
    trial.thaw(trial.ground.worker)


def worker_freeze_late(trial: Trial, place: Place) -> None:
    """As above, and thawed only when its send deadline is over as well."""
    second = trial.ground.second
    begin(trial, place)
    reached_at = time.monotonic()
    freeze(trial, place, second)
    trial.rest()
    left_s = SEND_DEADLINE_S + MARGIN_S - (time.monotonic() - reached_at)
    trial.wait(max(0.0, left_s), "waiting until the frozen worker's send deadline is over")
    trial.thaw(trial.ground.worker)


def freeze(trial: Trial, place: Place, second: Process) -> None:
    trial.freeze(trial.ground.worker)
    trial.ground.line.aim(second.command.port)
    trial.note(trial.lane(second), "leads", "new connections lead here")
    trial.landed("SIGSTOP to the worker")
    place.let_go()
    if place.point in (Point.UNRECORDED, Point.MODEL_UNRECORDED):
        # A frozen worker tells nobody what it has read: its word must not come while another one takes over.
        trial.ground.line.keep()
    else:
        trial.ground.line.release()


def worker_redeploy(trial: Trial, place: Place) -> None:
    """SIGTERM in the middle of a step; what the step waits for comes afterwards, so that it can end."""
    begin(trial, place)
    worker = trial.ground.worker
    worker.ask_to_end()
    trial.note("worker", "asked to end", f"SIGTERM to pid {worker.pid}")
    trial.pause()
    place.let_go()
    trial.ground.line.release()
    wait_until("the end of the worker after SIGTERM", lambda: not worker.alive, LEAVE_S)
    if worker.exit_code != 0:
        raise LabError(f"after SIGTERM the worker ended with {worker.how_it_ended()}")
    trial.note("worker", "left", "exit code 0")
    trial.landed("SIGTERM to the worker, which left with exit code 0")
    trial.start(worker)


def server_kill(trial: Trial, place: Place) -> None:
    begin(trial, place)
    trial.kill(trial.ground.stack.server)
    trial.landed("SIGKILL to the restate-server")
    cut(trial)
    place.let_go()
    trial.start(trial.ground.stack.server)


def both_kill(trial: Trial, place: Place) -> None:
    begin(trial, place)
    ground = trial.ground
    trial.kill(ground.worker, ground.stack.server)
    trial.landed("SIGKILL to the worker and to the restate-server")
    cut(trial)
    place.let_go()
    trial.start(ground.stack.server, ground.worker)


def leader_kill(trial: Trial, place: Place) -> None:
    """With one run only: another one may be led by another node."""
    ground = trial.ground
    counted = Invocations(ground.members)
    begin(trial, place)
    node = counted.leader()
    trial.note("server", "leads", f"node {node.number} leads the run")
    trial.kill(node.process)
    trial.landed(f"SIGKILL to node {node.number} of {len(ground.members)}, which led the run")
    cut(trial)
    place.let_go()


def mock_kill(process: Callable[[Trial], Process]) -> Act:
    """The receiver or the model dies; what its gates held is gone."""

    def act(trial: Trial, place: Place) -> None:
        begin(trial, place)
        killed = process(trial)
        trial.kill(killed)
        trial.landed(f"SIGKILL to the {killed.command.name}")
        place.forget()
        trial.start(killed)

    return act
