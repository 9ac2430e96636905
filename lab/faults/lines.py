"""Faults of lines: an answer that is lost, a connection that is cut, one that carries nothing any more."""

from lab.cells import Point
from lab.checker import sent
from lab.faults.common import begin
from lab.places import Place
from lab.process import wait_until
from lab.trial import Trial

RECONNECT_S = 20.0
"""A server that lost its line to a worker makes another; it takes a dead one for alive for at most 5 s."""
OVERLAP_S = 1.0
"""So long both attempts are at work after the line was cut, before what the first one waits for is let go."""


def answer_lost(trial: Trial, place: Place) -> None:
    """Nothing is held: the mock ends the connection in place of its first answer. Whether it did is seen in its rows
    afterwards."""
    if place.point is Point.MODEL_ANSWERED:
        _reply_lost(trial)
        return
    when = "before_commit" if place.point is Point.ARRIVED else "after_commit"
    for run in trial.runs:
        trial.ground.stack.receiver.json("PUT", f"/behaviour/{run.job.effect}", {"lose_answer": when, "times": 1})
    trial.submit()
    trial.rest()
    requests = trial.ledger().requests
    for run in trial.runs:
        first = next(iter(sent(run.job, requests)), None)
        if first is not None and first["status"] is None:
            run.proof = f"request {first['n']} has no answer, and was {'' if first['applied'] else 'not '}applied"
    trial.landed(f"the receiver cut the connection {when.replace('_', ' the ')}", requests[0]["at"])


def _reply_lost(trial: Trial) -> None:
    model = trial.ground.stack.model
    for run in trial.runs:
        model.json("PUT", f"/scripts/{run.tag}", run.job.cut_script(run.tag))
        trial.scripts.append(run.tag)
    trial.submit()
    trial.rest()
    rows = trial.ledger().model
    lost = [row["n"] for row in rows if row["status"] is None]
    for run in trial.runs:
        run.proof = f"requests {lost} have no answer" if len(lost) == len(trial.runs) else ""
    trial.landed("the model cut the connection in place of its first reply", rows[0]["at"])


def line_cut(trial: Trial, place: Place) -> None:
    begin(trial, place)
    before = trial.ground.line.connections()
    trial.ground.line.cut()
    trial.note("line", "cut", "the connection between server and worker is ended")
    _reconnected(trial, place, before, "the connection between server and worker was ended, and another one was made")


def line_dead(trial: Trial, place: Place) -> None:
    begin(trial, place)
    line = trial.ground.line
    before = line.connections()
    line.blackhole()
    line.release()
    trial.note("line", "dead", "the connection between server and worker carries nothing more, and stays open")
    _reconnected(trial, place, before, "the line between server and worker was dead, and another one was made")


def _reconnected(trial: Trial, place: Place, before: int, how: str) -> None:
    """Both attempts are at work for a while, in one worker; then what the first one waits for is let go."""
    line = trial.ground.line
    trial.say("waiting for another connection")
    with trial.idle():
        wait_until("another connection of the server", lambda: line.connections() > before, RECONNECT_S)
    trial.landed(how)
    trial.wait(OVERLAP_S, "both attempts are at work")
    place.let_go()
