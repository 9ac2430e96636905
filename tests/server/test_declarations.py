"""A tool that is not what it was when it made a key: a further pass asks a person before it goes on."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.stack import Stack
from tests.server.editions import Edit, edition, put_in_place
from tests.server.stand import QUICK
from tests.server.world import World, call, calls

IDENTITY: Edit = (
    "tools/charge_card.py",
    'identity=("customer_id", "amount_cents", "currency")',
    'identity=("customer_id", "amount_cents")',
)
RENAMED: tuple[Edit, ...] = (
    ("tools/charge_card.py", "def charge_card(", "def charge_a_card("),
    ("tools/__init__.py", "charge_card", "charge_a_card"),
    ("tools/__init__.py", "tools.charge_a_card", "tools.charge_card"),
)
WAS = "charge_card (key {key}) was identified by amount_cents, currency, customer_id"
CHANGES: dict[str, tuple[tuple[Edit, ...], str]] = {
    "identity": ((IDENTITY,), f"{WAS}, and is by amount_cents, customer_id now"),
    "name": (RENAMED, "the ledger holds charge_card (key {key}), and no tool has that name now"),
}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A stack of its own: another worker is served at its address."""
    with Stack(tmp_path / "stack", worker_env=QUICK) as stack:
        yield World(stack, 1)


@pytest.mark.parametrize("what", CHANGES)
def test_a_tool_that_changed_is_asked_about_before_a_further_pass_goes_on(
    world: World, tmp_path: Path, what: str
) -> None:
    edits, sentence = CHANGES[what]
    run_id = world.run_id()
    task = world.script(calls(call("charge_card", customer_id=world.tag, amount_cents=100)), {"content": "paid"})
    first = world.run(run_id, task)
    key = first["ledger"][0]["key"]
    put_in_place(world.stack.workers[0], edition(tmp_path / "changed", *edits))
    world.submit(run_id, task, again=2)
    (question,) = world.until(run_id, "waiting_approval")["questions"]
    assert question["kind"] == "approval"
    assert question["text"].startswith(sentence.format(key=key) + ". To go on may repeat what was done: ")
    assert world.decide(run_id, question["key"], "deny").status_code == 200
    ended = world.until(run_id, "failed")
    assert ended["reason"] == "tools_changed", ended
    assert [row["key"] for row in ended["ledger"]] == [key]
    # Nothing was sent, and the model was not asked for anything further.
    assert len(world.requests(first)) == len(world.stack.receiver.effects()) == 1
    # The next pass asks again; approved, it goes on.
    world.script({"content": "as it is"})
    world.submit(run_id, task, again=3)
    (anew,) = world.until(run_id, "waiting_approval")["questions"]
    assert anew["key"] != question["key"] and anew["text"] == question["text"]
    assert world.decide(run_id, anew["key"], "approve").status_code == 200
    assert world.until(run_id, "completed")["answer"] == "as it is"
    assert len(world.stack.receiver.effects()) == 1
