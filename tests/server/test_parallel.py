"""Calls of one turn side by side, killed at any moment: replay meets its own journal, each effect is made once."""

from random import Random
from typing import Any

import pytest

from tests.server.stand import Stand, Way
from tests.server.world import call, calls

EFFECTS = ("charge", "refund", "email")
SLOW_MS_MAX = 150


def three(stand: Stand, subject: str) -> dict[str, Any]:
    """Three effects: each has a seal and a send of its own behind it, and one waits between two tries."""
    return calls(
        call("charge_card", customer_id=subject, amount_cents=100),
        call("refund_payment", payment_id=subject, amount_cents=100),
        call("send_email", to="a@example.test", subject="s", body=subject),
    )


def once_through(stand: Stand, seed: int) -> None:
    chance = Random(seed)
    for effect in EFFECTS:
        stand.behave(effect, slow_ms=chance.randrange(SLOW_MS_MAX), slow_after_ms=chance.randrange(SLOW_MS_MAX))
    unlucky = chance.choice(EFFECTS)
    stand.behave(unlucky, fail={"status": 503}, times=1)
    run_id = stand.run_id("three")
    subjects = [f"{run_id}-{turn}" for turn in range(2)]
    replies = [three(stand, subject) for subject in subjects]
    first = stand.submit(run_id, stand.script(*replies, {"content": "done"}, name=run_id))
    # Somewhere on its way: so many messages of the worker have reached the server, and the next one does not.
    stand.relay.hold(Way.TO_SERVER, after=chance.randrange(1, 16))
    stand.wait(lambda: stand.relay.held(Way.TO_SERVER) or settled(stand, first), "the moment, or the end", wait_s=20)
    stand.a.kill()
    stand.relay.cut()
    for effect in EFFECTS:
        stand.behave(effect, slow_ms=chance.randrange(SLOW_MS_MAX), slow_after_ms=chance.randrange(SLOW_MS_MAX))
    stand.a.start()
    ended = stand.until(run_id, "completed", "failed", "outcome_unknown")
    assert ended["state"] == "completed", ended
    for subject in subjects:
        assert [len(stand.effects_of(effect, subject)) for effect in EFFECTS] == [1, 1, 1], (seed, ended)
    assert [row["tool"] for row in ended["ledger"]] == 2 * ["charge_card", "refund_payment", "send_email"]
    assert not stand.bugs(first), seed
    answers = [message for message in last_history(stand, run_id) if message["role"] == "tool"]
    made = [each["id"] for message in last_history(stand, run_id) for each in message.get("tool_calls", ())]
    assert [message["tool_call_id"] for message in answers] == made
    assert ["ch_" in answers[0]["content"], "re_" in answers[1]["content"], "em_" in answers[2]["content"]] == [
        True
    ] * 3


def settled(stand: Stand, invocation: str) -> bool:
    rows = stand.stack.admin.query(f"SELECT status FROM sys_invocation WHERE id = '{invocation}'")
    return bool(rows) and rows[0]["status"] == "completed"


def last_history(stand: Stand, run_id: str) -> list[dict[str, Any]]:
    row = [row for row in stand.stack.model.requests() if row["script"] == f"{stand.tag}-{run_id}"][-1]
    messages: list[dict[str, Any]] = stand.stack.model.json("GET", f"/requests/{row['n']}")["body"]["messages"]
    return messages


@pytest.mark.parametrize("seed", range(2))
def test_parallel_calls_survive_a_kill_at_a_random_step(stand: Stand, seed: int) -> None:
    once_through(stand, seed)


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seeds", [range(2, 28), range(28, 54)], ids=["25", "50"])
def test_parallel_calls_survive_many_kills(stand: Stand, seeds: range) -> None:
    for seed in seeds:
        once_through(stand, seed)
        stand.restore()


def test_a_crash_leaves_one_of_several_that_go_alone_in_doubt(stand: Stand) -> None:
    run_id = stand.run_id("alone")
    subjects = [f"{run_id}-{n}" for n in range(4)]
    texts = [call("send_sms", to="+491", text=subject) for subject in subjects]
    gate = stand.stack.receiver.gate("sms", "applied")
    stand.submit(run_id, stand.script(calls(*texts), {"content": "done"}, name=run_id))
    assert gate.wait_held(10)
    assert [len(stand.effects_of("sms", subject)) for subject in subjects] == [1, 0, 0, 0]
    stand.a.kill()
    gate.release()
    stand.a.start()
    parked = stand.until(run_id, "outcome_unknown")
    assert [row["state"] for row in parked["ledger"]] == ["unknown", "done", "done", "done"]
    assert stand.decide(run_id, parked["questions"][0]["key"], "happened").status_code == 200
    stand.until(run_id, "completed")
    assert [len(stand.effects_of("sms", subject)) for subject in subjects] == [1] * 4


def test_what_may_be_moved_is_given_out_in_the_model_s_order(stand: Stand) -> None:
    run_id = stand.run_id("grant")
    sums = [600, 500, 300, 200]
    made = [call("charge_card", customer_id=f"{run_id}-{cents}", amount_cents=cents) for cents in sums]
    grant = {"total_cents": 1000, "each_cents": 900, "currency": "EUR"}
    stand.behave("charge", lose_answer="after_commit", times=1)
    task = stand.script(calls(*made), {"content": "done"}, name=run_id)
    ended = stand.run(run_id, task, grant=grant)
    assert [row["amount_cents"] for row in ended["ledger"]] == [600, 300]
    assert [len(stand.effects_of("charge", f"{run_id}-{cents}")) for cents in sums] == [1, 0, 1, 0]
    answers = [message["content"] for message in last_history(stand, run_id) if message["role"] == "tool"]
    assert "above the 400" in answers[1] and "above the 100" in answers[3]
    assert ended["refused"] == stand.status(run_id)["refused"] == [answers[1], answers[3]]
    further = [call("charge_card", customer_id=f"{run_id}-more", amount_cents=cents) for cents in (101, 100)]
    stand.script(calls(*made, *further), {"content": "done"}, name=run_id)
    ended = stand.run(run_id, task, again=2, grant=grant)
    assert sum(row["amount_cents"] for row in ended["ledger"]) == 1000
    assert len(stand.effects_of("charge", f"{run_id}-more")) == 1
