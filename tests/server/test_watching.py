"""What an operator sees of a worker: its log, and its metrics on a port of their own."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from lab.ports import HOST, free_port
from lab.stack import Stack
from tests.server.stand import QUICK
from tests.server.world import World, call, calls

SECRETS = {"PAWL_MODEL_KEY": "sk-model-secret", "PAWL_RECEIVER_TOKEN": "receiver-secret"}
WORD = "kingfisher"


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[World, str]]:
    metrics = f"{HOST}:{free_port()}"
    env = {**QUICK, **SECRETS, "PAWL_METRICS": metrics}
    with Stack(Path(tmp_path_factory.mktemp("watched")), worker_env=env) as stack:
        world = World(stack, 910)
        world.restore()
        yield world, f"http://{metrics}/metrics"


def lines(world: World, run_id: str, worker: int = 0) -> list[dict[str, Any]]:
    log = world.stack.workers[worker].command.log.read_text()
    parsed = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
    return [line for line in parsed if line.get("run_id") == run_id]


def scraped(url: str) -> dict[tuple[str, ...], float]:
    """Samples by name and label values, whose order is of no account."""
    text = httpx.get(url, trust_env=False).text
    families = text_string_to_metric_families(text)
    return {
        (sample.name, *sorted(sample.labels.values())): sample.value for each in families for sample in each.samples
    }


def pay(world: World, name: str) -> str:
    charge = call("charge_card", customer_id=world.tag, amount_cents=100, memo=WORD)
    return world.script(calls(charge), {"content": f"paid, {WORD}"}, name=name)


def test_each_step_is_one_line_that_says_of_what_and_how_it_went(watched: tuple[World, str]) -> None:
    world, _ = watched
    run_id = world.run_id()
    ended = world.run(run_id, pay(world, "lines"))
    key = ended["ledger"][0]["key"]
    told = lines(world, run_id)
    steps = [line for line in told if line["event"] == "step"]
    assert [line["step"] for line in steps] == ["begin", "model 1", "seal 1.1", "call 1.0 charge_card", "model 2"]
    assert [line["outcome"] for line in steps] == ["opened", "model_reply", "sealed", "done", "model_reply"]
    assert [line["key"] for line in steps] == [None, None, key, key, None]
    assert [line["turn"] for line in steps] == [None, 1, 1, 1, 2]
    assert all(line["attempt"] == 1 and line["ms"] >= 0 and line["level"] == "info" for line in steps)
    assert [line["event"] for line in told if line["event"] != "step"] == ["run started", "run ended"]
    assert told[-1]["state"] == "completed" and told[-1]["turns"] == 2


def test_a_replay_logs_nothing_again_and_a_retry_says_which_it_is(watched: tuple[World, str]) -> None:
    world, _ = watched
    run_id = world.run_id()
    gate = world.stack.receiver.gate("charge", "applied")
    world.submit(run_id, pay(world, "killed"))
    assert gate.wait_held(20)
    world.stack.workers[0].kill()
    gate.release()
    world.behave("charge", fail={"status": 503, "when": "before_commit"}, times=1)
    world.stack.workers[0].start()
    world.until(run_id, "completed")
    told = lines(world, run_id)
    steps = [line["step"] for line in told if line["event"] == "step"]
    assert steps.count("begin") == steps.count("model 1") == steps.count("seal 1.1") == 1
    attempts = [line["attempt"] for line in told if line.get("tool") == "charge_card"]
    assert attempts == list(range(1, len(attempts) + 1))
    assert [line["event"] for line in told if line["event"].startswith("run ")] == ["run started", "run ended"]


def test_who_decides_and_who_cancels_is_told_once(watched: tuple[World, str]) -> None:
    world, url = watched
    run_id = world.run_id()
    world.submit(run_id, pay(world, "asked"), grant={"approve_above_cents": {"charge_card": -1}})
    key = world.until(run_id, "waiting_approval")["ledger"][0]["key"]
    world.wait(lambda: scraped(url)["pawl_runs", "waiting_approval"] == 1, "the gauge")
    assert scraped(url)["pawl_runs", "running"] == 0
    world.decide(run_id, key, "deny")
    world.until(run_id, "completed")
    told = lines(world, run_id)
    assert [line["event"] for line in told if line["event"] != "step"] == [
        "run started",
        "run waits",
        "decided",
        "run ended",
    ]
    decided = next(line for line in told if line["event"] == "decided")
    assert (decided["key"], decided["decision"], decided["who"]) == (key, "deny", "somebody")
    assert scraped(url)["pawl_runs", "waiting_approval"] == scraped(url)["pawl_runs", "running"] == 0


def test_no_arguments_no_texts_and_no_secrets_are_logged(watched: tuple[World, str]) -> None:
    world, _ = watched
    world.run(world.run_id(), pay(world, "silent"))
    log = world.stack.workers[0].command.log.read_text()
    assert "call 1.0 charge_card" in log
    for word in (WORD, *SECRETS.values()):
        assert word not in log


def test_arguments_are_shown_at_debug_and_nothing_but_trouble_at_error(watched: tuple[World, str]) -> None:
    world, _ = watched
    run_id = world.run_id()
    for level in ("debug", "error"):
        worker = world.stack.add_worker(world.stack._target, {**QUICK, **SECRETS, "PAWL_LOG_LEVEL": level})
        world.run(f"{run_id}-{level}", pay(world, level))
        log = worker.command.log.read_text()
        assert (WORD in log) == (level == "debug")
        assert ("run started" in log) == (level == "debug")
        assert not any(secret in log for secret in SECRETS.values())
        worker.end()
    world.stack.admin.register(world.stack.url(world.stack.workers[0]))


def test_metrics_count_runs_steps_retries_and_effects(watched: tuple[World, str]) -> None:
    world, url = watched
    before = scraped(url)
    world.behave("charge", fail={"status": 503, "when": "before_commit"}, times=1)
    world.run(world.run_id(), pay(world, "counted"))
    after = scraped(url)

    def grown(name: str, *labels: str) -> float:
        sample = (name, *sorted(labels))
        return after.get(sample, 0.0) - before.get(sample, 0.0)

    assert grown("pawl_runs_started_total") == 1
    assert grown("pawl_runs_ended_total", "completed") == 1
    assert grown("pawl_effects_total", "charge_card", "keyed", "done") == 1
    assert grown("pawl_steps_total", "call", "done") == 1
    assert grown("pawl_steps_total", "model", "model_reply") == 2
    assert grown("pawl_retries_total", "call") >= 1
    assert grown("pawl_step_seconds_count", "model") == 2
    assert after["pawl_steps_in_flight",] == 0
    assert after["process_resident_memory_bytes",] > 0
