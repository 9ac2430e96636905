"""A run that waits for a person: whoever asks gets an answer at once, and the decision counts once, for these bytes."""

import contextlib
import threading
import time
from typing import Any

import pytest

from lab.errors import LabError
from tests.server.parking import ALWAYS, parked
from tests.server.stand import KEYED, ONCE, Cell, Stand, Way
from tests.server.world import call, calls

AT_ONCE_S = 1.0


def task_of(cell: Cell) -> str:
    return f"task {cell.world.tag} {cell.run_id}."


def post(cell: Cell, handler: str, body: Any = None) -> Any:
    return cell.world.post(cell.run_id, handler, body, timeout_s=AT_ONCE_S)


def approving(stand: Stand, cell: Cell, key: str) -> threading.Thread:
    """Somebody approves, and may be left without an answer."""

    def approve() -> None:
        with contextlib.suppress(LabError):
            stand.decide(cell.run_id, key, "approve")

    thread = threading.Thread(target=approve)
    thread.start()
    return thread


def test_everybody_is_answered_at_once_while_it_waits(stand: Stand) -> None:
    cell, key = parked(stand)
    assert post(cell, "status").json()["state"] == "waiting_approval"
    again = post(cell, "submit", {"task": task_of(cell), "grant": ALWAYS}).json()
    assert (again["status"], again["invocation_id"]) == ("running", cell.invocation)
    assert post(cell, "submit", {"task": "something else"}).status_code == 422
    assert post(cell, "decide", {"key": "no-such-key", "decision": "approve"}).status_code == 404
    assert post(cell, "decide", {"key": key, "decision": "happened"}).status_code == 422
    assert post(cell, "status").json()["questions"][0]["key"] == key
    assert post(cell, "decide", {"key": key, "decision": "approve"}).status_code == 200
    assert post(cell, "cancel", {}).status_code == 200
    assert stand.until(cell.run_id, "completed", "cancelled")


def test_a_worker_that_was_restarted_meanwhile_answers_too(stand: Stand) -> None:
    cell, key = parked(stand)
    stand.a.kill()
    stand.a.start()
    time.sleep(0.7)  # the server's last try before the worker was back
    assert post(cell, "status").json()["state"] == "waiting_approval"
    assert post(cell, "decide", {"key": key, "decision": "approve"}).status_code == 200
    stand.until(cell.run_id, "completed")
    assert cell.applied() == 1


@pytest.mark.parametrize(
    "what", ["worker", pytest.param("server", marks=pytest.mark.long), pytest.param("both", marks=pytest.mark.long)]
)
def test_a_decision_that_was_given_is_not_lost(stand: Stand, what: str) -> None:
    cell, key = parked(stand)
    # The run does not hear of it: what goes to its worker is held, and then all is gone.
    stand.relay.hold(Way.TO_SERVER)
    asked = approving(stand, cell, key)
    stand.relay.wait_held(Way.TO_SERVER)
    if what != "server":
        stand.a.kill()
    if what != "worker":
        stand.stack.server.kill()
    stand.relay.cut()
    stand.back()
    asked.join()
    if stand.status(cell.run_id)["state"] == "waiting_approval":
        # It had not been taken when the server died; then it is free.
        assert stand.decide(cell.run_id, key, "approve").status_code in (200, 409)
    stand.until(cell.run_id, "completed")
    assert cell.applied() == 1


def test_a_decision_on_a_run_that_was_killed_and_submitted_again(stand: Stand) -> None:
    cell, key = parked(stand)
    stand.kill_invocation(cell.invocation)
    assert stand.decide(cell.run_id, key, "approve").status_code == 200
    assert not cell.effects()
    stand.submit(cell.run_id, task_of(cell), grant=ALWAYS)
    ended = stand.until(cell.run_id, "completed")
    assert cell.applied() == 1 and len(ended["ledger"]) == 1


@pytest.mark.parametrize(
    "point",
    [pytest.param("before", marks=pytest.mark.long), "applied", pytest.param("answered", marks=pytest.mark.long)],
)
def test_an_approval_is_used_once_whatever_dies_afterwards(stand: Stand, point: str) -> None:
    cell, key = parked(stand)
    if point == "before":
        stand.relay.hold(Way.TO_WORKER, after=1)
        asked = approving(stand, cell, key)
        stand.relay.wait_held(Way.TO_WORKER)
    else:
        asked = None
        (gate,) = stand.gates("applied", KEYED)
        assert stand.decide(cell.run_id, key, "approve").status_code == 200
        gate.wait()
        if point == "answered":
            stand.relay.hold(Way.TO_SERVER)
        gate.release()
        if point == "answered":
            stand.relay.wait_held(Way.TO_SERVER)
    stand.a.kill()
    stand.relay.cut()
    stand.a.start()
    if asked is not None:
        asked.join()
    ended = stand.until(cell.run_id, "completed")
    assert cell.applied() == 1
    assert len(ended["ledger"][0]["rulings"]) == 1
    assert stand.model_requests(cell.run_id) == 2


def test_two_people_at_once_of_whom_one_is_first(stand: Stand) -> None:
    cell, key = parked(stand)
    statuses: list[int] = []
    words = ["approve", "deny"] * 4
    asked = [
        threading.Thread(target=lambda word=word: statuses.append(stand.decide(cell.run_id, key, word).status_code))
        for word in words
    ]
    for thread in asked:
        thread.start()
    for thread in asked:
        thread.join()
    assert sorted(statuses) == [200] + [409] * 7
    ended = stand.until(cell.run_id, "completed")
    assert ended["ledger"][0]["state"] in ("done", "denied")
    assert cell.applied() == (ended["ledger"][0]["state"] == "done")


def test_a_reworded_repeat_of_what_was_approved_is_sent_as_it_was_approved(stand: Stand) -> None:
    cell, key = parked(stand)
    digest = stand.status(cell.run_id)["questions"][0]["digest"]
    stand.kill_invocation(cell.invocation)
    reworded = call("charge_card", customer_id=cell.subject, amount_cents=1200, memo="in other words")
    stand.script(calls(reworded), {"content": "done"}, name=cell.run_id)
    stand.submit(cell.run_id, task_of(cell), grant=ALWAYS)
    waiting = stand.until(cell.run_id, "waiting_approval")
    assert (waiting["questions"][0]["key"], waiting["questions"][0]["digest"]) == (key, digest)
    assert stand.decide(cell.run_id, key, "approve", digest=digest).status_code == 200
    stand.until(cell.run_id, "completed")
    (effect,) = cell.effects()
    assert effect["body"]["memo"] == cell.subject


def test_one_that_is_approved_leaves_its_siblings_alone(stand: Stand) -> None:
    run_id = stand.run_id("siblings")
    made = [call("charge_card", customer_id=f"{stand.tag}-{n}", amount_cents=1000 * (n + 1)) for n in range(3)]
    made.append(call("send_email", to="a@b.test", subject="s", body=stand.tag))
    grant = {"approve_above_cents": {"charge_card": 1500}}
    stand.submit(run_id, stand.script(calls(*made), {"content": "done"}, name=run_id), grant=grant)
    waiting = stand.wait(
        lambda: len((s := stand.status(run_id)).get("questions", [])) == 2 and s["state"] == "waiting_approval" and s,
        "two questions",
        run_id,
    )
    assert [row["state"] for row in waiting["ledger"]] == ["done", "waiting", "waiting", "done"]
    first, second = (question["key"] for question in waiting["questions"])
    assert stand.decide(run_id, second, "approve").status_code == 200
    stand.wait(lambda: stand.effects_of("charge", f"{stand.tag}-2"), "the approved one")
    assert not stand.effects_of("charge", f"{stand.tag}-1")
    assert stand.status(run_id)["questions"][0]["key"] == first
    assert stand.decide(run_id, first, "deny").status_code == 200
    ended = stand.until(run_id, "completed")
    assert [row["state"] for row in ended["ledger"]] == ["done", "denied", "done", "done"]


def test_an_approval_that_nobody_gives_expires(stand: Stand) -> None:
    worker = stand.third({"PAWL_APPROVAL_EXPIRES_S": "1"})
    stand.lead_to(worker)
    cell, key = parked(stand)
    ended = stand.until(cell.run_id, "completed", wait_s=5)
    assert [row["state"] for row in ended["ledger"]] == ["denied"]
    assert not cell.requests()
    assert "expiry" in ended["ledger"][0]["rulings"][0]["who"]
    assert stand.decide(cell.run_id, key, "approve").status_code == 409


def test_not_happened_is_decided_once_for_each_question(stand: Stand) -> None:
    stand.behave("sms", lose_answer="before_commit", times=2)
    cell = stand.begin_one(ONCE)
    first = stand.until(cell.run_id, "outcome_unknown")["questions"][0]
    assert stand.decide(cell.run_id, first["key"], "did_not_happen").status_code == 200
    again = stand.wait(
        lambda: [each for each in stand.status(cell.run_id).get("questions", []) if each["number"] == 2], "the second"
    )
    assert again[0]["key"] == first["key"]
    assert stand.decide(cell.run_id, first["key"], "did_not_happen").status_code == 200
    ended = stand.until(cell.run_id, "completed")
    assert cell.applied() == 1 and len(cell.requests()) == 3
    assert [ruling["choice"] for ruling in ended["ledger"][0]["rulings"]] == ["did_not_happen"] * 2


@pytest.mark.long
def test_a_parked_run_holds_no_place_at_the_worker(stand: Stand) -> None:
    cells = [stand.begin_one(KEYED, grant=ALWAYS) for _ in range(40)]
    for cell in cells:
        stand.until(cell.run_id, "waiting_approval")
    begun = time.monotonic()
    free = stand.begin_one(KEYED)
    stand.until(free.run_id, "completed", wait_s=AT_ONCE_S)
    assert time.monotonic() - begun < AT_ONCE_S
    for cell in cells:
        assert post(cell, "cancel", {}).status_code == 200
    for cell in cells:
        stand.until(cell.run_id, "cancelled")


def test_nothing_is_decided_that_nobody_asks(stand: Stand) -> None:
    (gate,) = stand.gates("applied", ONCE)
    cell = stand.begin_one(ONCE)
    gate.wait()
    (row,) = stand.status(cell.run_id)["ledger"]
    assert row["state"] == "armed"
    for word in ("did_not_happen", "happened", "give_up"):
        assert stand.decide(cell.run_id, row["key"], word).status_code == 409
    model = stand.model_gate("arrived", times=1)
    gate.release()
    model.wait()
    for word in ("did_not_happen", "approve", "deny"):
        late = stand.decide(cell.run_id, row["key"], word)
        assert late.status_code == 409 and "done" in late.text
    model.release()
    ended = stand.until(cell.run_id, "completed")
    assert cell.applied() == 1 and ended["ledger"][0]["rulings"] == []


@pytest.mark.long
def test_an_approval_of_an_earlier_pass_does_not_run_out_before_it_is_asked_for(stand: Stand) -> None:
    worker = stand.third({"PAWL_APPROVAL_EXPIRES_S": "3"})
    stand.lead_to(worker)
    cell, key = parked(stand)
    assert post(cell, "cancel", {}).status_code == 200
    stand.until(cell.run_id, "cancelled")
    time.sleep(3.0)
    stand.submit(cell.run_id, task_of(cell), again=2, grant=ALWAYS)
    stand.until(cell.run_id, "waiting_approval")
    assert stand.decide(cell.run_id, key, "approve").status_code == 200
    ended = stand.until(cell.run_id, "completed")
    assert cell.applied() == 1 and [row["state"] for row in ended["ledger"]] == ["done"]
