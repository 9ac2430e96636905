"""What the faults share: bring the runs to the point, and what follows when an end of a line has died.

Rule: a fault has landed when the runs were seen at the point, and the act itself was asserted; `landed` is called then
and never before. What a fault leaves behind is put right at once: a worker comes back, a server is started again.
Must not know: verdicts, what a target promises.
"""

from collections.abc import Callable

from lab.places import Place
from lab.trial import Trial

Act = Callable[[Trial, Place], None]


def begin(trial: Trial, place: Place) -> None:
    """Bring the runs to the place."""
    place.arm()
    if place.submits_behind:
        trial.submit_behind()
    else:
        trial.submit()
    place.reach()
    trial.pause()


def cut(trial: Trial) -> None:
    """What is held on lines whose ends are dead is lost."""
    for relay in (trial.ground.line, trial.ground.to_model, trial.ground.to_receiver):
        relay.cut()


def kill_worker(trial: Trial, place: Place) -> None:
    """The worker dies first: what is let go then finds nobody."""
    trial.kill(trial.ground.worker)
    cut(trial)
    place.let_go()


def no_fault(trial: Trial, place: Place) -> None:
    begin(trial, place)
