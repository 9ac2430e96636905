"""Code that changes while runs are open: the wrong way is seen and mended, the right way needs no luck."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab.stack import Stack
from tests.server.editions import Edit, edition, mentions, put_back, put_in_place, says, status, target
from tests.server.stand import QUICK
from tests.server.world import World, call, calls

STEP_MORE: Edit = (
    "services/run.py",
    '        opened: Opened = await self.journal.run("begin", (Opened,), begin)\n',
    """        await self.journal.run("more", (Opened,), begin)
        opened: Opened = await self.journal.run("begin", (Opened,), begin)
""",
)
HANDLER_MORE: Edit = (
    "services/agent.py",
    "    return agent\n",
    """    @agent.handler(name="ping", kind="shared", output_serde=answers)
    async def ping(ctx: ObjectSharedContext) -> public.Shown:
        return {"pong": ctx.key()}

    return agent
""",
)
HANDLER_LESS: Edit = ("services/session.py", '    @session.handler(name="delete", output_serde=answers)\n', "")
TEXT: Edit = ("services/clock.py", "The only reader", "The one reader")


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A stack of its own: what is registered is what these tests are about."""
    with Stack(tmp_path / "stack", worker_env=QUICK) as stack:
        yield World(stack, 1)


def parked(world: World, name: str = "parked") -> tuple[str, str]:
    """A run that waits for an approval; its id and the key that it asks about."""
    charge = calls(call("charge_card", customer_id=f"{world.tag}-{name}", amount_cents=500))
    run_id = world.run_id(name)
    grant = {"approve_above_cents": {"charge_card": -1}}
    world.submit(run_id, world.script(charge, {"content": "done"}, name=run_id), grant=grant)
    return run_id, world.until(run_id, "waiting_approval")["ledger"][0]["key"]


def address(world: World) -> str:
    return world.stack.url(world.stack.workers[0])


def stuck(world: World, run_id: str) -> dict[str, Any]:
    return dict(world.wait(lambda: (s := status(world.stack, run_id)) and s["state"] == "stuck" and s, "stuck"))


def test_other_code_at_the_same_address_is_seen_named_and_mended(world: World, tmp_path: Path) -> None:
    run_id, key = parked(world)
    worker = world.stack.workers[0]
    put_in_place(worker, edition(tmp_path / "v2", STEP_MORE))
    # Nothing tells Restate, and registering again would hide it: our command says it, and how many it endangers.
    refused = says(world.stack, "register", "--worker", address(world))
    assert refused.returncode == 1
    assert mentions(refused, ["other code", "1 calls (1 Agent/run", "--force --yes"]), refused.stderr
    assert says(world.stack, "register", "--worker", address(world), "--force").returncode == 1
    assert world.decide(run_id, key, "approve").status_code == 200
    seen = stuck(world, run_id)
    assert seen["trouble"]["cause"] == "journal mismatch"
    assert "serve that one there again" in seen["trouble"]["remedy"]
    assert seen["trouble"]["commands"]
    assert not [row for row in world.stack.receiver.effects() if row["key"] == key]
    put_back(worker)
    ended = world.until(run_id, "completed")
    assert len(world.effects(ended)) == 1
    assert says(world.stack, "register", "--worker", address(world)).returncode == 0


def test_new_code_at_an_address_of_its_own_leaves_the_old_runs_on_the_old(world: World, tmp_path: Path) -> None:
    run_id, key = parked(world)
    first = address(world)
    second = world.stack.add_worker(target(edition(tmp_path / "v2", STEP_MORE)), QUICK, known_as="")
    added = says(world.stack, "register", "--worker", world.stack.url(second))
    assert added.returncode == 0, added.stderr
    needed = says(world.stack, "drain", first)
    assert needed.returncode == 3
    assert mentions(needed, ["still needed", "1 Agent/run suspended"]) or mentions(needed, ["1 Agent/run running"])
    assert mentions(needed, [f"runs on it: {run_id} (waiting_approval);", "services.cli pending"])
    fresh = world.run_id("new")
    assert world.run(fresh, world.script({"content": "new"}))["state"] == "completed"
    assert world.decide(run_id, key, "approve").status_code == 200
    ended = world.until(run_id, "completed")
    assert len(world.effects(ended)) == 1
    steps = {name: [row.get("name") for row in world.journal(invocation_of(world, name))] for name in (run_id, fresh)}
    assert "more" not in steps[run_id]
    assert "more" in steps[fresh]
    free = world.wait(lambda: (s := says(world.stack, "drain", first)).returncode == 0 and s, "drained")
    assert mentions(free, ["may be switched off"])
    assert says(world.stack, "drain", world.stack.url(second)).returncode == 3
    assert world.stack.workers[0].end()
    assert says(world.stack, "drain", first, "--remove").returncode == 0
    assert says(world.stack, "drain", first).returncode == 2
    assert world.run(world.run_id("last"), world.script({"content": "last"}, name="last"))["state"] == "completed"


def invocation_of(world: World, run_id: str) -> str:
    rows = world.stack.admin.query(
        "SELECT id FROM sys_invocation WHERE target_service_name = 'Agent' AND target_handler_name = 'run'"
        f" AND target_service_key = '{run_id}'"
    )
    return str(rows[0]["id"])


SAFE: dict[str, Edit] = {
    "a prompt text, which a step takes up": ("services/settings.py", "You carry out tasks", "You do tasks"),
    "a tool's description": ("tools/charge_card.py", '"""Charge', '"""Really charge'),
    "how often a tool is tried": ("tools/charge_card.py", "effect=Effect.KEYED", "effect=Effect.KEYED, attempts=5"),
    "a tool more": ("tools/__init__.py", "    send_sms,\n)", "    send_sms,\n    replace(send_sms, name='text'),\n)"),
}
UNSAFE: dict[str, Edit] = {
    "a step more": STEP_MORE,
    "a step's name": ("services/run.py", '"begin", (Opened,)', '"start", (Opened,)'),
    "a tool's name": ("tools/charge_card.py", "def charge_card(", "def charge_a_card("),
}


@pytest.mark.long
@pytest.mark.parametrize("what", SAFE)
def test_these_edits_may_reach_a_run_that_is_open(world: World, tmp_path: Path, what: str) -> None:
    run_id, key = parked(world)
    more = () if what != "a tool more" else IMPORTED
    put_in_place(world.stack.workers[0], edition(tmp_path / "v2", SAFE[what], *more))
    assert world.decide(run_id, key, "approve").status_code == 200
    assert len(world.effects(world.until(run_id, "completed"))) == 1


IMPORTED: tuple[Edit, ...] = (
    (
        "tools/__init__.py",
        "from tools.charge_card import",
        "from dataclasses import replace\n\nfrom tools.charge_card import",
    ),
)


@pytest.mark.long
@pytest.mark.parametrize("what", UNSAFE)
def test_these_edits_must_not_and_are_seen_as_a_mismatch(world: World, tmp_path: Path, what: str) -> None:
    run_id, key = parked(world)
    edits = [UNSAFE[what]]
    if what == "a tool's name":
        edits.append(("tools/__init__.py", "charge_card", "charge_a_card"))
        edits.append(("tools/__init__.py", "tools.charge_a_card", "tools.charge_card"))
    put_in_place(world.stack.workers[0], edition(tmp_path / "v2", *edits))
    assert world.decide(run_id, key, "approve").status_code == 200
    assert stuck(world, run_id)["trouble"]["cause"] == "journal mismatch"
    assert not [row for row in world.stack.receiver.effects() if row["key"] == key]
    put_back(world.stack.workers[0])
    assert len(world.effects(world.until(run_id, "completed"))) == 1


def test_registering_says_what_it_did_and_is_the_same_the_second_time(world: World, tmp_path: Path) -> None:
    again = says(world.stack, "register", "--worker", address(world))
    assert again.returncode == 0
    assert mentions(again, ["already registered", "the same code"])
    put_in_place(world.stack.workers[0], edition(tmp_path / "more", HANDLER_MORE))
    anew = says(world.stack, "register", "--worker", address(world))
    assert anew.returncode == 0, anew.stderr
    assert mentions(anew, ["other code", "added handlers Agent/ping", "no call was open on it"])
    assert world.post("any", "ping").json() == {"pong": "any"}
    put_in_place(world.stack.workers[0], edition(tmp_path / "less", HANDLER_LESS))
    less = says(world.stack, "register", "--worker", address(world))
    assert less.returncode == 1
    assert mentions(less, ["does not serve Agent/ping, Session/delete", "--breaking"]), less.stderr
    told = says(world.stack, "register", "--worker", address(world), "--breaking")
    assert told.returncode == 0, told.stderr
    assert mentions(told, ["removed handlers Agent/ping, Session/delete"])


def test_rolling_back_is_said_and_gives_the_old_version_the_new_calls(world: World, tmp_path: Path) -> None:
    first = address(world)
    second = world.stack.add_worker(target(edition(tmp_path / "v2", STEP_MORE)), QUICK, known_as="")
    url = world.stack.url(second)
    assert says(world.stack, "register", "--worker", url).returncode == 0
    unmoved = says(world.stack, "register", "--worker", first)
    assert unmoved.returncode == 0
    assert mentions(unmoved, ["already registered", f"NOT in use: new calls go to {url}", "--newest"])
    back = says(world.stack, "register", "--worker", first, "--newest")
    assert mentions(back, ["new calls go to it from now on"]), back.stderr
    run_id = world.run_id()
    world.run(run_id, world.script({"content": "old"}))
    assert "more" not in [row.get("name") for row in world.journal(invocation_of(world, run_id))]
    free = world.wait(lambda: (s := says(world.stack, "drain", url)).returncode == 0 and s, "drained")
    assert mentions(free, ["may be switched off"])


def test_what_is_open_may_be_endangered_only_with_two_words(world: World, tmp_path: Path) -> None:
    run_id, key = parked(world)
    put_in_place(world.stack.workers[0], edition(tmp_path / "text", TEXT))
    forced = says(world.stack, "register", "--worker", address(world), "--force", "--yes")
    assert forced.returncode == 0
    assert mentions(forced, ["1 open calls are endangered", "Agent/run"]), forced.stdout
    assert world.decide(run_id, key, "approve").status_code == 200
    assert len(world.effects(world.until(run_id, "completed"))) == 1
