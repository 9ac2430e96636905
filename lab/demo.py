"""The demo: one run whose worker is killed in the worst moment, with Pawl and then with a control that sends no key.

Rule: the exit code follows from the receiver's rows alone: one effect each with Pawl, two refunds in the control.
"""

import shutil
import tempfile
from pathlib import Path

from lab import judge, report, server
from lab.errors import LabError
from lab.paths import shown
from lab.process import Process
from lab.rounds import TASK, Crash, Round, RoundRemotes, play
from lab.show import Show
from lab.stack import Stack
from lab.targets import JOURNALED, PAWL

# Whoever stops a demo in the middle does not want to wait for its run.
GRACE_S = 1.0


def demo(folder: Path, show: Show) -> int:
    """Run both rounds in a folder of their own below `folder`, print the table, judge; the exit code."""
    binary = server.find()
    version = server.check_version(binary)
    folder.mkdir(parents=True, exist_ok=True)
    mine = Path(tempfile.mkdtemp(prefix="demo-", dir=folder))
    keep_logs = False
    try:
        show.line(f"starting restate-server {version}, receiver, model and worker on free ports")
        pawl, control = _rounds(mine, binary, show)
        keep_logs = not _verdict(pawl, control, show)
    except LabError:
        keep_logs = True
        raise
    finally:
        if keep_logs:
            show.error(f"the logs are in {shown(mine / 'logs')}")
        else:
            shutil.rmtree(mine, ignore_errors=True)
    return 1 if keep_logs else 0


def _rounds(folder: Path, binary: Path, show: Show) -> tuple[Round, Round]:
    with Stack(folder, binary=binary, grace_s=GRACE_S) as stack:
        remotes = RoundRemotes(stack.ingress, stack.receiver, stack.model)
        show.heading(f"Pawl: {TASK}")
        pawl = play(remotes, PAWL.service, "demo", _crash(stack.workers[0]), show)
        show.heading("The control, whose steps are journalled and carry no key: the same task")
        control = play(remotes, JOURNALED.service, "demo", _crash(stack.add_worker(JOURNALED)), show)
    return pawl, control


def _crash(worker: Process) -> Crash:
    def kill() -> str:
        worker.kill()
        return f"SIGKILL to worker {worker.pid}"

    def revive() -> str:
        worker.start()
        return f"worker started again, pid {worker.pid}"

    return Crash(kill, revive)


def _verdict(pawl: Round, control: Round, show: Show) -> bool:
    """Print the table and the verdict; whether both rounds are as they must be."""
    show.blank()
    show.table(report.table({"Pawl": pawl, "control": control}))
    wrong = {
        "Pawl": judge.all_once(pawl.tally) or judge.one_key(pawl.requests, "refund"),
        "the control": judge.refunded_twice(control.tally),
    }
    for name, reason in wrong.items():
        if reason:
            show.error(f"{name} is not as it must be: {reason}")
    if any(wrong.values()):
        return False
    show.line("Pawl: every effect once; the refund was sent twice, with one key. The control: two refunds.", "green")
    return True
