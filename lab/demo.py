"""The demo: one run, its worker killed in the worst moment, with Pawl and then with a control that sends no key.

The worst moment: the receiver has applied the refund and the worker has not read the answer. The receiver holds the
answer back, the worker gets SIGKILL, and a new one goes on with the run.

Rule: the exit code follows from the receiver's rows alone. A kill that did not land there, or a run that did not end,
is a failure, whatever the effects are.
"""

import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from rich.table import Table

from lab import judge, server
from lab.background import Background
from lab.errors import LabError
from lab.follow import Follower
from lab.judge import Tally
from lab.paths import ROOT, SCRATCH
from lab.peers import Gate
from lab.process import POLL_S, Process
from lab.show import Show, Step
from lab.stack import Stack
from lab.targets import JOURNALED, PAWL, Target
from mocks.rows import RequestRow

TASK = "refund order 1042, then mail the customer"
# From the submission to the refund, and from the kill to the run's answer: about a second each, many times that on a
# machine that is busy with something else.
HELD_S = 20.0
ANSWER_S = 40.0


@dataclass(frozen=True, slots=True)
class Round:
    """What one kill left: the receiver's rows, the model calls, the seconds from SIGKILL to the run's answer."""

    requests: list[RequestRow]
    tally: Tally
    model_calls: int
    recovered_s: float


def demo(show: Show) -> int:
    """Run both rounds, print the table, judge; the exit code."""
    SCRATCH.mkdir(exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="demo-", dir=SCRATCH))
    passed = False
    try:
        binary = server.find()
        show.line(f"starting restate-server {server.check_version(binary)}, receiver, model and worker on free ports")
        with Stack(folder, binary=binary) as stack:
            show.heading(f"Pawl: {TASK}")
            pawl = _round(stack, PAWL, stack.workers[0], show)
            show.heading("The control, whose steps are journalled and carry no key: the same task")
            control = _round(stack, JOURNALED, stack.add_worker(JOURNALED), show)
        passed = _report(pawl, control, show)
    finally:
        if passed:
            shutil.rmtree(folder, ignore_errors=True)
        else:
            show.error(f"the logs are in {(folder / 'logs').relative_to(ROOT)}")
    return 0 if passed else 1


def _round(stack: Stack, target: Target, worker: Process, show: Show) -> Round:
    follower = Follower(stack.receiver, stack.model, show)
    gate = stack.receiver.gate("refund", "applied")
    show.restart_clock()
    run_id = f"demo-{target.name}"
    show.step(Step("run", f"submitted as {run_id}, worker is pid {worker.pid}", style="cyan"))
    run = Background(lambda: stack.ingress.invoke(target.service, run_id, "run", {"task": TASK}))
    _follow_until_held(gate, run, follower)
    killed_at = time.monotonic()
    worker.kill()
    show.step(Step("lab", f"SIGKILL to worker {worker.pid}: the refund is applied, its answer unread", style="red"))
    gate.release()
    worker.start()
    show.step(Step("lab", f"worker started again, pid {worker.pid}", style="cyan"))
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


def _report(pawl: Round, control: Round, show: Show) -> bool:
    """Print the table and the verdict; whether both rounds are as they must be."""
    show.blank()
    show.table(_table(pawl, control))
    wrong = {
        "Pawl": judge.all_once(pawl.tally) or judge.one_key(pawl.requests, "refund"),
        "the control": judge.refunded_twice(control.tally),
    }
    for name, reason in wrong.items():
        if reason:
            show.error(f"{name} is not as it must be: {reason}")
    if any(wrong.values()):
        return False
    show.line(
        "Pawl: every effect once, though the refund was sent twice, with one key. The control: two refunds.", "green"
    )
    return True


def _table(pawl: Round, control: Round) -> Table:
    table = Table(title="What was received and applied", title_justify="left")
    table.add_column("")
    for name in ("Pawl", "control"):
        table.add_column(f"{name}:\nrequests", justify="right")
        table.add_column(f"{name}:\neffects", justify="right")
    table.add_row("model calls", str(pawl.model_calls), "", str(control.model_calls), "")
    for effect in dict.fromkeys((*pawl.tally.requests, *control.tally.requests)):
        cells: list[str] = []
        for tally in (pawl.tally, control.tally):
            applied = tally.effects.get(effect, 0)
            cells += [
                str(tally.requests.get(effect, 0)),
                str(applied) if applied or effect in judge.TASK_EFFECTS else "-",
            ]
        table.add_row(effect, *cells)
    table.add_section()
    table.add_row("SIGKILL to answer, s", f"{pawl.recovered_s:.2f}", "", f"{control.recovered_s:.2f}", "")
    return table
