"""SIGTERM and SIGINT: the worker leaves in time with exit code 0, effects in flight end once, no run fails."""

import itertools
import json
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from lab.process import Process
from lab.stack import Stack
from services.settings import Settings
from tests.server.stand import QUICK
from tests.server.world import World, call, calls

BRIEF_S = 3.0
STARTS_S = 20.0
"""What a new worker may take to start and to end a run that waits for it, on a machine with many times more work than
cores: far below the 45 s after which Restate would lose patience with the old one."""
SLACK_S = 2.0
SIGNALS = (signal.SIGTERM, signal.SIGINT)


@pytest.fixture(scope="module")
def brief(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A stack whose worker leaves within three seconds."""
    env = {**QUICK, "PAWL_SHUTDOWN_S": str(BRIEF_S)}
    with Stack(tmp_path_factory.mktemp("brief"), worker_env=env) as stack:
        yield World(stack, 1)


@pytest.fixture
def here(brief: World) -> Iterator[World]:
    """Everything up, and scripts and runs that are this test's own."""
    made = World(brief.stack, brief.number + brief.runs)
    brief.runs += 1
    made.restore()
    yield made
    made.restore()


def left(world: World, number: int, within_s: float = BRIEF_S) -> float:
    """Sends the signal and waits for the end; seconds until then. The exit code must be 0."""
    worker = tell(world, number)
    return gone(world, worker, within_s)


def tell(world: World, number: int) -> Process:
    worker = world.stack.workers[0]
    os.kill(worker.pid, number)
    return worker


def gone(world: World, worker: Process, within_s: float = BRIEF_S) -> float:
    began = time.monotonic()
    world.wait(lambda: not worker.alive, "the end of the worker", wait_s=within_s + SLACK_S)
    assert worker.exit_code == 0, worker.how_it_ended()
    return time.monotonic() - began


def log_of(worker: Process) -> list[str]:
    return worker.command.log.read_text().splitlines()


@pytest.mark.parametrize("number", SIGNALS)
def test_idle_connections_do_not_hold_the_worker(here: World, number: int) -> None:
    here.run(here.run_id(), here.script({"content": "done"}))
    worker = here.stack.workers[0]
    with (
        socket.create_connection(("127.0.0.1", worker.command.port)),
        httpx.Client(base_url=here.stack.url(worker), trust_env=False) as kept,
    ):
        assert kept.get("/health").status_code == 200
        seconds = left(here, number)
    assert seconds < BRIEF_S / 2
    assert json.loads(log_of(worker)[-1])["event"] == "left"


@pytest.mark.parametrize("number", SIGNALS)
def test_a_parked_run_waits_on_at_the_next_worker(here: World, number: int) -> None:
    task = here.script(calls(call("charge_card", customer_id=here.tag, amount_cents=500)), {"content": "done"})
    run_id = here.run_id()
    here.submit(run_id, task, grant={"approve_above_cents": {"charge_card": -1}})
    asked = here.until(run_id, "waiting_approval")
    assert left(here, number) < BRIEF_S / 2
    here.stack.workers[0].start()
    began = time.monotonic()
    assert here.decide(run_id, asked["ledger"][0]["key"], "approve").status_code == 200
    ended = here.until(run_id, "completed")
    assert time.monotonic() - began < STARTS_S
    assert len(here.effects(ended)) == 1
    assert here.retries(run_id) == 0


EFFECTS = {
    "charge": call("charge_card", customer_id="shutdown", amount_cents=500),
    "customer": call("update_crm", customer_id="shutdown", fields={"tier": "gold"}),
    "transfer": call("transfer_money", to_account="shutdown", amount_cents=300),
    "sms": call("send_sms", to="+491", text="shutdown"),
}


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("effect", EFFECTS)
def test_an_effect_in_flight_ends_and_is_recorded(here: World, effect: str, number: int) -> None:
    run_id, gate = here.run_id(), here.stack.receiver.gate(effect, "arrived")
    here.submit(run_id, here.script(calls(EFFECTS[effect]), {"content": "done"}))
    assert gate.wait_held(20)
    worker = tell(here, number)
    time.sleep(1)
    assert worker.alive, "it left while an effect was in flight"
    gate.release()
    gone(here, worker)
    worker.start()
    began = time.monotonic()
    ended = here.until(run_id, "completed")
    assert time.monotonic() - began < STARTS_S
    assert len(here.effects(ended)) == 1
    assert len(here.requests(ended)) == 1, "the answer was there, but not recorded"


def test_what_is_turned_away_meanwhile_cuts_off_no_effect_in_flight(here: World) -> None:
    """Effects and what is turned away share one connection."""
    run_id, gate = here.run_id(), here.stack.receiver.gate("sms", "arrived")
    here.submit(run_id, here.script(calls(EFFECTS["sms"]), {"content": "done"}))
    assert gate.wait_held(20)
    worker, over = tell(here, signal.SIGTERM), threading.Event()

    def others(number: int) -> None:
        for count in itertools.count():
            if over.is_set():
                return
            here.post(f"{run_id}-{number}-{count}", "submit", {"task": "x"})

    with ThreadPoolExecutor(6) as several:
        coming = [several.submit(others, number) for number in range(6)]
        time.sleep(1)
        assert worker.alive, "it left while an effect was in flight"
        gate.release()
        gone(here, worker)
        over.set()
        worker.start()
        for each in coming:
            each.result(STARTS_S)
    ended = here.until(run_id, "completed", "outcome_unknown")
    assert (ended["state"], [row["state"] for row in ended["ledger"]]) == ("completed", ["done"])


def test_an_effect_that_takes_longer_than_the_worker_has_is_repeated_under_its_key(here: World) -> None:
    run_id, gate = here.run_id(), here.stack.receiver.gate("charge", "applied")
    here.submit(run_id, here.script(calls(EFFECTS["charge"]), {"content": "done"}))
    assert gate.wait_held(20)
    worker = tell(here, signal.SIGTERM)
    seconds = gone(here, worker)
    assert seconds > BRIEF_S - SLACK_S
    gate.release()
    worker.start()
    ended = here.until(run_id, "completed")
    assert len(here.requests(ended)) == 2
    assert len(here.effects(ended)) == 1


MANY = 60


def test_many_parked_runs_do_not_hold_it_and_all_go_on_at_the_next_worker(here: World) -> None:
    task = here.script(calls(call("charge_card", customer_id=here.tag, amount_cents=500)), {"content": "done"})
    runs = [here.run_id() for _ in range(MANY)]
    for run_id in runs:
        here.submit(run_id, task, grant={"approve_above_cents": {"charge_card": -1}})
    keys = {run_id: here.until(run_id, "waiting_approval")["ledger"][0]["key"] for run_id in runs}
    assert left(here, signal.SIGTERM) < BRIEF_S
    here.stack.workers[0].start()
    for run_id, key in keys.items():
        assert here.decide(run_id, key, "approve").status_code == 200
    for run_id in runs:
        assert len(here.effects(here.until(run_id, "completed"))) == 1


def test_after_the_signal_no_further_step_begins(here: World) -> None:
    run_id, gate = here.run_id(), here.stack.model.gate("chat", "arrived")
    here.submit(run_id, here.script(calls(*EFFECTS.values()), {"content": "done"}))
    assert gate.wait_held(20)
    worker = tell(here, signal.SIGTERM)
    with httpx.Client(trust_env=False) as client:
        assert client.get(f"{here.stack.url(worker)}/health").status_code == 503
    before = len(here.stack.receiver.requests())
    gate.release()
    gone(here, worker)
    assert len(here.stack.receiver.requests()) == before, "an effect left after the signal"
    worker.start()
    ended = here.until(run_id, "completed")
    assert len(here.effects(ended)) == len(EFFECTS)
    assert here.model_requests() == 2, "the reply that came while it left was not recorded"


def test_a_signal_at_any_moment_of_a_busy_worker_fails_no_run_and_doubts_nothing(here: World) -> None:
    task = here.script(calls(EFFECTS["sms"]), calls(EFFECTS["charge"]), calls(EFFECTS["transfer"]), {"content": "done"})
    runs = [here.run_id() for _ in range(12)]
    worker = here.stack.workers[0]
    for delay_s in (0.05, 0.15):
        for run_id in runs[:6] if delay_s < 0.1 else runs[6:]:
            here.submit(run_id, task)
        time.sleep(delay_s)
        gone(here, tell(here, signal.SIGTERM))
        worker.start()
    for run_id in runs:
        ended = here.until(run_id, "completed", "failed", "outcome_unknown", "waiting_approval")
        assert ended["state"] == "completed", ended
        assert len(here.effects(ended)) == 3


def test_the_time_is_a_setting_and_has_a_default_below_what_container_engines_wait() -> None:
    assert Settings.model_fields["shutdown_s"].default < 10
