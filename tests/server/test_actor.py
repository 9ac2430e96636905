"""Who decides and who cancels is recorded, from the header that the gateway sets. Where it must be there, it must."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from lab.stack import Stack
from tests.server.stand import QUICK
from tests.server.world import World, call, calls

HEADER = "x-authenticated-user"


@pytest.fixture(scope="module")
def gated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    env = {**QUICK, "PAWL_ACTOR_HEADER": HEADER, "PAWL_ACTOR_REQUIRED": "true"}
    with Stack(Path(tmp_path_factory.mktemp("actor")), worker_env=env) as stack:
        world = World(stack, 940)
        world.restore()
        yield world


def waiting(world: World, name: str) -> tuple[str, str]:
    """A run that waits for an approval, and the key that it waits on."""
    run_id = world.run_id(name)
    pay = calls(call("charge_card", customer_id=world.tag, amount_cents=100))
    task = world.script(pay, {"content": "done"}, name=name)
    world.submit(run_id, task, grant={"approve_above_cents": {"charge_card": -1}})
    return run_id, world.until(run_id, "waiting_approval")["ledger"][0]["key"]


def act(world: World, run_id: str, handler: str, body: Any, headers: dict[str, str]) -> httpx.Response:
    url = f"{world.stack.at.ingress}/Agent/{run_id}/{handler}"
    return httpx.post(url, json=body, headers=headers, trust_env=False, timeout=20)


@pytest.mark.parametrize("headers", [{}, {HEADER: ""}, {"x-pawl-actor": "ada"}], ids=["none", "blank", "another"])
def test_a_decision_and_a_cancel_without_a_required_actor_are_refused(gated: World, headers: dict[str, str]) -> None:
    run_id, key = waiting(gated, "refused")
    refused = act(gated, run_id, "decide", {"key": key, "decision": "approve"}, headers)
    assert refused.status_code == 401 and HEADER in refused.text
    assert act(gated, run_id, "cancel", {}, headers).status_code == 401
    assert gated.status(run_id)["state"] == "waiting_approval"


def test_who_decided_stands_in_the_ledger(gated: World) -> None:
    run_id, key = waiting(gated, "decided")
    assert act(gated, run_id, "decide", {"key": key, "decision": "approve"}, {HEADER: "ada"}).json()["who"] == "ada"
    ended = gated.until(run_id, "completed")
    assert [ruling["who"] for ruling in ended["ledger"][0]["rulings"]] == ["ada"]
    late = act(gated, run_id, "decide", {"key": key, "decision": "deny"}, {HEADER: "bob"})
    assert late.status_code == 409
    assert f"run {run_id} has ended" in late.text and "approve by ada at" in late.text


def test_who_cancelled_stands_in_the_end(gated: World) -> None:
    run_id, _ = waiting(gated, "cancelled")
    assert act(gated, run_id, "cancel", {}, {HEADER.upper(): "bob"}).status_code == 200
    assert gated.until(run_id, "cancelled")["detail"] == "cancelled by bob"
