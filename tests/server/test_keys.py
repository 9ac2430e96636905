"""Keys: where they come from, what they are bound to, and that nobody else can make one."""

import json
import re
import time
from typing import Any
from uuid import UUID

import pytest

from tests.server.stand import KEYED, Stand
from tests.server.world import call, calls

MONEY = {"amount_cents": 1200}


def pay(customer: str, **more: Any) -> dict[str, Any]:
    return call("charge_card", **{"customer_id": customer, **MONEY, **more})


def run(stand: Stand, *replies: dict[str, Any], name: str = "keys", **more: Any) -> dict[str, Any]:
    run_id = stand.run_id(name)
    return stand.run(run_id, stand.script(*replies, {"content": "done"}, name=run_id), **more)


def histories(stand: Stand, ended: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """The messages of each request to the model, in order."""
    rows = [row for row in stand.stack.model.requests() if row["script"] == f"{stand.tag}-{ended['run_id']}"]
    return [stand.stack.model.json("GET", f"/requests/{row['n']}")["body"]["messages"] for row in rows]


def test_calls_that_share_an_id_are_calls_of_their_own(stand: Stand) -> None:
    ended = run(
        stand,
        calls({**pay(f"{stand.tag}-a"), "id": "call_1"}, {**pay(f"{stand.tag}-b"), "id": "call_1"}),
        calls({**pay(f"{stand.tag}-c"), "id": "call_1"}),
        calls({**pay(f"{stand.tag}-d"), "id": ""}, {**pay(f"{stand.tag}-e"), "id": ""}),
    )
    assert ended["state"] == "completed"
    assert len({row["key"] for row in ended["ledger"]}) == 5
    assert [len(stand.effects_of("charge", f"{stand.tag}-{letter}")) for letter in "abcde"] == [1] * 5
    made = [each["id"] for message in histories(stand, ended)[-1] for each in message.get("tool_calls", ())]
    answered = [message["tool_call_id"] for message in histories(stand, ended)[-1] if message["role"] == "tool"]
    assert made == answered and len(set(made)) == 5 and all(made)


@pytest.mark.parametrize("repeats", [2, pytest.param(3, marks=pytest.mark.long)])
def test_an_id_that_comes_back_after_a_crash_is_no_other_key(stand: Stand, repeats: int) -> None:
    gate = stand.stack.receiver.gate("charge", "applied")
    made = [{**pay(f"{stand.tag}-{n}"), "id": "x"} for n in range(repeats)]
    run_id = stand.run_id("ids")
    stand.submit(run_id, stand.script(calls(*made), calls(*made), {"content": "done"}, name=run_id))
    assert gate.wait_held(10)
    stand.a.kill()
    gate.release()
    stand.a.start()
    waiting = stand.until(run_id, "waiting_approval")
    # The second time it is the same purchase again, and each is asked about.
    stand.wait(lambda: len(stand.status(run_id)["questions"]) == repeats, "all questions", run_id)
    waiting = stand.status(run_id)
    for question in waiting["questions"]:
        assert stand.decide(run_id, question["key"], "deny").status_code == 200
    ended = stand.until(run_id, "completed")
    assert [row["state"] for row in ended["ledger"]] == ["done"] * repeats + ["denied"] * repeats
    assert all(len(stand.effects_of("charge", f"{stand.tag}-{n}")) == 1 for n in range(repeats))


def test_bytes_that_are_other_ones_each_time_are_fixed_before_they_leave(stand: Stand) -> None:
    gate = stand.stack.receiver.gate("charge", "applied")
    run_id = stand.run_id("whim")
    whim = call("charge_with_a_whim", customer_id=stand.tag, **MONEY)
    stand.submit(run_id, stand.script(calls(whim), {"content": "done"}, name=run_id))
    for _ in range(2):
        assert gate.wait_held(10)
        stand.a.kill()
        following = stand.stack.receiver.gate("charge", "applied")
        gate.release()
        gate = following
        stand.a.start()
    gate.release()
    ended = stand.until(run_id, "completed")
    requests = stand.requests(ended, "charge")
    assert len(requests) == 3 and len({row["digest"] for row in requests}) == 1
    assert len(stand.effects_of("charge", stand.tag)) == 1
    assert not ended["ledger"][0]["alarm"]


@pytest.mark.parametrize(
    "refusal",
    [
        {"status": 422, "code": "idempotency_key_reused"},
        {"status": 400, "code": "idempotency_key_reused"},
        {"status": 409, "code": "idempotency_key_reused"},
    ],
    ids=lambda refusal: str(refusal["status"]),
)
def test_a_key_that_somebody_used_for_another_body_is_our_mistake(stand: Stand, refusal: dict[str, Any]) -> None:
    arrived = stand.stack.receiver.gate("charge", "arrived")
    cell = stand.begin_one(KEYED)
    assert arrived.wait_held(10)
    (row,) = cell.requests()
    body = {"customer_id": "somebody", "amount_cents": 1, "currency": "EUR"}
    other = stand.stack.receiver._client.post("/charges", json=body, headers={"Idempotency-Key": str(row["key"])})
    assert other.status_code == 201
    if refusal["status"] != 422:
        words = {"error": {"code": refusal["code"], "message": "the key came with another body"}}
        stand.behave("charge", answer={"status": refusal["status"], "body": words})
    arrived.release()
    parked = stand.until(cell.run_id, "outcome_unknown")
    assert parked["ledger"][0]["alarm"] is True
    assert not cell.effects() and len(cell.requests()) == 2
    texts = "".join(str(message.get("content")) for message in histories(stand, {"run_id": cell.run_id})[-1])
    assert "declined" not in texts
    stand.decide(cell.run_id, parked["questions"][0]["key"], "give_up")
    ended = stand.until(cell.run_id, "completed")
    assert {row["key"] for row in stand.requests(ended, "charge")} == {row["key"]}


def test_a_receiver_that_works_on_it_is_waited_for(stand: Stand) -> None:
    stand.behave("charge", slow_ms=1500, times=1)
    cell = stand.begin_one(KEYED)
    stand.wait(cell.arrived, "the request")
    # The attempt loses its connection, and the next one meets what the first one has begun.
    stand.relay.cut()
    ended = stand.until(cell.run_id, "completed")
    statuses = [row["status"] for row in cell.requests()]
    assert cell.applied() == 1 and ended["ledger"][0]["state"] == "done"
    assert 409 in statuses and statuses[-1] == 201


def test_a_run_that_was_paused_beyond_the_key_s_lifetime_asks_before_it_sends(stand: Stand) -> None:
    stand.behave("charge", key_lifetime_s=2)
    worker = stand.third({"PAWL_KEY_LIFETIME_S": "2"})
    stand.lead_to(worker)
    (gate,) = stand.gates("applied", KEYED)
    cell = stand.begin_one(KEYED)
    gate.wait()
    assert stand.stack.admin.call("PATCH", f"/invocations/{cell.invocation}/pause").is_success
    worker.kill()
    gate.release()
    stand.wait(lambda: "paused" in str(of_server(stand, cell.invocation)), "the pause")
    time.sleep(2.5)
    worker.start()
    assert stand.stack.admin.call("PATCH", f"/invocations/{cell.invocation}/resume").is_success
    ended = stand.until(cell.run_id, "completed")
    assert cell.applied() == 1 and len(cell.requests()) == 1
    assert ended["ledger"][0]["receiver_id"]


def of_server(stand: Stand, invocation: str) -> list[dict[str, Any]]:
    return stand.stack.admin.query(f"SELECT status FROM sys_invocation WHERE id = '{invocation}'")


@pytest.mark.parametrize("name", ["key", "idempotency_key", "Idempotency-Key", "idempotencyKey"])
def test_a_key_that_the_model_makes_up_goes_nowhere(stand: Stand, name: str) -> None:
    ended = run(
        stand, calls(pay(stand.tag, **{name: "made-up-1"})), calls(pay(f"{stand.tag}-b", **{name: "made-up-2"}))
    )
    requests = stand.requests(ended, "charge")
    assert [row["state"] for row in ended["ledger"]] == ["done", "done"]
    assert "made-up" not in json.dumps([requests, stand.effects(ended)])
    sent = stand.stack.model.json("GET", f"/requests/{stand.stack.model.requests()[-1]['n']}")["body"]["tools"]
    assert not re.search(r'"(idempotency_?)?key"', json.dumps(sent))


def test_no_key_ever_reaches_the_model(stand: Stand) -> None:
    """Receivers send the key back, and a further pass is told of what was done."""
    run_id = stand.run_id("unseen")
    replies = (
        calls(pay(stand.tag), call("send_email", to="ada@example.test", subject="s", body=stand.tag)),
        calls(call("update_crm", customer_id=f"cus_{stand.tag}", fields={"refunded": True})),
        {"content": "done"},
    )
    task = stand.script(*replies, name=run_id)
    ended = stand.run(run_id, task)
    assert stand.run(run_id, task, again=2)["state"] == "completed"
    keys = {str(row["key"]) for row in stand.requests(ended)}
    seen = json.dumps(histories(stand, ended))
    assert len(keys) == 3 and "must not be done again" in seen and seen.count("(key)") >= 3
    assert not [key for key in keys if key in seen]


def test_a_key_holds_nothing_about_anybody(stand: Stand) -> None:
    ended = run(stand, calls(call("send_email", to="ada@example.test", subject="s", body=stand.tag)))
    (key,) = {row["key"] for row in stand.requests(ended)}
    assert UUID(str(key)).version == 5 and len(str(key)) <= 255


@pytest.mark.long
@pytest.mark.parametrize("again", ["the same", "reworded", "written otherwise"])
def test_what_is_unknown_is_not_asked_for_under_another_key(stand: Stand, again: str) -> None:
    stand.behave("charge", lose_answer="after_commit")
    stand.behave("find_charge", fail={"status": 500})
    second = {
        "the same": pay(stand.tag, memo="first"),
        "reworded": pay(stand.tag, memo="in other words"),
        "written otherwise": pay(stand.tag, currency="EUR", memo="first"),
    }[again]
    ended = run(stand, calls(pay(stand.tag, memo="first")), calls(second), unknown="tell")
    assert ended["state"] == "completed"
    assert [row["state"] for row in ended["ledger"]] == ["unknown"]
    assert len({row["key"] for row in stand.requests(ended)}) == 1
    assert len(stand.effects_of("charge", stand.tag)) == 1
    told = [message["content"] for message in histories(stand, ended)[-1] if message["role"] == "tool"]
    assert all("outcome is unknown" in text and "Do not repeat" in text for text in told) and len(told) == 2


def test_money_with_decimals_is_refused_and_not_guessed(stand: Stand) -> None:
    ended = run(
        stand,
        calls(pay(stand.tag, amount_cents=100.5)),
        calls(pay(stand.tag, amount_cents="100")),
        calls(pay(stand.tag)),
    )
    assert [row["amount_cents"] for row in ended["ledger"]] == [1200]


def test_a_whole_number_is_the_same_however_it_is_written(stand: Stand) -> None:
    run_id = stand.run_id("whole")
    one, other = pay(stand.tag, amount_cents=100), pay(stand.tag)
    other["arguments"] = json.dumps(other["arguments"]).replace("1200", "100.0")
    stand.submit(run_id, stand.script(calls(one), calls(other), {"content": "done"}, name=run_id))
    status = stand.until(run_id, "completed", "waiting_approval")
    assert len(stand.effects_of("charge", stand.tag)) == 1
    assert status["state"] == "waiting_approval" or len(status["ledger"]) == 1


def test_a_genuine_second_purchase_in_a_later_turn_is_made_after_an_approval(stand: Stand) -> None:
    run_id = stand.run_id("twice")
    stand.submit(run_id, stand.script(calls(pay(stand.tag)), calls(pay(stand.tag)), {"content": "done"}, name=run_id))
    waiting = stand.until(run_id, "waiting_approval")
    (question,) = waiting["questions"]
    assert waiting["ledger"][0]["key"] in question["text"] and waiting["ledger"][0]["receiver_id"] in question["text"]
    assert stand.decide(run_id, question["key"], "approve").status_code == 200
    stand.until(run_id, "completed")
    assert len(stand.effects_of("charge", stand.tag)) == 2


@pytest.mark.parametrize("clicks", [1, 2])
@pytest.mark.parametrize("prefix", [None, 3, 9])
def test_a_run_that_failed_after_its_effect_makes_none_when_it_is_restarted(
    stand: Stand, prefix: int | None, clicks: int
) -> None:
    run_id = stand.run_id("failed")
    task = stand.script(calls(pay(stand.tag)), {"status": 401, "body": {"error": {"message": "no"}}}, name=run_id)
    first = stand.submit(run_id, task)
    failed = stand.until(run_id, "failed")
    assert failed["reason"] == "unauthorised"
    for _ in range(clicks):
        answer = stand.attach(stand.restart(first, prefix)).json()
        assert (answer["state"], answer["replayed"]) == ("failed", True)
    stand.script(calls(pay(stand.tag, memo="reworded")), {"content": "done"}, name=run_id)
    ended = stand.run(run_id, task, again=2)
    assert (ended["state"], ended["pass"]) == ("completed", 2)
    assert len(stand.effects_of("charge", stand.tag)) == 1
    assert stand.run(run_id, task)["replayed"] is True
