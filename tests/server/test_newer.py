"""State outlives code: what newer code has written is left alone, said, and waited for."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab.stack import Stack
from services.messages import SCHEMA
from services.vault import HELD_S
from tests.server.editions import Edit, edition, mentions, put_back, put_in_place, says, status, target
from tests.server.stand import QUICK
from tests.server.world import World, call, calls

NEWER: Edit = ("services/messages.py", f"\nSCHEMA = {SCHEMA}\n", f"\nSCHEMA = {SCHEMA + 1}\n")
SENTENCE = f"written by a newer version (schema {SCHEMA + 1}, this one reads up to {SCHEMA})"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with Stack(tmp_path / "stack", worker_env=QUICK) as stack:
        yield World(stack, 1)


def entries(world: World, run_id: str, service: str = "Agent") -> dict[str, bytes]:
    rows = world.stack.admin.query(
        f"SELECT key, value FROM state WHERE service_name = '{service}' AND service_key = '{run_id}'"
    )
    return {row["key"]: bytes.fromhex(row["value"]) for row in rows}


def of_the_future(world: World, run_id: str, name: str, **more: Any) -> None:
    """The entry as code of the next schema would have written it."""
    kept = entries(world, run_id)
    kept[name] = json.dumps({**json.loads(kept[name]), "schema_number": SCHEMA + 1, **more}).encode()
    body = {"object_key": run_id, "new_state": {key: list(value) for key, value in kept.items()}}
    assert world.stack.admin.call("POST", "/services/Agent/state", body).is_success
    world.wait(lambda: entries(world, run_id) == kept, "the entry")


def second_pass(world: World, run_id: str) -> dict[str, Any]:
    def done() -> Any:
        seen = world.status(run_id)
        return seen["state"] == "completed" and seen["pass"] == 2 and seen

    return dict(world.wait(done, "the second pass"))


def attempts(world: World, invocation: str) -> int:
    rows = world.stack.admin.query(f"SELECT retry_count FROM sys_invocation WHERE id = '{invocation}'")
    return int(rows[0].get("retry_count") or 0)


READS = {
    "end": ("status", "submit", "cancel", "forget"),
    "run": ("status", "cancel", "forget"),
    "begun": ("status", "cancel"),
}
"""Who needs which entry."""


@pytest.mark.parametrize("name", READS)
def test_a_row_that_newer_code_wrote_holds_the_run_and_is_never_answered_from(world: World, name: str) -> None:
    pay = calls(call("charge_card", customer_id=world.tag, amount_cents=100))
    run_id, task = world.run_id(), world.script(pay, {"content": "paid"})
    ended = world.run(run_id, task)
    # The layout of a later version may fit ours, and mean something else.
    of_the_future(world, run_id, name, answer="what is this?")
    before = entries(world, run_id)
    for handler in READS[name]:
        refused = world.post(run_id, handler, {"submit": {"task": task}, "cancel": {}}.get(handler))
        assert refused.status_code == 503, (handler, refused.text)
        assert SENTENCE in refused.text
    sent = world.stack.ingress.call("POST", f"/Agent/{run_id}/run/send", {"task": task, "again": 2})
    invocation = str(sent.json()["invocationId"])
    seen = world.wait(lambda: (s := status(world.stack, run_id)) and s["state"] == "stuck" and s, "stuck")
    assert seen["trouble"]["cause"] == "state of a newer version"
    assert SENTENCE in seen["trouble"]["text"]
    assert mentions(says(world.stack, "cli", "pending"), [run_id, SENTENCE])
    (check,) = [each for each in json.loads(says(world.stack, "doctor", "--json").stdout) if each["name"] == "runs"]
    assert check["state"] == "note"
    assert f"1 state of a newer version; the first: state of a newer version: {SENTENCE}" in check["seen"]
    tried = attempts(world, invocation)
    time.sleep(HELD_S)
    assert attempts(world, invocation) - tried <= 2, "it is held, and does not run hot"
    assert entries(world, run_id) == before, "nothing was written over it"
    assert len(world.effects(ended)) == 1


def test_it_goes_on_by_itself_when_the_newer_code_is_back(world: World, tmp_path: Path) -> None:
    worker = world.stack.workers[0]
    put_in_place(worker, edition(tmp_path / "v2", NEWER))
    pay = calls(call("charge_card", customer_id=world.tag, amount_cents=100))
    run_id, task = world.run_id(), world.script(pay, {"content": "paid"})
    first = world.run(run_id, task)
    put_back(worker)
    world.stack.ingress.call("POST", f"/Agent/{run_id}/run/send", {"task": task, "again": 2})
    world.wait(lambda: status(world.stack, run_id)["state"] == "stuck", "stuck")
    put_in_place(worker, edition(tmp_path / "v3", NEWER))
    ended = second_pass(world, run_id)
    assert [row["key"] for row in ended["ledger"]] == [row["key"] for row in first["ledger"]]
    assert len(world.effects(ended)) == 1


def test_or_is_resumed_on_the_newer_code_at_an_address_of_its_own(world: World, tmp_path: Path) -> None:
    second = world.stack.add_worker(target(edition(tmp_path / "v2", NEWER)), QUICK, known_as="")
    first = world.stack.url(world.stack.workers[0])
    assert says(world.stack, "register", "--worker", world.stack.url(second)).returncode == 0
    pay = calls(call("charge_card", customer_id=world.tag, amount_cents=100))
    run_id, task = world.run_id(), world.script(pay, {"content": "paid"})
    world.run(run_id, task)
    assert says(world.stack, "register", "--worker", first, "--newest").returncode == 0
    world.stack.ingress.call("POST", f"/Agent/{run_id}/run/send", {"task": task, "again": 2})
    seen = world.wait(lambda: (s := status(world.stack, run_id)) and s["state"] == "stuck" and s, "stuck")
    assert seen["trouble"]["commands"][0].endswith("--deployment latest")
    assert says(world.stack, "register", "--worker", world.stack.url(second), "--newest").returncode == 0
    says(world.stack, "cli", "resume", run_id, "--deployment", "latest")
    ended = second_pass(world, run_id)
    assert len(world.effects(ended)) == 1
