"""A cancel, wherever the run is: it ends within seconds, starts nothing more, and loses no effect."""

import time

import pytest

from lab.process import wait_until
from tests.server.cancelling import SOON_S, cancel, ends, quiet
from tests.server.parking import waits_of
from tests.server.stand import FOUND, KEYED, KINDS, ONCE, SET, Cell, Kind, Stand, Way

BACK_S = 15.0
"""For a worker that was away: it comes back to a busy machine."""


def name_of(kind: Kind) -> str:
    return kind.name


def names_of(stand: Stand, cell: Cell) -> set[str | None]:
    return {row.get("name") for row in stand.journal(cell.invocation)}


def test_during_the_model_call(stand: Stand) -> None:
    gate = stand.model_gate("arrived", times=1)
    cell = stand.begin_one(KEYED)
    gate.wait()
    # The model has been asked in the moment in which Restate hears that the run has begun.
    stand.wait(lambda: cell.world.post(cell.run_id, "status").status_code == 200, "the run")
    cancel(cell)
    assert ends(cell)["ledger"] == []
    gate.release()
    assert not cell.effects()
    quiet(cell, model_requests=1)


@pytest.mark.parametrize("kind", [SET, KEYED, FOUND, ONCE], ids=lambda kind: kind.name)
def test_while_an_effect_is_applied_and_not_answered(stand: Stand, kind: Kind) -> None:
    (gate,) = stand.gates("applied", kind)
    cell = stand.begin_one(kind)
    gate.wait()
    cancel(cell)
    gate.release()
    ended = ends(cell)
    assert (ended["state"], [row["state"] for row in ended["ledger"]]) == ("cancelled", ["done"])
    assert cell.applied() == 1
    quiet(cell, model_requests=1)


@pytest.mark.parametrize(
    "kind", [KEYED, ONCE, *(pytest.param(kind, marks=pytest.mark.long) for kind in (SET, FOUND))], ids=name_of
)
def test_while_an_effect_is_applied_and_the_worker_dies(stand: Stand, kind: Kind) -> None:
    (gate,) = stand.gates("applied", kind)
    cell = stand.begin_one(kind)
    gate.wait()
    cancel(cell)
    stand.a.kill()
    gate.release()
    stand.a.start()
    ended = ends(cell, BACK_S)
    (row,) = ended["ledger"]
    assert ended["state"] == "cancelled" and row["state"] in ("done", "unknown")
    if kind in (FOUND, ONCE):
        assert row["state"] == "unknown"
    assert cell.applied() == 1
    quiet(cell, model_requests=1)


def test_while_an_effect_is_under_way_that_is_never_answered(stand: Stand) -> None:
    stand.behave("sms", hang=True)
    cell = stand.begin_one(ONCE)
    stand.wait(cell.arrived, "the request")
    cancel(cell)
    (row,) = ends(cell)["ledger"]
    assert row["state"] == "unknown" and row["reason"]


def test_between_the_seal_and_the_send(stand: Stand) -> None:
    gate = stand.model_gate("applied", times=1)
    cell = stand.begin_one(ONCE)
    gate.wait()
    # That the model's step has begun is told a moment after it has; what follows is its result, then the seal.
    wait_until("the start of the model's step", lambda: "model 1" in names_of(stand, cell), SOON_S)
    stand.relay.hold(Way.TO_SERVER, after=1)
    gate.release()
    stand.relay.wait_held(Way.TO_SERVER)
    # The seal is under way to the server, and the cancel overtakes its acknowledgement.
    assert stand.stack.admin.call("PATCH", f"/invocations/{cell.invocation}/cancel").is_success
    stand.relay.release()
    ended = ends(cell)
    assert ended["state"] == "cancelled"
    assert [row["state"] for row in ended["ledger"]] in (["not_sent"], ["done"])
    assert cell.applied() == [row["state"] for row in ended["ledger"]].count("done")
    quiet(cell, model_requests=1)


def test_while_it_waits_for_an_approval_that_then_comes_too_late(stand: Stand) -> None:
    grant = {"approve_above_cents": {"charge_card": -1}}
    cell = stand.begin_one(KEYED, grant=grant)
    waiting = stand.until(cell.run_id, "waiting_approval")
    cancel(cell)
    ended = ends(cell)
    assert (ended["state"], [row["state"] for row in ended["ledger"]]) == ("cancelled", ["not_sent"])
    late = stand.decide(cell.run_id, waiting["questions"][0]["key"], "approve")
    assert late.status_code == 409 and "ended" in late.text
    assert not cell.effects()
    quiet(cell, model_requests=1, grant=grant)


def test_while_it_waits_for_a_decision_on_an_unknown(stand: Stand) -> None:
    stand.behave("sms", lose_answer="after_commit", times=1)
    cell = stand.begin_one(ONCE)
    key = stand.until(cell.run_id, "outcome_unknown")["questions"][0]["key"]
    cancel(cell)
    ended = ends(cell)
    assert (ended["state"], [row["state"] for row in ended["ledger"]]) == ("cancelled", ["unknown"])
    assert ended["detail"].endswith("; may have happened, so ask the receiver: send_sms")
    assert stand.decide(cell.run_id, key, "did_not_happen").status_code == 409
    quiet(cell, model_requests=1)
    assert cell.applied() == 1


@pytest.mark.parametrize("kind", [SET, KEYED, ONCE], ids=lambda kind: kind.name)
def test_in_a_long_wait_for_the_receiver(stand: Stand, kind: Kind) -> None:
    stand.behave(kind.effect, answer={"status": 429, "headers": {"Retry-After": "600"}, "body": {}})
    cell = stand.begin_one(kind)
    waiting = stand.until(cell.run_id, "waiting_until")
    assert waiting["until"] > time.time() + 500
    cancel(cell)
    ended = ends(cell)
    assert (ended["state"], [row["state"] for row in ended["ledger"]]) == ("cancelled", ["not_sent"])
    quiet(cell, model_requests=1)


def test_in_a_long_wait_for_the_model(stand: Stand) -> None:
    run_id = stand.run_id("limited")
    task = stand.script({"status": 429, "headers": {"Retry-After": "600"}}, name=run_id)
    cell = Cell(stand, KEYED, run_id, run_id, 0, stand.submit(run_id, task))
    stand.until(run_id, "waiting_until")
    cancel(cell)
    assert ends(cell)["state"] == "cancelled"
    quiet(cell, model_requests=1)


def test_a_receiver_s_409_is_not_taken_for_a_cancel(stand: Stand) -> None:
    refusal = {"status": 409, "code": "conflict", "message": "cancelled", "store": False}
    for kind in KINDS:
        stand.behave(kind.effect, refuse=refusal, times=1)
    cells = stand.begin()
    for cell in cells.values():
        ended = ends(cell)
        assert ended["state"] == "completed", ended
        assert [row["state"] for row in ended["ledger"]] == (["rejected"] if cell.kind.changes else [])
        assert not cell.effects()


def test_together_with_a_receiver_that_says_409_in_flight(stand: Stand) -> None:
    in_flight = {"error": {"code": "idempotency_in_flight", "message": "in progress"}}
    stand.behave("charge", answer={"status": 409, "body": in_flight})
    cell = stand.begin_one(KEYED)
    stand.wait(lambda: len(cell.requests()) >= 2, "a second try")
    assert stand.status(cell.run_id)["state"] in ("running", "waiting_until")
    cancel(cell)
    ended = ends(cell)
    assert (ended["state"], [row["state"] for row in ended["ledger"]]) == ("cancelled", ["unknown"])
    quiet(cell, model_requests=1)


def test_while_no_worker_is_there(stand: Stand) -> None:
    (gate,) = stand.gates("applied", KEYED)
    cell = stand.begin_one(KEYED)
    gate.wait()
    stand.a.kill()
    gate.release()
    assert stand.stack.admin.call("PATCH", f"/invocations/{cell.invocation}/cancel").is_success
    stand.a.start()
    ended = ends(cell, BACK_S)
    assert (ended["state"], [row["state"] for row in ended["ledger"]]) == ("cancelled", ["done"])
    assert "operator" in ended["detail"]
    quiet(cell, model_requests=1)


def test_a_run_that_was_killed_and_restarted_from_a_part_of_its_journal(stand: Stand) -> None:
    cell = stand.begin_one(KEYED, grant={"approve_above_cents": {"charge_card": -1}})
    stand.until(cell.run_id, "waiting_approval")
    waits_of(stand, cell.invocation)
    length = len(stand.journal(cell.invocation))
    stand.kill_invocation(cell.invocation)
    # Nothing is there that could be cancelled, and nobody is told that it was.
    refused = stand.post(cell.run_id, "cancel", {}).json()
    assert refused["cancelling"] is False and "killed" in refused["reason"]
    waits_of(stand, stand.restart(cell.invocation, length - 4))
    cancel(cell)
    assert ends(cell)["state"] == "cancelled" and not cell.effects()
