"""The worker on each CPython that it is said to run on: it serves, and it leaves in time.

Needs those interpreters, as pyenv keeps them, and the packages of requirements.lock.
"""

import os
import re
import signal
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest

from lab.paths import ROOT
from lab.process import environment
from lab.stack import Stack
from lab.targets import PAWL
from tests.server.stand import QUICK
from tests.server.world import World, call, calls

LEAVES_S = 3.0
SLACK_S = 1.0
WANTED = ("3.11", "3.12", "3.13")


def interpreter(version: str) -> Path | None:
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    found = [path for path in root.glob(f"versions/{version}.*/bin/python") if re.search(r"\d/bin", str(path))]
    return max(found, default=None)


def environment_of(python: Path, folder: Path) -> Path:
    """A virtual environment with what the worker needs; its interpreter."""
    subprocess.run([python, "-m", "venv", folder], check=True)
    inside = folder / "bin" / "python"
    lock = ["--require-hashes", "--only-binary", ":all:", "-r", str(ROOT / "requirements.lock")]
    subprocess.run([inside, "-m", "pip", "install", "-q", "--disable-pip-version-check", *lock], check=True)
    return inside


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("version", WANTED)
def test_the_worker_leaves_in_time_on_each_python(version: str, tmp_path: Path) -> None:
    python = interpreter(version)
    if python is None:
        pytest.skip(f"there is no CPython {version} here")
    inside = environment_of(python, tmp_path / "venv")
    said = subprocess.run([inside, "--version"], capture_output=True, text=True, check=True, env=environment({})).stdout
    assert said.startswith(f"Python {version}.")
    target = replace(PAWL, argv=lambda _listen, _at: (str(inside), "-m", "services"))
    with Stack(tmp_path / "stack", target=target, worker_env={**QUICK, "PAWL_SHUTDOWN_S": str(LEAVES_S)}) as stack:
        for number in (signal.SIGTERM, signal.SIGINT):
            leaves(World(stack, number), number)


def leaves(world: World, number: int) -> None:
    """With an idle connection, a parked run and an effect in flight."""
    stack, worker = world.stack, world.stack.workers[0]
    parked, busy = world.run_id("parked"), world.run_id("busy")
    charge = calls(call("charge_card", customer_id=world.tag, amount_cents=500))
    always = {"approve_above_cents": {"charge_card": -1}}
    world.submit(parked, world.script(charge, {"content": "done"}, name="parked"), grant=always)
    asked = world.until(parked, "waiting_approval")
    gate = stack.receiver.gate("sms", "arrived")
    world.submit(busy, world.script(calls(call("send_sms", to="+491", text=world.tag)), {"content": "done"}))
    assert gate.wait_held(20)
    began = time.monotonic()
    os.kill(worker.pid, number)
    time.sleep(0.8)
    assert worker.alive
    gate.release()
    world.wait(lambda: not worker.alive, "the end of the worker", wait_s=LEAVES_S + SLACK_S)
    assert worker.exit_code == 0, worker.how_it_ended()
    assert time.monotonic() - began < LEAVES_S + SLACK_S
    worker.start()
    assert world.decide(parked, asked["ledger"][0]["key"], "approve").status_code == 200
    for run_id in (parked, busy):
        ended = world.until(run_id, "completed")
        assert len(world.effects(ended)) == 1
        assert len(world.requests(ended)) == 1
