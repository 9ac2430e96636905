"""What a lab process started does not outlive it, even when it is killed; what it did not start is left alone."""

import signal
import subprocess
import sys

from lab import pids
from lab.paths import ROOT
from tests.lab.programs import gone

_STARTS_AND_WAITS = """
import subprocess, sys, time
from lab import guard
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True)
guard.watch(child.pid)
print(child.pid, flush=True)
time.sleep(60)
"""


def test_a_child_does_not_outlive_a_lab_process_that_was_killed() -> None:
    lab = subprocess.Popen([sys.executable, "-c", _STARTS_AND_WAITS], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert lab.stdout is not None
    with lab, lab.stdout:
        child = int(lab.stdout.readline())
        mark = pids.mark(child)
        assert mark is not None
        lab.send_signal(signal.SIGKILL)
    assert gone(child, mark)


def test_a_pid_that_means_another_process_is_left_alone() -> None:
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as other:
        guard = [sys.executable, "-m", "lab.guard"]
        subprocess.run(guard, cwd=ROOT, input=f"{other.pid} 12345\n", text=True, check=True, timeout=20)
        assert other.poll() is None
        other.kill()
