"""One round: a run whose worker dies in the worst moment, and what the outside world saw of it.

The worst moment: the receiver has applied the refund and the worker has not read the answer. The receiver holds the
answer back, the worker is killed, and a new one goes on with the run.

Rule: a kill that did not land there, or a run that did not complete, is an error and never a result.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx

from lab.background import Background
from lab.errors import LabError
from lab.follow import Follower
from lab.judge import Tally
from lab.process import POLL_S
from lab.remotes import Gate, Ingress, Model, Receiver
from lab.show import Show, Step
from mocks.rows import RequestRow

TASK = "refund order 1042, then mail the customer"
# From the submission to the refund, and from the kill to the run's answer: about a second each, many times that on a
# machine that is busy with something else.
HELD_S = 20.0
ANSWER_S = 40.0


@dataclass(frozen=True, slots=True)
class RoundRemotes:
    """Whom a round speaks to."""

    ingress: Ingress
    receiver: Receiver
    model: Model


@dataclass(frozen=True, slots=True)
class Crash:
    """How the worker dies and comes back; each returns what it did, for the line that is shown."""

    kill: Callable[[], str]
    revive: Callable[[], str]


@dataclass(frozen=True, slots=True)
class Round:
    """What one kill left: the receiver's rows, the model calls, the seconds from the kill to the run's answer."""

    requests: list[RequestRow]
    tally: Tally
    model_calls: int
    recovered_s: float


def play(remotes: RoundRemotes, service: str, run_id: str, crash: Crash, show: Show) -> Round:
    """Submit the task, crash in the window, wait for the answer, and show all of it as it happens."""
    follower = Follower(remotes.receiver, remotes.model, show)
    gate = remotes.receiver.gate("refund", "applied")
    show.restart_clock()
    show.step(Step("run", f"submitted as {service}/{run_id}", style="cyan"))
    run = Background(lambda: remotes.ingress.invoke(service, run_id, "run", {"task": TASK}))
    _follow_until_held(gate, run, follower)
    killed_at = time.monotonic()
    show.step(Step("lab", f"{crash.kill()}: the refund is applied, its answer unread", style="red"))
    gate.release()
    show.step(Step("lab", crash.revive(), style="cyan"))
    answer = _follow_until_answered(run, follower)
    recovered_s = time.monotonic() - killed_at
    show.step(Step("run", f"{answer.get('state')}: {answer.get('answer')}", style="cyan"))
    if answer.get("state") != "completed":
        raise LabError(f"the run {run_id} did not complete: {answer}")
    requests = follower.requests()
    return Round(requests, Tally.of(requests, follower.effects()), len(follower.calls()), recovered_s)


def _follow_until_held(gate: Gate, run: Background[httpx.Response], follower: Follower) -> None:
    end = time.monotonic() + HELD_S
    while not gate.wait_held(POLL_S):
        follower.poll()
        if run.done:
            raise LabError(f"the run ended before it asked for the refund: {run.result(0).text}")
        if time.monotonic() > end:
            raise LabError(f"the refund did not arrive within {HELD_S:g} s")
    follower.poll()
    follower.poll()  # the second look tells what is held back from what is just being answered


def _follow_until_answered(run: Background[httpx.Response], follower: Follower) -> dict[str, Any]:
    end = time.monotonic() + ANSWER_S
    while not run.done:
        follower.poll()
        if time.monotonic() > end:
            raise LabError(f"the run gave no answer within {ANSWER_S:g} s of the kill")
        time.sleep(POLL_S)
    reply = run.result(0)
    follower.poll()
    if not reply.is_success:
        raise LabError(f"the run was answered with {reply.status_code}: {reply.text}")
    answer: dict[str, Any] = reply.json()
    return answer
