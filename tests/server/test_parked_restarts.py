"""A run that waits for a person, or has waited, restarted from every index of its journal: nothing is done twice."""

import pytest

from tests.server.parking import parked, waits_of
from tests.server.stand import KEYED, Stand
from tests.server.world import NoSuchCut, call, calls


def test_a_parked_run_restarted_from_every_index_asks_again_and_is_heard_at_once(stand: Stand) -> None:
    cuts = 0
    for prefix in [None, *range(1, 40)]:
        cell, key = parked(stand)
        waits_of(stand, cell.invocation)
        length = len(stand.journal(cell.invocation))
        stand.kill_invocation(cell.invocation)
        if prefix is not None and prefix >= length:
            break
        try:
            again = stand.restart(cell.invocation, prefix)
        except NoSuchCut:
            continue
        cuts += 1
        waits_of(stand, again)
        assert stand.decide(cell.run_id, key, "approve").status_code == 200, prefix
        ended = stand.until(cell.run_id, "completed", wait_s=10)
        assert cell.applied() == 1 and len(ended["ledger"]) == 1, prefix
        assert not stand.bugs(again), prefix
    assert cuts > 10


def test_an_approved_run_that_ended_changes_nothing_when_it_is_restarted_from_every_index(stand: Stand) -> None:
    cell, key = parked(stand)
    assert stand.decide(cell.run_id, key, "approve").status_code == 200
    stand.until(cell.run_id, "completed")
    requests = len(cell.requests())
    for prefix in [None, *range(1, len(stand.journal(cell.invocation)))]:
        try:
            again = stand.restart(cell.invocation, prefix)
        except NoSuchCut:
            continue
        answer = stand.attach(again)
        assert (answer.status_code, answer.json()["state"]) == (200, "completed"), (prefix, answer.text)
    assert cell.applied() == 1 and len(cell.requests()) == requests


@pytest.mark.long
def test_a_run_that_asks_for_more_turns_can_be_restarted_from_every_index(stand: Stand) -> None:
    stand.lead_to(stand.third({"PAWL_ON_LIMIT": "ask"}))
    for prefix in [None, 8, 20, 24, 25, 26, 27, 28, 29, 30, 31, 32]:
        cell = stand.begin_one(KEYED, limits={"turns": 1})
        key = stand.until(cell.run_id, "waiting_approval")["questions"][0]["key"]
        waits_of(stand, cell.invocation)
        stand.kill_invocation(cell.invocation)
        try:
            again = stand.restart(cell.invocation, prefix)
        except (NoSuchCut, AssertionError):
            continue
        waits_of(stand, again)
        stand.until(cell.run_id, "waiting_approval")
        asked = stand.status(cell.run_id)["questions"][0]["key"]
        assert stand.decide(cell.run_id, asked, "approve").status_code == 200, (prefix, key, asked)
        stand.until(cell.run_id, "completed", wait_s=10)
        assert cell.applied() == 1 and not stand.bugs(again), prefix


def test_a_run_that_waited_and_doubted_changes_nothing_when_it_is_restarted_from_every_index(stand: Stand) -> None:
    """Waits whose length is drawn, look-ups, repeats and a person's word are in this journal."""
    stand.behave("charge", fail={"status": 503}, times=1)
    stand.behave("transfer", lose_answer="after_commit", times=1)
    stand.behave("sms", lose_answer="after_commit", times=1)
    run_id = stand.run_id("doubts")
    made = calls(
        call("charge_card", customer_id=run_id, amount_cents=100),
        call("transfer_money", to_account=run_id, amount_cents=100),
        call("send_sms", to="+491", text=run_id),
    )
    first_reply = {"attempts": [{"status": 503}, made]}
    first = stand.submit(run_id, stand.script(first_reply, {"content": "done"}, name=run_id))
    question = stand.until(run_id, "outcome_unknown")["questions"][0]
    assert stand.decide(run_id, question["key"], "happened", receiver_id="sms_1").status_code == 200
    ended = stand.until(run_id, "completed")
    kinds = [entry["entry_type"] for entry in stand.journal(first)]
    assert kinds.count("Command: Sleep") >= 3
    requests = len(stand.requests(ended))
    cuts = 0
    for prefix in [None, *range(1, len(kinds))]:
        try:
            again = stand.restart(first, prefix)
        except NoSuchCut:
            continue
        cuts += 1
        answer = stand.attach(again, timeout_s=5)
        assert (answer.status_code, answer.json()["state"]) == (200, "completed"), (prefix, answer.text)
        assert not stand.bugs(again), prefix
    assert cuts > 15
    assert len(stand.requests(ended)) == requests
    assert [len(stand.effects_of(effect, run_id)) for effect in ("charge", "transfer", "sms")] == [1, 1, 1]
