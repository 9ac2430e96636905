"""Asking again: the same run id, further passes, the same effect asked for twice."""

from tests.server.world import World, call, calls


def test_the_same_request_is_answered_from_the_record_and_another_is_refused(world: World) -> None:
    run_id, task = (
        world.run_id(),
        world.script(calls(call("send_email", to="a@b.test", subject="s", body=world.tag)), {"content": "ok"}),
    )
    first = world.run(run_id, task)
    again = world.run(run_id, task)
    assert (first["replayed"], again["replayed"]) == (False, True)
    assert world.post(run_id, "run", {"task": "another"}).status_code == 422
    assert world.post(run_id, "submit", {"task": "another"}).status_code == 422
    assert world.post(run_id, "submit", {"task": task}).json()["status"] == "ended"
    assert len(world.effects(again)) == 1


def test_a_further_pass_repeats_no_effect_that_is_done(world: World) -> None:
    reply = calls(call("charge_card", customer_id=world.tag, amount_cents=100, memo="first"))
    run_id, task = world.run_id(), world.script(reply, {"content": "ok"})
    assert world.run(run_id, task)["pass"] == 1
    reworded = calls(call("charge_card", customer_id=world.tag, amount_cents=100, memo="other words"))
    world.script(reworded, {"content": "ok again"})
    second = world.run(run_id, task, again=2)
    assert (second["pass"], second["answer"]) == (2, "ok again")
    assert world.run(run_id, task, again=2)["replayed"] is True
    assert world.post(run_id, "run", {"task": task, "again": 4}).status_code == 422
    assert len(world.requests(second, "charge")) == 1


def test_the_same_purchase_twice_in_a_turn_needs_an_approval_that_shows_the_first(world: World) -> None:
    one = call("charge_card", customer_id=world.tag, amount_cents=100)
    run_id, task = world.run_id(), world.script(calls(one, one), {"content": "ok"})
    world.submit(run_id, task)
    waiting = world.until(run_id, "waiting_approval")
    assert [row["state"] for row in waiting["ledger"]] == ["done", "waiting"]
    assert waiting["ledger"][0]["key"] in waiting["questions"][0]["text"]
    world.decide(run_id, waiting["questions"][0]["key"], "approve")
    ended = world.until(run_id, "completed")
    assert len(world.effects(ended, "charge")) == 2


def test_a_killed_run_goes_on_when_it_is_submitted_again(world: World) -> None:
    run_id, task = (
        world.run_id(),
        world.script(calls(call("charge_card", customer_id=world.tag, amount_cents=100)), {"content": "ok"}),
    )
    gate = world.stack.receiver.gate("charge", "applied")
    first = world.submit(run_id, task)
    assert gate.wait_held(10)
    world.kill_invocation(first)
    gate.release()
    assert world.post(run_id, "submit", {"task": task}).json()["status"] == "accepted"
    ended = world.until(run_id, "completed")
    assert len(world.effects(ended, "charge")) == 1
