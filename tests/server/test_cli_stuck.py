"""The command line where no worker answers, or a run is stuck: it says so, and what a person asks for is not lost."""

import json
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from lab.process import Process
from lab.targets import PAWL
from tests.server.commands import charge, look, no_worker, parked, pawl
from tests.server.world import World


def held(world: World) -> str:
    """A run that is in the middle of a model call and stays there for some seconds; its id."""
    run_id = world.run_id()
    gate = world.stack.model.gate("chat", "arrived")
    world.submit(run_id, world.script({"content": "done"}))
    assert gate.wait_held(10)
    gate.release()
    return run_id


@contextmanager
def broken(world: World, mistake: str) -> Iterator[None]:
    """Another worker stands where the good one was."""
    good = world.stack.workers[0]
    bad = Process(replace(good.command, name="broken", argv=(sys.executable, "-m", "tests.workers.broken", mistake)))
    good.kill()
    try:
        bad.start()
        yield
    finally:
        bad.end(1)
        good.start()


def test_without_a_worker_status_and_pending_answer_and_a_decision_is_handed_over(world: World) -> None:
    run_id, key = parked(world)
    working = held(world)
    with no_worker(world):
        stuck = world.wait(lambda: (s := look(world, working))["state"] == "stuck" and s, "stuck", wait_s=10)
        assert stuck["trouble"]["cause"] == "worker unreachable"
        assert world.stack.url(world.stack.workers[0]) in stuck["trouble"]["remedy"]
        waiting = look(world, run_id)
        assert (waiting["state"], waiting["questions"][0]["key"]) == ("waiting_approval", key)
        told = pawl(world, "pending")
        assert told.code == 4
        assert f"approve {run_id} {key}\n" in told.out
        assert f"{working}  stuck" in told.out
        given = pawl(world, "approve", run_id, key, "--json")
        assert (given.code, given.json()["handed_over"]) == (4, True)
        (waits,) = look(world, run_id)["unanswered"]
        assert (waits["handler"], waits["asks"]) == ("decide", f"approve {key}")
        assert f"approve {key}, handed over" in pawl(world, "status", run_id).out
    assert world.until(run_id, "completed")["ledger"][0]["state"] == "done"
    assert world.until(working, "completed")


def test_a_run_submitted_without_a_worker_begins_when_one_is_back(world: World) -> None:
    run_id, task = world.run_id(), world.script({"content": "done"})
    with no_worker(world):
        given = pawl(world, "submit", run_id, task)
        assert given.code == 4
        assert "no worker has answered" in given.err
        assert look(world, run_id)["unanswered"][0]["handler"] == "submit"
    assert pawl(world, "status", run_id, "--follow").code == 0
    assert look(world, run_id)["answer"] == "done"


def test_a_run_that_had_not_begun_is_cancelled_without_a_worker(world: World) -> None:
    run_id, task = world.run_id(), world.script({"content": "done"})
    with no_worker(world):
        assert pawl(world, "submit", run_id, task).code == 4
        assert pawl(world, "cancel", run_id).code == 0
    assert pawl(world, "status", run_id).code == 2
    assert not world.model_requests()


def test_a_cancel_without_a_worker_ends_the_run_when_one_is_back(world: World) -> None:
    run_id, task = world.run_id(), world.script(charge(world), {"content": "paid"})
    gate = world.stack.receiver.gate("charge", "applied")
    world.submit(run_id, task)
    assert gate.wait_held(10)
    queued = world.post(run_id, "run/send", {"task": task}).json()["invocationId"]
    with no_worker(world):
        world.wait(lambda: look(world, run_id)["state"] == "stuck", "stuck", wait_s=10)
        gate.release()
        assert look(world, run_id)["queued"][0]["invocation_id"] == queued
        told = pawl(world, "cancel", run_id, "--json")
        assert (told.code, told.json()["cancelling"], told.json()["queued"]) == (0, True, [])
    watched = pawl(world, "status", run_id, "--follow", "--json")
    assert watched.code == 5, watched
    ended = json.loads(watched.out.splitlines()[-1])
    assert [row["state"] for row in ended["ledger"]] in (["done"], ["unknown"])
    assert len(world.effects(ended)) == 1
    assert world.model_requests() == 1
    assert pawl(world, "cancel", run_id).code == 0


def test_a_cancel_with_undo_is_kept_for_the_worker_that_comes_back(world: World) -> None:
    run_id, task = world.run_id(), world.script(charge(world), charge(world, 9000), {"content": "paid"})
    world.submit(run_id, task, grant={"approve_above_cents": {"charge_card": 8000}})
    world.until(run_id, "waiting_approval")
    with no_worker(world):
        assert pawl(world, "cancel", run_id, "--undo", "--who", "ada").code == 4
    ended = world.until(run_id, "cancelled")
    assert "cancelled by ada; undone: charge_card" in ended["detail"]
    assert pawl(world, "status", run_id, "--follow").code == 5


def test_a_paused_run_is_stuck_and_is_resumed_or_cancelled(world: World) -> None:
    run_id, key = parked(world)
    invocation = look(world, run_id)["invocation_id"]
    assert world.stack.admin.call("PATCH", f"/invocations/{invocation}/pause").is_success
    shown = world.wait(lambda: (s := pawl(world, "status", run_id)).code == 4 and s, "stuck", wait_s=10)
    assert "paused by an operator" in shown.out
    assert f"python -m services.cli resume {run_id}\n" in shown.out
    assert pawl(world, "resume", run_id).code == 3
    assert pawl(world, "resume", run_id).code == 6
    assert world.stack.admin.call("PATCH", f"/invocations/{invocation}/pause").is_success
    world.wait(lambda: pawl(world, "status", run_id).code == 4, "stuck", wait_s=10)
    assert pawl(world, "cancel", run_id).code == 0
    assert world.status(run_id)["state"] == "cancelled"
    assert pawl(world, "approve", run_id, key).code == 6


def test_a_paused_run_is_cancelled_also_without_a_worker(world: World) -> None:
    run_id, _ = parked(world)
    invocation = look(world, run_id)["invocation_id"]
    assert world.stack.admin.call("PATCH", f"/invocations/{invocation}/pause").is_success
    world.wait(lambda: pawl(world, "status", run_id).code == 4, "stuck", wait_s=10)
    with no_worker(world):
        told = pawl(world, "cancel", run_id)
        assert told.code == 0
        assert "told to end" in told.out
    assert pawl(world, "status", run_id, "--follow").code == 5
    assert [row["state"] for row in look(world, run_id)["ledger"]] == ["not_sent"]


def test_a_run_whose_version_is_gone_goes_on_with_the_newest(world: World) -> None:
    run_id, key = parked(world)
    (deployment,) = world.stack.admin.query("SELECT id FROM sys_deployment")
    try:
        with no_worker(world):
            gone = world.stack.admin.call("DELETE", f"/deployments/{deployment['id']}?force=true")
            assert gone.is_success
    finally:
        PAWL.register(world.stack.at, world.stack.url(world.stack.workers[0]))
    stuck = world.wait(lambda: (s := look(world, run_id))["state"] == "stuck" and s, "stuck", wait_s=15)
    assert stuck["trouble"]["cause"] == "version gone"
    assert pawl(world, *shlex.split(stuck["trouble"]["commands"][0])[3:]).code == 3
    assert pawl(world, "approve", run_id, key).code == 0
    assert len(world.effects(world.until(run_id, "completed"))) == 1


def test_a_bug_in_the_worker_shows_as_stuck_and_the_run_goes_on_when_it_is_mended(world: World) -> None:
    run_id, key = parked(world)
    with broken(world, "bug"):
        stuck = world.wait(lambda: (s := look(world, run_id))["state"] == "stuck" and s, "stuck", wait_s=15)
        assert (stuck["trouble"]["cause"], stuck["trouble"]["text"]) == ("failing over and over", "KeyError('turn')")
        assert pawl(world, "pending").code == 4
    assert pawl(world, "approve", run_id, key).code == 0
    ended = world.until(run_id, "completed")
    assert len(world.effects(ended)) == 1


def test_a_careless_new_version_shows_as_a_journal_mismatch_and_the_run_can_begin_afresh_on_its_ledger(
    world: World,
) -> None:
    run_id, task = world.run_id(), world.script(charge(world), charge(world, 9000), {"content": "paid"})
    world.submit(run_id, task, grant={"approve_above_cents": {"charge_card": 8000}})
    first = world.until(run_id, "waiting_approval")
    with broken(world, "version"):
        stuck = world.wait(lambda: (s := look(world, run_id))["state"] == "stuck" and s, "stuck", wait_s=15)
        assert stuck["trouble"]["cause"] == "journal mismatch"
        (command,) = stuck["trouble"]["commands"]
        assert pawl(world, "status", run_id, "--follow").code == 4
        afresh = pawl(world, *shlex.split(command)[3:])
        assert afresh.code in (0, 3), afresh
        world.until(run_id, "waiting_approval")
        assert pawl(world, "approve", run_id, first["questions"][0]["key"]).code == 0
        ended = world.until(run_id, "completed")
    assert [row["state"] for row in ended["ledger"]] == ["done", "done"]
    assert len(world.effects(ended)) == len(world.requests(ended)) == 2


def test_a_killed_run_is_stuck_and_a_resume_carries_it_on(world: World) -> None:
    run_id, key = parked(world)
    world.kill_invocation(look(world, run_id)["invocation_id"])
    killed = world.wait(lambda: (s := look(world, run_id))["state"] == "stuck" and s, "stuck", wait_s=10)
    assert killed["trouble"]["cause"] == "invocation gone"
    assert run_id in {run["run_id"] for run in pawl(world, "pending", "--json").json()["runs"]}
    assert pawl(world, "resume", run_id).code in (0, 3)
    world.until(run_id, "waiting_approval")
    assert pawl(world, "approve", run_id, key).code == 0
    assert len(world.effects(world.until(run_id, "completed"))) == 1
