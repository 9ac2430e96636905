"""The checker over hand-written histories: sane ones, pathological ones, and each sane one with one thing broken."""

from dataclasses import replace
from typing import Any

import pytest

from lab.cells import Cell, Counts, Fault, Group, Verdict
from lab.checker import Judgement, Result, judge
from lab.history import Event, History, Ledger
from lab.jobs import JOBS
from tests.lab.histories import cell, effect, history, ledger, request, run, sane

ONCE, NONE, UNKNOWN, DUPLICATED, LOST, INVALID = (
    Verdict.ONCE,
    Verdict.NONE,
    Verdict.UNKNOWN,
    Verdict.DUPLICATED,
    Verdict.LOST,
    Verdict.INVALID,
)


def judged(of: Cell, seen: History) -> Judgement:
    return judge(of, JOBS[of.job], seen)


def test_applied_once_and_completed_is_once() -> None:
    told = judged(cell(), sane())
    assert (told.verdict, told.result, told.findings) == (ONCE, Result.AS_PROMISED, ())
    assert told.counts == Counts(model_calls=2, received=2, applied=1)


def test_a_verdict_that_is_not_expected_is_not_as_promised() -> None:
    assert judged(cell("charge", DUPLICATED), sane()).result is Result.NOT_AS_PROMISED


def test_a_control_that_doubles_is_as_promised_where_that_is_expected() -> None:
    doubled = history(ledger(request(1), request(2), effects=(effect(1), effect(2))))
    told = judged(cell("charge", DUPLICATED, group=Group.CONTROL), doubled)
    assert (told.verdict, told.result) == (DUPLICATED, Result.AS_PROMISED)


@pytest.mark.parametrize(
    ("state", "effects", "rested", "verdict"),
    [
        ("completed", 1, True, ONCE),
        ("completed", 0, True, LOST),
        ("completed", 2, True, DUPLICATED),
        ("outcome_unknown", 0, True, UNKNOWN),
        ("outcome_unknown", 1, True, UNKNOWN),
        ("outcome_unknown", 2, True, DUPLICATED),
        ("failed", 1, True, LOST),
        ("failed", 0, True, LOST),
        ("running", 1, False, LOST),
        ("running", 2, False, DUPLICATED),
        ("waiting_approval", 0, True, LOST),
        ("unreachable", 0, False, LOST),
    ],
)
def test_state_and_effects_make_the_verdict(state: str, effects: int, rested: bool, verdict: Verdict) -> None:
    rows = tuple(request(n) for n in range(1, effects + 1)) or (request(1, applied=False),)
    seen = history(ledger(*rows, effects=tuple(effect(n) for n in range(1, effects + 1))), run(state, rested=rested))
    assert judged(cell(), seen).verdict is verdict


@pytest.mark.parametrize(
    ("decided", "state_after", "effects_after", "verdict"),
    [
        ("did_not_happen", "completed", 1, UNKNOWN),
        ("happened", "completed", 1, UNKNOWN),
        ("did_not_happen", "completed", 2, DUPLICATED),
        ("did_not_happen", "completed", 0, LOST),
        ("did_not_happen", "outcome_unknown", 0, LOST),
        ("happened", None, 1, LOST),
    ],
)
def test_what_is_unknown_must_come_to_a_right_end_when_a_person_decides(
    decided: str, state_after: str | None, effects_after: int, verdict: Verdict
) -> None:
    rows = tuple(request(n) for n in range(1, effects_after + 1))
    seen = history(
        ledger(request(1, applied=False)),
        run("outcome_unknown", decided=decided, state_after=state_after),
        after=ledger(*rows, effects=tuple(effect(n) for n in range(1, effects_after + 1))),
    )
    assert judged(cell("charge", ONCE, UNKNOWN), seen).verdict is verdict


def order(n: int) -> Any:
    return request(n, "order", applied=False, key=None, method="GET", status=200)


def test_a_read_that_applies_nothing_is_none() -> None:
    seen = history(ledger(order(1), order(2), script="order"), job="order")
    told = judged(cell("order", NONE), seen)
    assert (told.verdict, told.counts.received) == (NONE, 2)


def test_a_read_that_applies_something_is_caught() -> None:
    seen = history(ledger(order(1), request(2), effects=(effect(1),), script="order"), job="order")
    assert judged(cell("order", NONE), seen).verdict is DUPLICATED


TAG = "tabc"
OURS = {"tier": "gold", "by": TAG}
NEWER = {"by": f"somebody else, after {TAG}"}


def write(n: int, body: dict[str, Any], key: str | None = "k1") -> tuple[Any, Any]:
    row = effect(n, "customer", key=key)
    row["id"], row["body"] = f"cus_{TAG}", body
    return request(n, "customer", key=key, method="PUT"), row


def written(*writes: tuple[Any, Any], state: str = "completed", newest: dict[str, Any] | None = None) -> History:
    seen = ledger(*(each[0] for each in writes), effects=tuple(each[1] for each in writes), script="crm")
    return history(seen, run(state, newest=newest), job="crm")


@pytest.mark.parametrize(
    ("seen", "verdict"),
    [
        (written(write(1, OURS)), ONCE),
        (written(write(1, OURS), write(2, OURS)), ONCE),
        (written(write(1, OURS), write(2, NEWER, None), newest=NEWER), ONCE),
        (written(write(1, OURS), write(2, NEWER, None), write(3, OURS), newest=NEWER), DUPLICATED),
        (written(write(1, OURS), write(2, NEWER, None), newest=NEWER, state="outcome_unknown"), UNKNOWN),
        (written(write(1, NEWER, None)), LOST),
        (written(write(1, {"tier": "lead", "by": TAG})), DUPLICATED),
        (written(write(1, OURS), state="failed"), LOST),
    ],
)
def test_of_a_set_the_state_counts(seen: History, verdict: Verdict) -> None:
    assert judged(cell("crm", ONCE, UNKNOWN), seen).verdict is verdict


# One thing broken: every mutation of a sane history must be caught, and caught as what it is.


def without_landing(of: History) -> History:
    return replace(of, landings=())


def unread(of: History) -> History:
    return replace(of, ledger=None)


def empty(of: History) -> History:
    return replace(of, ledger=Ledger())


def no_run(of: History) -> History:
    return replace(of, runs=())


def broken_off(of: History) -> History:
    return replace(of, error="the worker was not ready within 30 s")


def rows(of: History, **more: Any) -> History:
    assert of.ledger is not None
    return replace(of, ledger=replace(of.ledger, **more))


def doubled(of: History) -> History:
    return rows(of, requests=(request(1), request(2)), effects=(effect(1), effect(2)))


def doubled_under_another_key(of: History) -> History:
    return rows(of, requests=(request(1), request(2, key="k2")), effects=(effect(1), effect(2, key="k2")))


def lost(of: History) -> History:
    return rows(of, requests=(request(1, applied=False),), effects=())


def stray_kind(of: History) -> History:
    return rows(of, requests=(request(1), request(2, "email")), effects=(effect(1), effect(2, "email", to="tabc@x")))


def stray_tag(of: History) -> History:
    return rows(of, requests=(request(1), request(2)), effects=(effect(1), effect(2, customer_id="cus_other")))


def hidden_effect(of: History) -> History:
    """The requests say that two were applied, and the list of effects has one."""
    return rows(of, requests=(request(1), request(2)), effects=(effect(1),))


def hidden_request(of: History) -> History:
    return rows(of, requests=(request(1),), effects=(effect(1), effect(2)))


def out_of_order(of: History) -> History:
    return rows(of, requests=(request(2), request(1, applied=False)))


def hanging(of: History) -> History:
    return replace(of, runs=(run("running", rested=False),))


def malformed(of: History) -> History:
    return rows(of, requests=({"n": 1},))


MUTATIONS = {
    without_landing: (INVALID, "0 of 1 faults landed"),
    unread: (INVALID, "the ledger was not read"),
    empty: (INVALID, "nothing happened, or it was not read"),
    no_run: (INVALID, "no run was submitted"),
    broken_off: (INVALID, "was not ready"),
    doubled: (DUPLICATED, "2 effects"),
    doubled_under_another_key: (DUPLICATED, "2 effects"),
    lost: (LOST, "completed without an effect"),
    stray_kind: (DUPLICATED, "nobody asked for effect 2: email"),
    stray_tag: (DUPLICATED, "nobody asked for effect 2"),
    hidden_effect: (INVALID, "its requests say"),
    hidden_request: (INVALID, "its requests say"),
    out_of_order: (INVALID, "out of order"),
    hanging: (LOST, "last seen as running"),
    malformed: (INVALID, "the checker failed"),
}


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda each: each.__name__)
def test_each_mutation_of_a_sane_history_is_caught_as_what_it_is(mutation: Any) -> None:
    assert judged(cell(), sane()).result is Result.AS_PROMISED
    verdict, sentence = MUTATIONS[mutation]
    told = judged(cell(), mutation(sane()))
    assert told.verdict is verdict
    assert told.result is (Result.CANNOT_TELL if verdict is INVALID else Result.NOT_AS_PROMISED)
    assert any(sentence in finding for finding in told.findings), told.findings


def test_a_fault_that_did_not_land_twice_is_invalid_even_where_everything_else_is_sane() -> None:
    assert judged(cell(), replace(sane(), strikes=2)).verdict is INVALID


def test_no_fault_needs_none_to_land() -> None:
    seen = replace(sane(), strikes=0, landings=())
    assert judged(cell(fault=Fault.NONE), seen).verdict is ONCE


def test_nothing_expected_makes_an_invalid_trial_a_pass() -> None:
    everything = cell("charge", *Verdict)
    assert judged(everything, unread(sane())).result is Result.CANNOT_TELL


# What more a cell may ask for


@pytest.mark.parametrize(
    ("counts", "right"),
    [
        (Counts(2, 2, 1), True),
        (Counts(3, None, None), False),
        (Counts(None, 1, None), False),
        (Counts(None, None, 2), False),
        (Counts(model_calls_max=2), True),
        (Counts(model_calls_max=1), False),
    ],
)
def test_counts_that_must_be_exact_are(counts: Counts, right: bool) -> None:
    told = judged(cell(counts=counts), sane())
    assert told.verdict is ONCE
    assert told.result is (Result.AS_PROMISED if right else Result.NOT_AS_PROMISED)


def frozen(thawed_at: float) -> History:
    return replace(sane(), events=(Event(101.0, "run", "completed", "run-1"), Event(thawed_at, "worker", "thawed")))


def test_a_thaw_before_another_attempt_has_finished_is_no_proof_of_anything() -> None:
    assert judged(cell(), frozen(103.0)).result is Result.AS_PROMISED
    told = judged(cell(), frozen(100.5))
    assert (told.verdict, told.findings) == (
        INVALID,
        ("the frozen worker was thawed before another attempt had finished run-1",),
    )


def test_a_worker_that_must_be_silent_after_the_thaw_is_heard() -> None:
    assert judged(cell(silent=True), frozen(103.0)).result is Result.AS_PROMISED
    told = judged(cell(silent=True), frozen(101.5))
    assert told.result is Result.NOT_AS_PROMISED
    assert "still sent requests [2]" in told.findings[0]
    assert judged(cell(silent=True), sane()).result is Result.NOT_AS_PROMISED


def test_two_keys_for_one_action_are_found_even_where_the_effect_is_single() -> None:
    seen = rows(sane(), requests=(request(1), request(2, applied=False, key="k2")))
    told = judged(cell(), seen)
    assert (told.verdict, told.result) == (ONCE, Result.NOT_AS_PROMISED)
    assert "2 keys" in told.findings[0]
    assert judged(cell(group=Group.CONTROL), seen).result is Result.AS_PROMISED
