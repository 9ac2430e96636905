"""Mistakes in tools and in the worker itself: counted, bounded, seen from outside, and over when they are mended."""

import json
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from typer.testing import CliRunner

from lab.process import Process
from services import cli
from tests.server.edge import Edge, served_with
from tests.server.world import call, calls

DONE = {"content": "done"}


def asked(edge: Edge, what: str) -> int:
    """How often a mistaken tool has asked the receiver about this."""
    return sum(row["path"].endswith(what) for row in edge.stack.receiver.requests())


def pawl(edge: Edge, *words: str) -> Any:
    """A command with `--json`; its answer."""
    env = {"PAWL_INGRESS": edge.stack.at.ingress, "PAWL_ADMIN": edge.stack.at.admin}
    return json.loads(CliRunner().invoke(cli.app, [*words, "--json"], env=env).stdout)


def test_a_read_that_always_raises_is_called_once_and_the_model_is_told(edge: Edge) -> None:
    run_id, task = edge.run_id(), edge.script(calls(call("mistaken_read", who=edge.tag)), DONE)
    assert edge.run(run_id, task)["state"] == "completed"
    assert asked(edge, edge.tag) == 1
    assert edge.told() == ["mistaken_read was rejected: ValueError: the weather is wrong"]
    assert edge.failed_attempts(run_id) == 0


def test_a_write_that_always_raises_is_called_as_often_as_it_may_be(edge: Edge) -> None:
    task = edge.script(calls(call("mistaken_write", who=edge.tag)), DONE)
    ended = edge.run(edge.run_id(), task, unknown="tell")
    (row,) = ended["ledger"]
    assert (ended["state"], row["state"], row["attempts"]) == ("completed", "unknown", 3)
    assert asked(edge, f"{row['key']}-{edge.tag}") == 3
    assert "the outcome is unknown" in edge.told()[0]
    edge.script(calls(call("mistaken_write", who=edge.tag)), DONE, name="p")
    parked = edge.run_id()
    edge.submit(parked, f"task {edge.tag} p.")
    asks = edge.until(parked, "outcome_unknown")
    assert "ValueError: the weather is wrong" in asks["reason"]


@contextmanager
def mistaken(edge: Edge, mistake: str) -> Iterator[None]:
    """A worker with a mistake in it stands where the good one was."""
    argv = (sys.executable, "-m", "tests.workers.broken", mistake)
    bad = Process(replace(edge.worker.command, name="broken", argv=argv))
    edge.worker.kill()
    try:
        bad.start()
        yield
    finally:
        bad.end(1)
        edge.worker.start()


def test_a_bug_behind_a_reply_is_seen_and_a_mended_worker_goes_on_from_there(edge: Edge) -> None:
    run_id = edge.run_id()
    task = edge.script(calls(call("charge_card", customer_id=edge.tag, amount_cents=100)), DONE)
    with mistaken(edge, "turn"):
        invocation = edge.submit(run_id, task)

        def stuck() -> Any:
            return (seen := pawl(edge, "status", run_id))["state"] == "stuck" and seen

        seen = edge.wait(stuck, "stuck", wait_s=10)
        assert "KeyError" in seen["reason"] and seen["trouble"]["remedy"]
        assert run_id in [run["run_id"] for run in pawl(edge, "pending")["runs"]]
        assert edge.stack.admin.call("PATCH", f"/invocations/{invocation}/pause").is_success
        paused = edge.wait(lambda: (s := stuck()) and s["trouble"]["paused"] and s, "a pause", wait_s=10)
        assert run_id in [run["run_id"] for run in pawl(edge, "pending")["runs"]]
    (command,) = paused["trouble"]["commands"]
    assert "resume" in command
    pawl(edge, *shlex.split(command)[3:])
    ended = edge.until(run_id, "completed")
    assert (len(edge.effects(ended)), len(edge.rows())) == (1, 2)


TURNS = 300


@pytest.mark.long
@pytest.mark.timeout(600)
@served_with(max_turns="400", max_calls="1000", max_tokens="100000000", history_bytes="200000")
def test_three_hundred_turns_with_a_strict_model_and_a_kill_in_the_middle(edge: Edge) -> None:
    run_id = edge.run_id()
    replies = [
        calls(call("look_up_order", order_id=str(number)), call("look_up_order", order_id=f"missing{number}"))
        for number in range(TURNS)
    ]
    # The ids repeat, as those of some providers do.
    for reply in replies:
        for index, made in enumerate(reply["tool_calls"]):
            made["id"] = f"call_{index}"
    edge.submit(run_id, edge.script(*replies, loop=True), limits={"turns": TURNS})
    edge.wait(lambda: edge.status(run_id).get("turns", 0) >= TURNS // 2, "half of the turns", run_id, wait_s=300)
    edge.kill_worker()
    ended = edge.until(run_id, "failed", "completed", wait_s=300)
    assert (ended["reason"], ended["turns"]) == ("max_turns", TURNS)
    assert {row["status"] for row in edge.rows()} <= {200, None}
    assert max(row["bytes"] for row in edge.rows()) < 220_000


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_session_of_three_hundred_messages_with_a_strict_model(edge: Edge) -> None:
    made = calls(call("look_up_order", order_id="5"), call("look_up_order", order_id="6"))
    task = edge.script(made, {"content": "It is delivered. " + "z" * 500})
    for number in range(TURNS):
        edge.say(f"m{number}", task)
        assert edge.heard(f"m{number}")["state"] == "completed", number
        if number == TURNS // 2:
            edge.kill_worker()
    assert {row["status"] for row in edge.rows()} <= {200, None}
