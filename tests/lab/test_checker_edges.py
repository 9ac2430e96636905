"""The checker where two histories differ in one thing only, and the verdict turns on it."""

from dataclasses import replace
from typing import Any

import pytest

from lab.cells import Cell, Verdict
from lab.checker import Judgement, Result, judge
from lab.history import History, Ledger
from lab.jobs import JOBS
from tests.lab.histories import TAG, asked, cell, effect, history, ledger, request, run

EITHER = (Verdict.ONCE, Verdict.UNKNOWN)
OURS = {"tier": "gold", "by": TAG}


def judged(of: Cell, seen: History) -> Judgement:
    return judge(of, JOBS[of.job], seen)


@pytest.mark.parametrize("state", ["completed", "outcome_unknown"])
def test_a_state_that_was_seen_before_the_run_came_to_rest_is_not_its_end(state: str) -> None:
    seen = history(ledger(request(1), effects=(effect(1),)), run(state, rested=False))
    assert judged(cell("charge", *EITHER), seen).verdict is Verdict.LOST


def test_a_decision_whose_end_was_not_seen_is_no_right_end() -> None:
    once = ledger(request(1), effects=(effect(1),))
    for after, state_after in ((None, "completed"), (once, None)):
        waits = run("outcome_unknown", decided="happened", state_after=state_after)
        told = judged(cell("charge", *EITHER), history(once, waits, after=after))
        assert told.verdict is Verdict.LOST
        assert told.findings == ("what became of the decision on run-1 was not seen",)


def test_a_read_that_the_receiver_applied_is_an_effect_of_its_own() -> None:
    row = effect(1, "order")
    seen = history(ledger(request(1, "order"), effects=(row,), script="order"), job="order")
    told = judged(cell("order", Verdict.NONE), seen)
    assert (told.verdict, told.result) == (Verdict.DUPLICATED, Result.NOT_AS_PROMISED)
    assert told.findings == ("1 effects were applied for run-1",)


def test_requests_that_only_ask_are_not_counted_as_sent() -> None:
    asks = request(2, applied=False, method="GET", status=200)
    assert judged(cell(), history(ledger(request(1), asks, effects=(effect(1),)))).counts.received == 1


def test_effects_of_a_run_beside_are_not_counted_here() -> None:
    both = ledger(request(1), request(2, key="k2"), effects=(effect(1), effect(2, key="k2", customer_id="cus_tdef")))
    assert judged(cell(), history(both, beside=("tdef",))).counts.applied == 1


def test_an_action_that_was_sent_without_a_key_is_found_even_where_the_effect_is_single() -> None:
    bare = ledger(request(1, key=None), effects=(effect(1, key=None),))
    told = judged(cell(), history(bare))
    assert (told.verdict, told.result) == (Verdict.ONCE, Result.NOT_AS_PROMISED)
    assert "sent under 1 keys: ['None']" in told.findings[0]


def written(*bodies: tuple[dict[str, Any], str | None]) -> History:
    """A SET's run, and what was written to its record: each body with the key it came under."""
    requests, effects = [request(1, "customer", applied=False, method="GET", key=None)], []
    for n, (body, key) in enumerate(bodies, 2):
        row = effect(n, "customer", key=key)
        row["id"], row["body"] = f"cus_{TAG}", body
        effects.append(row)
        requests.append(request(n, "customer", key=key, method="PUT"))
    return history(ledger(*requests, effects=tuple(effects), script="crm"), job="crm")


def test_a_set_that_was_never_written_is_lost() -> None:
    told = judged(cell("crm"), written())
    assert told.verdict is Verdict.LOST
    assert told.findings == ("the run run-1 completed and its state was never written",)


def test_a_set_whose_record_is_something_else_at_the_end_is_lost() -> None:
    told = judged(cell("crm"), written((OURS, "k1"), ({"by": f"nobody knows, {TAG}"}, None)))
    assert told.verdict is Verdict.LOST
    assert "in place of" in told.findings[0]


def test_of_a_set_only_its_own_writes_are_counted() -> None:
    told = judged(cell("crm"), written(({"by": f"the first owner of {TAG}"}, None), (OURS, "k1")))
    assert (told.verdict, told.counts.received, told.counts.applied) == (Verdict.ONCE, 1, 1)


def test_a_job_with_a_second_effect_must_have_it_once() -> None:
    once = (request(1), request(2, "email")), (effect(1), effect(2, "email", to="tabc@example.test"))
    missing = (request(1),), (effect(1),)
    twice = (*once[0], request(3, "email")), (*once[1], effect(3, "email", to="tabc@example.test"))
    verdicts = [
        judged(cell("receipt"), history(Ledger((asked(1, "receipt"),), tuple(r), tuple(e)), job="receipt")).verdict
        for r, e in (once, missing, twice)
    ]
    assert verdicts == [Verdict.ONCE, Verdict.LOST, Verdict.DUPLICATED]


def test_the_worst_run_of_a_trial_makes_its_verdict() -> None:
    two = (run(), replace(run(tag="tdef"), run_id="run-2"))
    both = ledger(request(1), request(2), effects=(effect(1), effect(2, customer_id="cus_tdef")))
    assert judged(cell(), history(both, *two)).verdict is Verdict.ONCE
    assert judged(cell(), history(ledger(request(1), effects=(effect(1),)), *two)).verdict is Verdict.LOST


def test_an_abandoned_run_may_have_its_effect_or_not_and_never_twice() -> None:
    left = replace(run("abandoned", rested=False), abandoned=True)
    for effects, verdict in ((0, Verdict.ONCE), (1, Verdict.ONCE), (2, Verdict.DUPLICATED)):
        made = tuple(effect(n) for n in range(1, effects + 1))
        seen = history(ledger(*(request(row["n"]) for row in made), effects=made), left)
        assert judged(cell(), seen).verdict is verdict


def test_what_belongs_to_a_run_beside_is_not_counted_here() -> None:
    beside = ledger(request(1), request(2, "sms"), effects=(effect(1), effect(2, "sms", key="k9", text="hello tdef")))
    seen = history(beside, beside=("tdef",))
    told = judged(cell(), seen)
    assert (told.verdict, told.result, told.counts.applied) == (Verdict.ONCE, Result.AS_PROMISED, 1)
    assert judged(cell(), replace(seen, beside=())).verdict is Verdict.DUPLICATED
