"""An operator's restart as new, from scratch and from every index of the journal: no effect leaves twice."""

import pytest

from tests.server.world import NoSuchCut, World, call, calls, once_each


def every_class(world: World) -> str:
    return world.script(
        calls(
            call("look_up_order", order_id="7"),
            call("charge_card", customer_id=world.tag, amount_cents=1200),
            call("transfer_money", to_account=world.tag, amount_cents=300),
        ),
        calls(
            call("update_crm", customer_id=world.tag, fields={"tier": "gold"}),
            call("send_sms", to="+491", text=world.tag),
            call("refund_payment", payment_id=world.tag, amount_cents=100),
        ),
        {"content": "all done"},
    )


def test_an_ended_run_restarted_from_every_index_changes_nothing_outside(world: World) -> None:
    run_id = world.run_id()
    first = world.submit(run_id, every_class(world))
    ended = world.until(run_id, "completed")
    assert len(world.effects(ended)) == 5
    requests = len(world.requests(ended))
    length = len(world.journal(first))
    assert length > 15
    for prefix in [None, *range(1, length)]:
        again = world.restart(first, prefix)
        answer = world.attach(again)
        assert answer.status_code == 200, (prefix, answer.text)
        assert answer.json()["state"] == "completed", (prefix, answer.text)
    after = world.status(run_id)
    assert {row["key"]: row["state"] for row in after["ledger"]} == {row["key"]: "done" for row in ended["ledger"]}
    assert len(world.effects(after)) == 5
    assert len(world.requests(after)) == requests


@pytest.mark.parametrize("effect", ["charge", "transfer", "sms", "customer", "refund"])
def test_a_killed_run_restarted_from_every_index_has_each_effect_once(world: World, effect: str) -> None:
    cuts = 0
    for prefix in [None, *range(1, 60)]:
        run_id = world.run_id(effect)
        task = every_class(world)
        gate = world.stack.receiver.gate(effect, "applied")
        first = world.submit(run_id, task)
        assert gate.wait_held(20)
        journal = len(world.journal(first))
        if prefix is not None and prefix >= journal:
            gate.release()
            break
        world.kill_invocation(first)
        gate.release()
        try:
            world.restart(first, prefix)
        except NoSuchCut:
            continue
        cuts += 1
        ended = world.until(run_id, "completed", "outcome_unknown", "waiting_approval")
        assert once_each(world.effects(ended)), (prefix, ended)
        assert len(world.effects(ended, effect)) == 1, (prefix, ended)
    assert cuts > 10


def test_what_a_killed_run_waited_for_is_not_shown_of_the_one_that_goes_on(world: World) -> None:
    """The state holds the row of the one before."""
    run_id, seen = world.run_id("stale"), 0
    pay = call("charge_card", customer_id=world.tag, amount_cents=100)
    grant = {"approve_above_cents": {"charge_card": -1}}
    invocation = world.submit(run_id, world.script(calls(pay), {"content": "done"}), grant=grant)
    world.until(run_id, "waiting_approval")
    world.kill_invocation(invocation)
    for prefix in (None, *range(1, 12)):
        gate = world.stack.model.gate("chat", "arrived")
        try:
            further = world.restart(invocation, prefix)
        except NoSuchCut:
            gate.release()
            continue
        if gate.wait_held(2):
            seen += 1
            world.wait(lambda: world.status(run_id)["state"] == "running", f"the row of the one from {prefix}")
        gate.release()
        world.kill_invocation(further)
    assert seen > 3
