"""Rates that all workers share: two workers, many runs, and what arrived at the model and at the receiver."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.stack import Stack
from lab.targets import PAWL
from tests.server.edge import SETTINGS
from tests.server.world import World, call, calls

LIMITED = {**SETTINGS, "PAWL_MODEL_RATE": "4,2", "PAWL_RECEIVER_RATE": "4,2"}
RUNS = 4
DONE = {"content": "done"}


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A stack of its own, whose worker limits requests to both."""
    with Stack(Path(tmp_path_factory.mktemp("limited")), worker_env=LIMITED) as made:
        yield World(made, 1)


def most_within(times: list[float], window_s: float) -> int:
    return max(sum(first <= at < first + window_s for at in times) for first in times)


def test_two_workers_keep_to_one_rate(limited: World) -> None:
    world = limited
    order = call("look_up_order", order_id="7")
    pay = call("charge_card", customer_id="c", amount_cents=100)
    world.script(calls(order, pay), DONE)
    runs = [world.run_id() for _ in range(2 * RUNS)]
    for run_id in runs[:RUNS]:
        world.submit(run_id, "task w1 s.")
    # From here on new runs go to another worker; those that have begun stay with the first.
    world.stack.add_worker(PAWL, LIMITED)
    for run_id in runs[RUNS:]:
        world.submit(run_id, "task w1 s.")
    ended = [world.until(run_id, "completed", "failed", wait_s=60) for run_id in runs]
    assert {run["state"] for run in ended} == {"completed"}
    model = [row["at"] for row in world.stack.model.requests()]
    receiver = [row["at"] for row in world.stack.receiver.requests()]
    assert (len(model), len(receiver)) == (2 * len(runs), 2 * len(runs))
    # Two at once and four a second; a request may be half a second late, and comes closer to the next one then.
    for times in (model, receiver):
        assert most_within(times, 1.0) <= 2 + 4 + 2
        assert times[-1] - times[0] >= (len(times) - 2) / 4 - 1
    where = world.stack.admin.query(
        "SELECT count(DISTINCT pinned_deployment_id) AS n FROM sys_invocation WHERE target_handler_name = 'run'"
    )
    assert where[0]["n"] == 2


def test_a_run_that_waits_for_room_says_so(limited: World) -> None:
    world = limited
    tasks = [world.script(DONE, name=f"t{number}") for number in range(12)]
    runs = [world.run_id("wait") for _ in tasks]
    for run_id, task in zip(runs, tasks, strict=True):
        world.submit(run_id, task)
    seen = world.wait(
        lambda: [s for s in map(world.status, runs) if s["state"] == "waiting_until"], "a run that waits", wait_s=10
    )
    assert "no more than 4 requests a second may go to the model mock" in seen[0]["reason"]
    for run_id in runs:
        world.until(run_id, "completed", wait_s=30)


def test_effects_that_go_one_by_one_keep_to_the_rate_and_a_crash_doubles_none(limited: World) -> None:
    world = limited
    worker = world.stack.workers[-1]
    sms = calls(*(call("send_sms", to="+491", text=f"text {number}") for number in range(6)))
    run_id = world.run_id("sms")
    world.submit(run_id, world.script(sms, DONE, name="sms"))

    def sent() -> list[str]:
        return [str(row["body"]) for row in world.stack.receiver.effects() if row["effect"] == "sms"]

    world.wait(lambda: len(sent()) == 2, "the second text", run_id)
    worker.kill()
    worker.start()

    def done() -> int:
        return sum(row["state"] == "done" for row in world.status(run_id)["ledger"])

    # The one that was under way when the worker died may be in doubt.
    world.wait(lambda: len(sent()) == 6 and done() >= 5, "six texts", run_id)
    assert len(set(sent())) == 6
