"""Faults that people and models bring about: a run restarted by an operator, submitted twice, asked for again, worded
differently, a record that somebody else writes, a key that is too old or that nobody looks at."""

import time
from collections.abc import Mapping
from functools import partial
from typing import Any

from lab.background import Background
from lab.cells import Point
from lab.errors import LabError
from lab.faults.common import begin, kill_worker
from lab.faults.processes import MARGIN_S, SEND_DEADLINE_S, worker_kill
from lab.places import Place
from lab.restarting import Operator
from lab.trial import REST_S, SUBMIT_S, Run, Trial

BATCH = 8
"""So many runs at once restart from an index."""
KEY_LIFETIME_S = 40.0
"""What worker and receiver are told in the cells about keys that expire: not much above the least that Pawl starts
with, since all its attempts at an effect must fit in."""


def restarted_scratch(trial: Trial, place: Place) -> None:
    begin(trial, place)
    restart(trial, place, {run.run_id: None for run in trial.runs})


def drift_words(trial: Trial, place: Place) -> None:
    """As above, and the model words the same action differently the second time."""
    begin(trial, place)
    for run in trial.runs:
        trial.drift(run)
    restart(trial, place, {run.run_id: None for run in trial.runs})


def drift_amount(trial: Trial, place: Place) -> None:
    """The reply is not recorded when the worker dies, so the model is asked again and says something else."""
    begin(trial, place)
    for run in trial.runs:
        trial.drift(run)
    kill_worker(trial, place)
    trial.landed("SIGKILL to the worker, and the model changed its mind")
    trial.start(trial.ground.worker)


def restarted_cuts(trial: Trial, place: Place) -> None:
    """One run for each index of the journal, all held at the same point; the first is restarted from scratch.

    A few at a time, since what is held is sent once more when its deadline is over.
    """
    operator = Operator(trial.ground.at)
    spare, length, index = list(trial.runs), 1, 0
    trial.runs = []
    while index < length:
        batch, spare = spare[:BATCH], spare[BATCH:]
        if not batch:
            raise LabError(f"the journal has {length} entries, and there are runs for {index} only")
        with trial.only(batch):
            begin(trial, place)
            length = operator.journal_length(batch[0].invocation)
            cuts = {run.run_id: nth if 0 < nth < length else None for nth, run in enumerate(batch, index)}
            restart(trial, place, cuts)
            # What these send once more must not be held in place of what the next ones send.
            trial.rest()
        trial.runs += batch
        index += len(batch)
    trial.strikes = 1


def restart(trial: Trial, place: Place, cuts: Mapping[str, int | None]) -> None:
    """Kill the invocations, let go, restart each from its index of the journal, or from scratch."""
    operator = Operator(trial.ground.at)
    for run in trial.runs:
        operator.kill(run.invocation)
        trial.note("run", "killed", f"the operator killed {run.run_id}")
    # What was on its way to the old attempt still gets there, and then it hears that it is over.
    trial.ground.line.release()
    place.let_go()
    for run in trial.runs:
        cut = cuts[run.run_id]
        where = "from scratch" if cut is None else f"from index {cut}"
        again = operator.restart(run.invocation, cut)
        if again is None:
            trial.abandon(run, f"Restate refuses to restart {run.run_id} {where}: a step has begun there and not ended")
            continue
        run.invocation = again
        trial.note("run", "restarted", f"the operator restarted {run.run_id} {where}")
    trial.landed("the operator killed the invocation and restarted it as new")


def restarted_ended(trial: Trial, place: Place) -> None:
    """A run that has ended, restarted from every index of its journal."""
    begin(trial, place)
    trial.rest()
    operator = Operator(trial.ground.at)
    for run in trial.runs:
        length = operator.journal_length(run.invocation)
        again = [operator.restart(run.invocation, cut) for cut in (None, *range(1, length))]
        started = [each for each in again if each is not None]
        trial.note("run", "restarted", f"the operator restarted {run.run_id} {len(started)} times")
        with trial.idle():
            operator.wait_over(started, REST_S)
        run.proof = f"{len(started)} restarts of a run with {length} entries" if len(started) > 1 else ""
    trial.landed("the operator restarted the ended run as new, from every index")


def submitted_twice(trial: Trial, place: Place) -> None:
    """Twice at the same moment, once more while it works, and once more when it has ended."""
    place.arm()
    twins = [Background(partial(trial.submit_one, run)) for run in trial.runs for _ in range(2)]
    place.reach()
    invocations = [twin.result(SUBMIT_S) for twin in twins]
    for index, run in enumerate(trial.runs):
        run.invocation = invocations[2 * index]
        trial.submit_one(run)
    place.let_go()
    trial.rest()
    for run in trial.runs:
        trial.submit_one(run)
    trial.landed("the same request was accepted four times", time.time())


def asked_again(trial: Trial, _: Place) -> None:
    """The first answer is lost, the outcome is given up or found, and the model asks for the same once more."""
    for run in trial.runs:
        lost = {"lose_answer": "after_commit", "times": 1}
        trial.ground.stack.receiver.json("PUT", f"/behaviour/{run.job.effect}", lost)
    trial.submit()
    trial.rest()
    answers = {"outcome_unknown": "give_up", "waiting_approval": "deny"}
    for run in trial.runs:
        if run.state in answers:
            trial.decide(run, answers[run.state])
    trial.rest()
    last = [row for row in trial.ledger().model if row["turn"] == len(trial.runs[0].job.replies) - 1]
    for run in trial.runs:
        run.proof = "the model was asked for all of its replies" if len(last) == len(trial.runs) else ""
    trial.landed("the answer was lost, and the model asked for the same once more")


def key_expired(trial: Trial, place: Place) -> None:
    """The worker is away for longer than the receiver keeps the key. With the receiver it takes the request along that
    had arrived and was not applied."""
    ground = trial.ground
    for run in trial.runs:
        ground.stack.receiver.json("PUT", f"/behaviour/{run.job.effect}", {"key_lifetime_s": KEY_LIFETIME_S})
    begin(trial, place)
    trial.kill(ground.worker)
    if place.point is Point.ARRIVED:
        trial.kill(ground.stack.receiver_process)
        place.forget()
        trial.start(ground.stack.receiver_process)
    place.let_go()
    trial.landed(f"SIGKILL to the worker, which stays away for longer than the {KEY_LIFETIME_S:g} s of the key")
    trial.wait(KEY_LIFETIME_S + MARGIN_S, "waiting until the key has expired")
    trial.start(ground.worker)


def keys_ignored(trial: Trial, place: Place) -> None:
    """As a kill of the worker, and the receiver applies every request, whatever its key."""
    for run in trial.runs:
        trial.ground.stack.receiver.json("PUT", f"/behaviour/{run.job.effect}", {"ignore_keys": True})
    worker_kill(trial, place)


def written_since(trial: Trial, place: Place) -> None:
    """Somebody else writes the record while the worker is away, which comes back past its send deadline."""
    begin(trial, place)
    kill_worker(trial, place)
    _write_newer(trial)
    trial.landed("SIGKILL to the worker; somebody else wrote the record, and the send deadline passed")
    trial.wait(SEND_DEADLINE_S + MARGIN_S, "waiting until the send deadline is over")
    trial.start(trial.ground.worker)


def written_version(trial: Trial, place: Place) -> None:
    """The request names the version that it replaces; somebody else writes the record, and the worker comes back at
    once."""
    for run in trial.runs:
        _write(trial, run, {"by": f"the first owner of {run.tag}"})
    begin(trial, place)
    kill_worker(trial, place)
    _write_newer(trial)
    trial.landed("SIGKILL to the worker; somebody else wrote the record")
    trial.start(trial.ground.worker)


def _write_newer(trial: Trial) -> None:
    for run in trial.runs:
        run.newest = {"by": f"somebody else, after {run.tag}"}
        _write(trial, run, run.newest)


def _write(trial: Trial, run: Run, record: dict[str, Any]) -> None:
    trial.ground.stack.receiver.json("PUT", f"/customers/cus_{run.tag}", record)
    trial.note("receiver", "written", f"somebody else wrote cus_{run.tag}: {record}")
