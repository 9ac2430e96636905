"""Somebody is told of a run that is stuck, once, whoever notices it and however often; and once more after a time."""

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from lab.stack import Stack
from lab.targets import PAWL
from tests.server.editions import says
from tests.server.stand import QUICK
from tests.server.test_notice import Ear
from tests.server.world import World, call, calls

LONG_ENOUGH_S = 4.0
"""Several looks."""
SILENT = replace(PAWL, register=lambda _at, _worker: None)


@dataclass
class Watched:
    """Two workers, both of which look; new calls go to the second."""

    world: World
    ear: Ear
    env: dict[str, str]

    def names(self, run_id: str) -> list[str]:
        """What was told, each once, though the ear wants everything twice."""
        return list({event["id"]: event["name"] for event in self.ear.events(run_id)}.values())

    def told(self, run_id: str, *names: str) -> list[dict[str, Any]]:
        self.world.wait(lambda: self.names(run_id) == list(names), f"{names} of {run_id}")
        time.sleep(LONG_ENOUGH_S)
        assert self.names(run_id) == list(names), self.names(run_id)
        return self.ear.events(run_id)

    def second(self) -> None:
        """A second worker, to which new calls go."""
        worker = self.world.stack.add_worker(SILENT, self.env, known_as="")
        added = says(self.world.stack, "register", "--worker", self.world.stack.url(worker))
        assert added.returncode == 0, added.stderr


@pytest.fixture
def ear() -> Iterator[Ear]:
    made = Ear()
    threading.Thread(target=made.serve_forever, daemon=True).start()
    yield made
    made.shutdown()
    made.server_close()


@pytest.fixture
def watched(ear: Ear, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Watched]:
    env = {
        **QUICK,
        "PAWL_WEBHOOK_URL": f"http://127.0.0.1:{ear.server_address[1]}/hook",
        "PAWL_STUCK_S": "1",
        **getattr(request, "param", {}),
    }
    with Stack(tmp_path / "stack", worker_env=env) as stack:
        yield Watched(World(stack, 1), ear, env)


def at_work(world: World) -> str:
    """A run in the middle of a call of the model that never comes to an end."""
    run_id = world.run_id()
    world.submit(run_id, world.script({"hang": True}, name=run_id))
    world.wait(lambda: world.model_requests(run_id), "the call of the model")
    return run_id


def test_a_run_whose_worker_and_then_version_is_gone_is_told_of_once(watched: Watched) -> None:
    world = watched.world
    run_id = at_work(world)
    watched.second()
    first = world.stack.workers[0]
    first.kill()
    events = watched.told(run_id, "stuck")
    assert (events[0]["state"], events[0]["run_id"], events[0]["pass"]) == ("stuck", run_id, 1)
    assert events[0]["reason"].startswith("worker unreachable")
    assert "start a worker at" in events[0]["remedy"]
    # The look is nobody's in particular: after a restart of everybody, and without the version, nothing is new.
    deployment = world.stack.admin.query(
        f"SELECT pinned_deployment_id AS id FROM sys_invocation WHERE target_service_key = '{run_id}'"
    )[0]["id"]
    assert world.stack.admin.call("DELETE", f"/deployments/{deployment}?force=true").is_success
    world.stack.server.kill()
    world.stack.server.start()
    world.stack.workers[1].kill()
    world.stack.workers[1].start()
    watched.told(run_id, "stuck")


@pytest.mark.parametrize("watched", [{"PAWL_ESCALATE_S": "2"}], indirect=True)
def test_a_paused_run_is_told_of_and_once_more_where_nobody_helps(watched: Watched) -> None:
    world = watched.world
    run_id, other = world.run_id(), world.run_id()
    always = {"approve_above_cents": {"charge_card": -1}}
    charge = calls(call("charge_card", customer_id=world.tag, amount_cents=500))
    invocation = world.submit(run_id, world.script({"status": 500}, loop=True), limits={"wall_s": 300})
    world.submit(other, world.script(charge, {"content": "done"}, name="other"), grant=always)
    key = world.until(other, "waiting_approval")["ledger"][0]["key"]
    world.stack.admin.call("PATCH", f"/invocations/{invocation}/pause")
    events = watched.told(run_id, "stuck", "escalated")
    assert all(event["reason"] == "paused: paused by an operator" for event in events)
    # Told once more of because nobody answers; not stuck, though no worker has it.
    assert watched.names(other) == ["waiting", "escalated"]
    assert watched.ear.events(other)[0]["questions"][0]["key"] == key


def test_a_killed_run_is_told_of_and_one_that_goes_on_is_not(watched: Watched) -> None:
    world = watched.world
    killed, other = at_work(world), at_work(world)
    world.kill_invocation(str(world.status(killed)["invocation_id"]))
    assert watched.told(killed, "stuck")[0]["reason"].startswith("invocation gone")
    assert watched.names(other) == []


def test_anybody_may_ask_for_a_look_and_it_is_made_once(watched: Watched) -> None:
    world = watched.world
    run_id = at_work(world)
    world.stack.admin.call("PATCH", f"/invocations/{world.status(run_id)['invocation_id']}/pause")
    url = f"{world.stack.at.ingress}/Lookout/runs/look"
    answers = [httpx.post(url, timeout=20, trust_env=False).json() for _ in range(20)]
    assert sum(answer["looked"] for answer in answers) <= 3
    watched.told(run_id, "stuck")
    for other in ("", "another"):
        assert world.stack.ingress.invoke("Lookout", other, "look").status_code == 404


def test_a_look_that_is_stuck_itself_does_not_stop_the_looking(watched: Watched) -> None:
    world = watched.world
    run_id = at_work(world)
    watched.second()
    # The second worker is frozen with a look in its hands, and goes; the first has the new calls again.
    first, second = world.stack.workers
    second.freeze()
    time.sleep(1.5)
    assert says(world.stack, "register", "--worker", world.stack.url(first), "--newest").returncode == 0
    second.kill()
    world.stack.admin.call("PATCH", f"/invocations/{world.status(run_id)['invocation_id']}/pause")
    world.wait(lambda: watched.names(run_id) == ["stuck"], "the notice", wait_s=60)
