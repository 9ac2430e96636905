"""A run is buried after its time, and not before it has ended."""

import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from lab.paths import ROOT
from lab.process import environment
from lab.stack import Stack
from lab.targets import PAWL
from tests.server.stand import QUICK
from tests.server.world import World, call, calls

KEPT_S = 2.0


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A worker that remembers runs for two seconds: the real one would refuse to, since its receiver remembers keys
    for a day, so the tests' own composes it."""
    target = replace(PAWL, argv=lambda _listen, _at: (sys.executable, "-m", "tests.server.workers.quick"))
    env = {**QUICK, "PAWL_RETENTION_S": str(KEPT_S)}
    with Stack(tmp_path / "stack", target=target, worker_env=env) as stack:
        yield World(stack, 1)


def test_a_run_past_its_time_is_a_tombstone_and_a_parked_one_is_not(world: World) -> None:
    always = {"approve_above_cents": {"charge_card": -1}}
    charge = calls(call("charge_card", customer_id=world.tag, amount_cents=500))
    parked, over = world.run_id("parked"), world.run_id("over")
    world.submit(parked, world.script(charge, {"content": "done"}, name="parked"), grant=always)
    asked = world.until(parked, "waiting_approval")
    task = world.script(calls(call("send_sms", to="+491", text=world.tag)), {"content": "sent"})
    assert world.run(over, task)["state"] == "completed"
    world.wait(lambda: world.post(over, "status").status_code == 410, "the burial")
    for handler in ("run", "submit"):
        answer = world.post(over, handler, {"task": task})
        assert answer.status_code == 410
        assert "Use a new run id" in answer.json()["message"]
    assert world.post(over, "run", {"task": "another"}).status_code == 410
    kept = world.stack.admin.query(f"SELECT key FROM state WHERE service_key = '{over}'")
    assert [row["key"] for row in kept] == ["end"]
    # Long past the time of runs, the one that waits is whole.
    time.sleep(KEPT_S)
    assert world.decide(parked, asked["ledger"][0]["key"], "approve").status_code == 200
    ended = world.until(parked, "completed")
    assert len(world.effects(ended)) == 1
    world.wait(lambda: world.post(parked, "status").status_code == 410, "the burial")


def test_a_further_pass_is_not_buried_by_the_one_before(world: World) -> None:
    task = world.script({"content": "done"})
    run_id = world.run_id()
    world.run(run_id, task)
    time.sleep(KEPT_S / 2)
    assert world.run(run_id, task, again=2)["pass"] == 2
    time.sleep(KEPT_S * 0.75)
    assert world.status(run_id)["state"] == "completed"
    world.wait(lambda: world.post(run_id, "status").status_code == 410, "the burial")


def test_a_further_pass_that_was_killed_keeps_its_ledger(world: World) -> None:
    always = {"approve_above_cents": {"charge_card": -1}}
    charge = calls(call("charge_card", customer_id=world.tag, amount_cents=500))
    run_id = world.run_id()
    task = world.script({"status": 401, "body": {"error": {"message": "no"}}})
    assert world.run(run_id, task, grant=always)["state"] == "failed"
    world.script(charge, {"content": "done"})
    invocation = world.submit(run_id, task, grant=always, again=2)
    key = world.until(run_id, "waiting_approval")["ledger"][0]["key"]
    world.kill_invocation(invocation)
    time.sleep(KEPT_S * 1.5)
    assert [row["key"] for row in world.status(run_id)["ledger"]] == [key]


@pytest.mark.parametrize(
    "env", [{"PAWL_RETENTION_S": "86400"}, {"PAWL_KEY_LIFETIME_S": "20"}], ids=["run too short", "key too short"]
)
def test_the_worker_does_not_start_with_lifetimes_that_do_not_fit(env: dict[str, str]) -> None:
    argv = [sys.executable, "-m", "services"]
    said = subprocess.run(argv, cwd=ROOT, env=environment(env), capture_output=True, text=True, timeout=30, check=False)
    assert said.returncode == 2
    assert said.stdout == ""
    assert said.stderr.startswith("pawl: ")
    assert len(said.stderr.splitlines()) == 1
    assert next(iter(env)) in said.stderr
