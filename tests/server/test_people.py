"""People decide: approvals, decisions on an Unknown, cancels."""

from tests.server.world import World, call, calls

PAY = 8200


def pay(world: World, cents: int = PAY) -> dict[str, object]:
    return calls(call("charge_card", customer_id=world.tag, amount_cents=cents))


def test_an_approved_charge_is_made_once_also_after_a_kill_of_the_worker(world: World) -> None:
    run_id, task = world.run_id(), world.script(pay(world), {"content": "paid"})
    world.submit(run_id, task, grant={"approve_above_cents": {"charge_card": 5000}})
    waiting = world.until(run_id, "waiting_approval")
    (row,) = waiting["ledger"]
    assert row["state"] == "waiting" and row["digest"] and waiting["questions"][0]["digest"] == row["digest"]
    assert not world.effects(waiting)
    world.stack.workers[0].kill()
    world.stack.workers[0].start()
    assert world.decide(run_id, row["key"], "approve", digest="0" * 64).status_code == 409
    assert world.decide(run_id, row["key"], "approve", digest=row["digest"]).status_code == 200
    late = world.decide(run_id, row["key"], "deny")
    assert late.status_code == 409 and "approve by somebody" in late.text
    ended = world.until(run_id, "completed")
    assert len(world.effects(ended, "charge")) == 1
    assert ended["ledger"][0]["rulings"][0]["choice"] == "approve"


def test_a_decision_that_nobody_would_read_is_refused(world: World) -> None:
    """While the run waits for the receiver's rate, nobody asks: a deny that is recorded would stop nothing."""
    run_id, task = world.run_id(), world.script(pay(world), {"content": "paid"})
    world.behave("charge", answer={"status": 429, "headers": {"Retry-After": "3"}, "body": {}}, times=1)
    world.submit(run_id, task)
    key = world.until(run_id, "waiting_until")["ledger"][0]["key"]
    for decision in ("deny", "approve", "did_not_happen"):
        refused = world.decide(run_id, key, decision)
        assert refused.status_code == 409 and "nobody waits" in refused.text and "cancel" in refused.text
    ended = world.until(run_id, "completed")
    assert len(world.effects(ended, "charge")) == 1 and not ended["ledger"][0]["rulings"]


def test_a_denied_charge_is_not_made_and_not_asked_about_again(world: World) -> None:
    run_id, task = world.run_id(), world.script(pay(world), pay(world), {"content": "not paid"})
    world.submit(run_id, task, grant={"approve_above_cents": {"charge_card": -1}})
    key = world.until(run_id, "waiting_approval")["ledger"][0]["key"]
    assert world.decide(run_id, key, "deny", note="too much").status_code == 200
    ended = world.until(run_id, "completed")
    assert not world.requests(ended, "charge")
    assert [row["state"] for row in ended["ledger"]] == ["denied"]


def test_another_amount_needs_its_own_approval(world: World) -> None:
    run_id, task = world.run_id(), world.script(pay(world), pay(world, 82_000), {"content": "paid"})
    world.submit(run_id, task, grant={"approve_above_cents": {"charge_card": 5000}})
    first = world.until(run_id, "waiting_approval")["questions"][0]["key"]
    world.decide(run_id, first, "approve")
    other = world.wait(
        lambda: [q for q in world.status(run_id).get("questions", []) if q["key"] != first], "a second question", run_id
    )
    world.decide(run_id, other[0]["key"], "deny")
    ended = world.until(run_id, "completed")
    assert [row["state"] for row in ended["ledger"]] == ["done", "denied"]
    assert len(world.effects(ended, "charge")) == 1


def test_an_sms_whose_answer_is_lost_waits_for_a_person(world: World) -> None:
    run_id, task = world.run_id(), world.script(calls(call("send_sms", to="+491", text=world.tag)), {"content": "ok"})
    world.behave("sms", lose_answer="after_commit", times=1)
    world.submit(run_id, task)
    parked = world.until(run_id, "outcome_unknown")
    (row,) = parked["ledger"]
    assert row["state"] == "unknown" and parked["questions"][0]["choices"] == ["happened", "did_not_happen", "give_up"]
    assert world.decide(run_id, row["key"], "approve").status_code == 422
    assert world.decide(run_id, row["key"], "happened", receiver_id="sm_1").status_code == 200
    ended = world.until(run_id, "completed")
    assert ended["ledger"][0]["state"] == "done" and ended["ledger"][0]["receiver_id"] == "sm_1"
    assert len(world.requests(ended, "sms")) == 1


def test_did_not_happen_sends_once_more_under_the_same_key(world: World) -> None:
    run_id, task = world.run_id(), world.script(calls(call("send_sms", to="+491", text=world.tag)), {"content": "ok"})
    world.behave("sms", lose_answer="before_commit", times=1)
    world.submit(run_id, task)
    row = world.until(run_id, "outcome_unknown")["ledger"][0]
    assert world.decide(run_id, row["key"], "did_not_happen").status_code == 200
    ended = world.until(run_id, "completed")
    assert len(world.requests(ended, "sms")) == 2 and len(world.effects(ended, "sms")) == 1


def test_a_transfer_whose_answer_is_lost_is_found_by_its_reference(world: World) -> None:
    reply = calls(call("transfer_money", to_account=world.tag, amount_cents=500))
    run_id, task = world.run_id(), world.script(reply, {"content": "ok"})
    world.behave("transfer", lose_answer="after_commit", times=1)
    ended = world.run(run_id, task)
    assert ended["ledger"][0]["state"] == "done"
    assert len(world.requests(ended, "transfer")) == 1


def test_a_cancel_while_an_effect_is_under_way_records_it(world: World) -> None:
    run_id, task = world.run_id(), world.script(pay(world), {"content": "paid"})
    gate = world.stack.receiver.gate("charge", "applied")
    world.submit(run_id, task)
    assert gate.wait_held(10)
    assert world.post(run_id, "cancel", {}).json()["cancelling"] is True
    assert world.post(run_id, "cancel", {}).json()["cancelling"] is True
    gate.release()
    ended = world.until(run_id, "cancelled")
    assert [row["state"] for row in ended["ledger"]] == ["done"]
    assert world.model_requests() == 1
    assert world.run(run_id, task)["state"] == "cancelled"
    assert len(world.effects(ended, "charge")) == 1


def test_a_cancel_undoes_what_was_done_where_it_is_asked_to(world: World) -> None:
    run_id = world.run_id()
    task = world.script(
        pay(world), calls(call("charge_card", customer_id=world.tag, amount_cents=9000)), {"content": "paid"}
    )
    world.submit(run_id, task, grant={"approve_above_cents": {"charge_card": 8500}})
    world.until(run_id, "waiting_approval")
    assert world.post(run_id, "cancel", {"undo": True}).status_code == 200
    ended = world.until(run_id, "cancelled")
    assert [(row["tool"], row["state"], bool(row["undoes"])) for row in ended["ledger"]] == [
        ("charge_card", "done", False),
        ("charge_card", "done", True),
        ("charge_card", "not_sent", False),
    ]
    assert len(world.effects(ended, "refund")) == 1
