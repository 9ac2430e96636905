"""Tools that are code of somebody who has never heard of a durable step: what they return, raise, swallow and block."""

import time
from typing import Any

import pytest

from tests.server.stand import ONCE, Stand
from tests.server.tools.samples import RAISED, VALUES
from tests.server.world import call, calls

KINDS_PER_TURN = 15


def ask(stand: Stand, name: str, *made: dict[str, Any], **more: Any) -> str:
    """Submits a run whose model makes these calls; its id."""
    run_id = stand.run_id(name)
    task = stand.script(calls(*made), {"content": "done"}, name=run_id)
    stand.submit(run_id, task, **more)
    return run_id


def told(stand: Stand, run_id: str) -> list[str]:
    """The texts of the tools in the last request to the model."""
    rows = [row for row in stand.stack.model.requests() if row["script"] == f"{stand.tag}-{run_id}"]
    body = stand.stack.model.json("GET", f"/requests/{rows[-1]['n']}")["body"]
    return [message["content"] for message in body["messages"] if message["role"] == "tool"]


def made(stand: Stand, subject: str) -> int:
    return sum(row["body"]["text"] == subject for row in stand.stack.receiver.effects() if row["effect"] == "sms")


def read(stand: Stand, subject: str) -> int:
    return sum(row["path"] == f"/orders/{subject}" for row in stand.stack.receiver.requests())


def test_whatever_a_tool_returns_its_effect_is_made_once_and_a_replay_tells_the_same(stand: Stand) -> None:
    kinds = list(VALUES)
    halves = [kinds[:KINDS_PER_TURN], kinds[KINDS_PER_TURN:]]
    for number, half in enumerate(halves):
        subjects = {kind: f"{stand.tag} {number} {kind}" for kind in half}
        run_id = stand.run_id("odd")
        replies = calls(*(call("odd", subject=subjects[kind], kind=kind) for kind in half))
        task = stand.script(replies, {"content": "done"}, name=run_id)
        first = stand.model_gate("applied", times=1)
        stand.submit(run_id, task)
        first.wait()
        second = stand.model_gate("applied", times=1)
        first.release()
        second.wait()
        before = told(stand, run_id)
        stand.a.kill()
        second.release()
        stand.a.start()
        status = stand.until(run_id, "completed")
        after = told(stand, run_id)
        assert dict(zip(half, after, strict=True)) == dict(zip(half, before, strict=True))
        assert {kind: made(stand, subject) for kind, subject in subjects.items()} == dict.fromkeys(half, 1)
        assert {row["state"] for row in status["ledger"]} == {"done"}
        assert {row["attempts"] for row in status["ledger"]} == {1}
        assert all(after) and max(map(len, after)) < 40_000
        words = dict(zip(half, after, strict=True))
        assert words.get("none", "done, no value") == "done, no value"


@pytest.mark.parametrize("kind", RAISED)
def test_whatever_a_tool_raises_the_run_comes_to_an_end_that_has_a_name(stand: Stand, kind: str) -> None:
    pid = stand.a.pid
    subject = f"{stand.tag}-{kind.replace(' ', '-')}"
    reading = ask(stand, "reads", call("raises_on_read", subject=subject, kind=kind))
    changing = ask(stand, "changes", call("raises", subject=subject, kind=kind))
    ended = stand.until(reading, "completed")
    assert ended["turns"] == 2 and read(stand, subject) == 1
    (text,) = told(stand, reading)
    assert type(RAISED[kind]()).__name__ in text
    # What raised after its effect may have made it: two attempts are configured, then a person decides.
    parked = stand.until(changing, "outcome_unknown")
    (row,) = parked["ledger"]
    assert (row["state"], row["attempts"]) == ("unknown", 2)
    assert made(stand, subject) == 2
    assert stand.decide(changing, row["key"], "happened").status_code == 200
    stand.until(changing, "completed")
    assert stand.retries(reading) == stand.retries(changing) == 0
    assert stand.a.alive and stand.a.pid == pid


def test_one_of_three_fails_without_a_word_and_the_others_are_answered(stand: Stand) -> None:
    subject = stand.tag
    run_id = ask(
        stand,
        "three",
        call("sleeps", subject=f"{subject}-fast", seconds=0),
        call("raises_on_read", subject=subject, kind="wordless"),
        call("sleeps", subject=f"{subject}-slow", seconds=0.5),
    )
    stand.until(run_id, "completed")
    assert told(stand, run_id) == ["slept", "raises_on_read was rejected: Wordless", "slept"]
    assert made(stand, f"{subject}-fast") == made(stand, f"{subject}-slow") == 1


def test_after_a_kill_only_what_had_not_ended_runs_again(stand: Stand) -> None:
    subject = stand.tag
    (gate,) = stand.gates("applied", ONCE)
    run_id = ask(
        stand,
        "three",
        call("raises_on_read", subject=f"{subject}-a", kind="wordless"),
        call("raises_on_read", subject=f"{subject}-b", kind="value"),
        call("charge_card", customer_id=subject, amount_cents=700),
        call("send_sms", to="+491", text=subject),
    )
    gate.wait()
    stand.wait(lambda: results(stand, run_id) == 3, "three results")
    stand.a.kill()
    gate.release()
    stand.a.start()
    parked = stand.until(run_id, "outcome_unknown")
    assert [row["state"] for row in parked["ledger"]] == ["done", "unknown"]
    stand.decide(run_id, parked["questions"][0]["key"], "happened")
    stand.until(run_id, "completed")
    assert read(stand, f"{subject}-a") == read(stand, f"{subject}-b") == 1
    assert len(stand.effects_of("charge", subject)) == made(stand, subject) == 1


def results(stand: Stand, run_id: str) -> int:
    """How many tool calls of a run have ended, by its journal."""
    kinds = [row["entry_type"] for row in stand.journal(str(stand.status(run_id)["invocation_id"]))]
    return kinds.count("Notification: Run") - 3


def test_a_cancel_during_the_slow_one_records_it_and_starts_nothing(stand: Stand) -> None:
    subject = stand.tag
    run_id = ask(
        stand,
        "slow",
        call("sleeps", subject=f"{subject}-fast", seconds=0),
        call("sleeps", subject=f"{subject}-slow", seconds=2),
    )
    stand.wait(lambda: made(stand, f"{subject}-fast"), "the fast one")
    stand.wait(lambda: stand.status(run_id)["ledger"][0]["state"] == "done", "its record", run_id)
    assert stand.post(run_id, "cancel", {}).status_code == 200
    ended = stand.until(run_id, "cancelled", wait_s=5)
    assert [row["state"] for row in ended["ledger"]] == ["done", "done"]
    assert made(stand, f"{subject}-slow") == 1
    assert stand.model_requests(run_id) == 1


@pytest.mark.parametrize(
    "form",
    [
        "bare",
        *(pytest.param(each, marks=pytest.mark.long) for each in ("base", "in_finally", "with_suppress", "in_wrapper")),
    ],
)
def test_a_tool_that_swallows_everything_waits_for_its_approval_all_the_same(stand: Stand, form: str) -> None:
    run_id = ask(stand, form, call(f"swallows_{form}", subject=stand.tag))
    waiting = stand.until(run_id, "waiting_approval")
    stand.a.kill()
    stand.a.start()
    assert made(stand, stand.tag) == 0
    assert stand.decide(run_id, waiting["questions"][0]["key"], "approve").status_code == 200
    stand.until(run_id, "completed")
    assert made(stand, stand.tag) == 1
    assert told(stand, run_id) == ["sent"]


def test_a_tool_that_swallows_its_cancellation_holds_up_nobody(stand: Stand) -> None:
    run_id = ask(stand, "deaf", call("swallows_its_cancellation", subject=stand.tag, seconds=6))
    parked = stand.until(run_id, "outcome_unknown", wait_s=5)
    assert stand.decide(run_id, parked["questions"][0]["key"], "happened").status_code == 200
    stand.until(run_id, "completed", wait_s=3)
    assert "late" not in "".join(told(stand, run_id))
    assert made(stand, stand.tag) == 1


@pytest.mark.parametrize(("tool", "reads"), [("times_out_0", 1), ("times_out_1", 1), ("times_out_2", 2)])
def test_attempts_of_a_tool_are_exact(stand: Stand, tool: str, reads: int) -> None:
    run_id = ask(stand, tool, call(tool, subject=f"{stand.tag}-{tool}"))
    stand.until(run_id, "completed")
    assert read(stand, f"{stand.tag}-{tool}") == reads
    assert "TimeoutError" in told(stand, run_id)[0]


@pytest.mark.long
def test_sixty_runs_with_a_slow_tool_queue_and_none_fails(stand: Stand) -> None:
    waiting = ask(stand, "waits", call("swallows_bare", subject=f"{stand.tag}-waits"))
    key = stand.until(waiting, "waiting_approval")["questions"][0]["key"]
    runs = [ask(stand, f"slow-{n}", call("sleeps", subject=f"{stand.tag}-{n}-", seconds=4)) for n in range(60)]
    begun = time.monotonic()
    assert stand.decide(waiting, key, "approve").status_code == 200
    assert time.monotonic() - begun < 1
    for run_id in runs:
        ended = stand.until(run_id, "completed", "outcome_unknown")
        assert [row["state"] for row in ended["ledger"]] == ["done"]
    assert [made(stand, f"{stand.tag}-{n}-") for n in range(60)] == [1] * 60


@pytest.mark.parametrize("tool", ["sleeps", "blocks_in_async"])
def test_blocking_tools_hold_up_no_approval(stand: Stand, tool: str) -> None:
    waiting = ask(stand, "waits", call("swallows_bare", subject=f"{stand.tag}-waits"))
    key = stand.until(waiting, "waiting_approval")["questions"][0]["key"]
    runs = [ask(stand, f"blocks-{n}", call(tool, subject=f"{stand.tag}-{n}-", seconds=1.5)) for n in range(12)]
    begun = time.monotonic()
    assert stand.decide(waiting, key, "approve").status_code == 200
    assert time.monotonic() - begun < 1
    stand.until(waiting, "completed", wait_s=1.5)
    for run_id in runs:
        stand.until(run_id, "completed")
    assert [made(stand, f"{stand.tag}-{n}-") for n in range(12)] == [1] * 12
