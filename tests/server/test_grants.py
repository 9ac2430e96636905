"""What a run may do, at the door and after a new version."""

from typing import Any

import pytest

from tests.server.edge import Edge, served_with
from tests.server.world import call, calls


def paying(edge: Edge, run_id: str, cents: int = 500) -> str:
    charge = call("charge_card", customer_id=run_id, amount_cents=cents)
    return edge.script(calls(charge), {"content": "done"}, name=run_id)


@pytest.mark.parametrize(
    ("field", "grant"),
    [("grant.tools", {"tools": ["nope"]}), ("grant.approve_above_cents", {"approve_above_cents": {"nope": 5}})],
    ids=["tools", "approve_above_cents"],
)
def test_a_grant_that_names_no_tool_is_refused_and_begins_nothing(
    edge: Edge, field: str, grant: dict[str, Any]
) -> None:
    run_id = edge.run_id()
    task = paying(edge, run_id)
    for handler in ("run", "submit"):
        refused = edge.post(run_id, handler, {"task": task, "grant": grant})
        assert refused.status_code == 400, refused.text
        assert f"{field}: there is no tool 'nope'; there are look_up_order" in refused.text
    assert edge.post(run_id, "status").status_code == 404
    # The id is as free as it was.
    assert len(edge.effects(edge.run(run_id, task), "charge")) == 1


def test_a_run_that_has_begun_goes_on_where_a_tool_that_its_grant_names_is_gone(edge: Edge) -> None:
    run_id = edge.run_id()
    task = paying(edge, run_id)
    grant = {"tools": ["charge_card", "send_sms"], "approve_above_cents": {"charge_card": -1, "send_sms": -1}}
    invocation = edge.submit(run_id, task, grant=grant)
    key = edge.until(run_id, "waiting_approval")["ledger"][0]["key"]
    edge.serve_with("send_sms")
    assert edge.post(run_id, "submit", {"task": task, "grant": grant}).json()["invocation_id"] == invocation
    assert edge.decide(run_id, key, "approve").status_code == 200
    assert len(edge.effects(edge.until(run_id, "completed"), "charge")) == 1
    # It is the same run in a further pass too; as a new one it would be refused.
    assert edge.run(run_id, task, again=2, grant=grant)["state"] == "completed"
    assert edge.post(edge.run_id(), "run", {"task": task, "grant": grant}).status_code == 400


@served_with(grant_each_cents="900", grant_currency="EUR", grant_tools='["charge_card", "refund_payment"]')
def test_a_request_that_grants_something_else_keeps_what_the_operator_has_set(edge: Edge) -> None:
    run_id = edge.run_id()
    made = [
        call("charge_card", customer_id=run_id, amount_cents=901),
        call("charge_card", customer_id=run_id, amount_cents=100, currency="USD"),
        call("refund_payment", payment_id=run_id, amount_cents=100),
        call("send_sms", to="+491", text=run_id),
        call("charge_card", customer_id=run_id, amount_cents=900),
    ]
    wider = {"tools": ["charge_card", "refund_payment", "send_sms"], "each_cents": 5000}
    task = edge.script(calls(*made), {"content": "done"}, name=run_id)
    ended = edge.run(run_id, task, grant={**wider, "approve_above_cents": {"charge_card": 950}})
    assert [row["amount_cents"] for row in ended["ledger"]] == [900]
    large, foreign, refund, text, _ = edge.told(run_id)
    assert "above the 900" in large and "EUR only, not USD" in foreign
    assert "refund_payment does not say in which currency" in refund and "send_sms" in text


@pytest.mark.parametrize("stands", ["waiting", "armed"])
@served_with(grant_each_cents="5000")
def test_a_grant_that_was_narrowed_holds_for_what_an_earlier_pass_began(edge: Edge, stands: str) -> None:
    edge.serve_with(grant_each_cents="5000")
    run_id = edge.run_id()
    task = paying(edge, run_id, 4900)
    grant = {"approve_above_cents": {"charge_card": 1000}} if stands == "waiting" else None
    if stands == "armed":
        edge.behave("charge", answer={"status": 429, "headers": {"Retry-After": "600"}, "body": {}}, times=1)
    invocation = edge.submit(run_id, task, grant=grant)
    key = edge.until(run_id, "waiting_approval" if stands == "waiting" else "waiting_until")["ledger"][0]["key"]
    edge.kill_invocation(invocation)
    edge.serve_with(grant_each_cents="1000")
    edge.submit(run_id, task, grant=grant)
    ended = edge.until(run_id, "completed")
    assert (ended["pass"], [row["state"] for row in ended["ledger"]]) == (2, ["not_sent"])
    assert "above the 1000" in ended["ledger"][0]["reason"]
    assert not edge.effects(ended, "charge")
    assert edge.decide(run_id, key, "approve").status_code == 409
