"""What a cancel leaves: an undo that was asked for, a further cancel or pass, and repeats that come too late."""

import threading
import time
from typing import Any

from tests.server.cancelling import SOON_S, cancel, ends, quiet
from tests.server.stand import KEYED, Stand
from tests.server.world import call, calls


def second(stand: Stand) -> dict[str, Any]:
    """A further charge, which is above the limit."""
    return calls(call("charge_card", customer_id=stand.tag, amount_cents=9000))


def test_many_in_a_row(stand: Stand) -> None:
    (gate,) = stand.gates("applied", KEYED)
    cell = stand.begin_one(KEYED)
    gate.wait()
    for _ in range(5):
        cancel(cell)
    gate.release()
    for _ in range(5):
        assert stand.post(cell.run_id, "cancel", {}).status_code == 200
    ended = ends(cell)
    assert (ended["state"], [row["state"] for row in ended["ledger"]]) == ("cancelled", ["done"])
    quiet(cell, model_requests=1)


def test_an_approval_that_comes_too_late_does_not_count_in_a_further_pass(stand: Stand) -> None:
    cell = stand.begin_one(KEYED, grant={"approve_above_cents": {"charge_card": -1}})
    key = stand.until(cell.run_id, "waiting_approval")["questions"][0]["key"]
    cancel(cell)
    ends(cell)
    assert stand.decide(cell.run_id, key, "approve").status_code == 409
    task = f"task {stand.tag} {cell.run_id}."
    grant = {"approve_above_cents": {"charge_card": -1}}
    stand.submit(cell.run_id, task, again=2, grant=grant)
    waiting = stand.until(cell.run_id, "waiting_approval")
    assert waiting["questions"][0]["key"] == key and not cell.effects()
    assert stand.decide(cell.run_id, key, "approve").status_code == 200
    stand.until(cell.run_id, "completed")
    assert cell.applied() == 1


def test_an_undo_that_was_asked_for_is_not_forgotten_by_a_second_cancel(stand: Stand) -> None:
    grant = {"approve_above_cents": {"charge_card": 8500}}
    charge = stand.begin_one(KEYED, second(stand), grant=grant)
    stand.until(charge.run_id, "waiting_approval")
    gate = stand.stack.receiver.gate("refund", "applied")
    cancel(charge, undo=True)
    assert gate.wait_held(10)
    cancel(charge)
    cancel(charge)
    gate.release()
    ended = ends(charge)
    assert "undone: charge_card" in ended["detail"]
    assert [(row["state"], bool(row["undoes"])) for row in ended["ledger"]] == [
        ("done", False),
        ("done", True),
        ("not_sent", False),
    ]
    (refund,) = stand.effects_of("refund", ended["ledger"][1]["key"])
    assert refund["body"]["amount_cents"] == 1200


def test_what_was_undone_is_made_again_only_where_a_person_approves(stand: Stand) -> None:
    cell = stand.begin_one(KEYED, second(stand), grant={"approve_above_cents": {"charge_card": 8500}})
    stand.until(cell.run_id, "waiting_approval")
    cancel(cell, undo=True)
    assert "undone: charge_card" in ends(cell)["detail"]
    task = f"task {stand.tag} {cell.run_id}."
    more = {"again": 2, "grant": {"approve_above_cents": {"charge_card": 8500}}}
    assert stand.post(cell.run_id, "submit", {"task": task, **more}).status_code == 200
    asked = stand.until(cell.run_id, "waiting_approval")["questions"]
    assert [("made before and taken back" in question["text"]) for question in asked] == [True]
    assert stand.decide(cell.run_id, asked[0]["key"], "approve").status_code == 200
    stand.wait(lambda: cell.applied() == 2, "the charge that was approved")


def test_what_was_undone_is_not_undone_again(stand: Stand) -> None:
    """Also where the receiver has forgotten the key of the first undo by then."""
    more: dict[str, Any] = {"grant": {"approve_above_cents": {"charge_card": 8500}}}
    cell = stand.begin_one(KEYED, second(stand), **more)
    stand.until(cell.run_id, "waiting_approval")
    cancel(cell, undo=True)
    undo = ends(cell)["ledger"][1]
    stand.behave("refund", key_lifetime_s=0.1)
    task = f"task {stand.tag} {cell.run_id}."
    stand.submit(cell.run_id, task, again=2, **more)
    stand.until(cell.run_id, "waiting_approval")
    cancel(cell, undo=True)
    ended = stand.wait(lambda: (s := stand.status(cell.run_id))["pass"] == 2 and s["state"] == "cancelled" and s, "end")
    assert "undone" not in ended["detail"], ended["detail"]
    assert next(row for row in ended["ledger"] if row["undoes"]) == undo
    assert len(stand.effects_of("refund", undo["key"])) == 1
    assert sum(row["key"] == undo["key"] for row in stand.stack.receiver.requests()) == 1


def test_two_at_once_one_of_which_asks_for_an_undo(stand: Stand) -> None:
    grant = {"approve_above_cents": {"charge_card": 8500}}
    cell = stand.begin_one(KEYED, second(stand), grant=grant)
    stand.until(cell.run_id, "waiting_approval")
    stand.a.freeze()
    asked = [threading.Thread(target=stand.post, args=(cell.run_id, "cancel", body)) for body in ({"undo": True}, {})]
    for thread in asked:
        thread.start()
        time.sleep(0.2)
    stand.a.thaw()
    for thread in asked:
        thread.join()
    ended = ends(cell)
    assert "undone: charge_card" in ended["detail"], ended
    assert len(stand.effects_of("refund", ended["ledger"][1]["key"])) == 1


def test_a_cancel_that_came_too_late_says_nothing_about_a_further_pass(stand: Stand) -> None:
    (gate,) = stand.gates("applied", KEYED)
    cell = stand.begin_one(KEYED)
    gate.wait()
    cancel(cell, undo=True)
    gate.release()
    assert "undone: charge_card" in ends(cell)["detail"]
    task = f"task {stand.tag} {cell.run_id}."
    model = stand.model_gate("arrived", times=1)
    second = stand.submit(cell.run_id, task, again=2)
    model.wait()
    assert stand.stack.admin.call("PATCH", f"/invocations/{second}/cancel").is_success
    ended = stand.wait(lambda: (s := stand.status(cell.run_id))["pass"] == 2 and s["state"] == "cancelled" and s, "end")
    model.release()
    assert "operator" in ended["detail"] and "undone" not in ended["detail"]


def test_a_queued_repeat_does_not_start_it_again(stand: Stand) -> None:
    gate = stand.model_gate("arrived", times=1)
    cell = stand.begin_one(KEYED)
    gate.wait()
    answers: list[dict[str, Any]] = []
    task = f"task {stand.tag} {cell.run_id}."
    queued = threading.Thread(target=lambda: answers.append(stand.run(cell.run_id, task)))
    queued.start()
    time.sleep(0.3)
    cancel(cell)
    queued.join(SOON_S)
    gate.release()
    assert [(each["state"], each["replayed"]) for each in answers] == [("cancelled", True)]
    assert not cell.effects()


def test_what_has_ended_or_never_began_cannot_be_cancelled(stand: Stand) -> None:
    cell = stand.begin_one(KEYED)
    stand.until(cell.run_id, "completed")
    assert stand.post(cell.run_id, "cancel", {}).json()["cancelling"] is False
    assert stand.status(cell.run_id)["state"] == "completed"
    assert stand.post("nobody", "cancel", {}).status_code == 404
