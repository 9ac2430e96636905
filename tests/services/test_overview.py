"""A run's own record joined with what Restate says of it."""

import pytest

from services.messages import RunState, Tombstone
from services.overview import Ahead, Record, Seen, overview
from services.trouble import Cause
from tests.services.seen import (
    BUG,
    MISMATCH,
    NOW,
    approval,
    asking,
    begun,
    doubt,
    end,
    failed,
    failing,
    invocation,
    paused,
    record,
    row,
    ruling,
    seen,
    slots,
)


def test_nothing_is_known_of_an_id_without_rows() -> None:
    assert overview(Seen("r1", NOW)) is None


def test_one_that_waits_for_its_turn_is_queued_and_one_for_later_is_scheduled() -> None:
    queued = seen(Record(), invocation("pending"))
    later = seen(Record(), invocation("scheduled", start_at=NOW + 60))
    assert (queued.state, queued.since, len(queued.queued)) == (Ahead.QUEUED, 900.0, 1)
    assert later.state is Ahead.SCHEDULED


def test_one_that_has_just_begun_is_running() -> None:
    assert seen(Record(), invocation()).state is RunState.RUNNING
    assert seen(Record(begun=begun()), invocation()).reason == "the first reply is awaited"


def test_one_whose_worker_never_answered_is_stuck() -> None:
    found = seen(Record(), failing(), failures={"inv_1": [failed(NOW - 5)]})
    assert (found.state, found.since) == (RunState.STUCK, NOW - 5)
    assert found.reason.startswith("worker unreachable: error when calling")


def test_a_running_run_says_what_its_record_says() -> None:
    found = seen(record(row=row(RunState.WAITING_UNTIL, reason="the model asks to wait", until=NOW + 9)), invocation())
    assert (found.state, found.reason, found.since) == (RunState.WAITING_UNTIL, "the model asks to wait", 910.0)
    assert found.trouble is None


@pytest.mark.parametrize("state", [RunState.COMPLETED, RunState.FAILED, RunState.REFUSED, RunState.CANCELLED])
def test_an_ended_run_is_what_its_record_says_whatever_else_is_asked_of_it(state: RunState) -> None:
    kept = record(end=end(state, detail="because"))
    repeated = failing(number=2, created_at=NOW - 1)
    found = seen(kept, invocation("completed"), repeated)
    assert (found.state, found.reason, found.since, found.trouble) == (state, "done: because", 950.0, None)


def test_a_further_pass_that_is_held_up_for_good_is_stuck_though_the_one_before_has_ended() -> None:
    again = failing(MISMATCH, "RT0016", number=2)
    found = seen(record(end=end()), invocation("completed"), again, failures={"inv_2": [failed(NOW - 5)]})
    assert (found.state, found.over) == (RunState.STUCK, False)


@pytest.mark.parametrize("name", ["end", "run", "begun"])
def test_where_a_row_is_of_newer_code_nothing_is_claimed(name: str) -> None:
    why = "written by a newer version (schema 2, this one reads up to 1)"
    kept = record(row=None if name == "run" else row(), end=None if name == "end" else end(), unreadable={name: why})
    found = seen(kept, invocation("completed"))
    if name == "begun":
        assert found.state is RunState.COMPLETED
        return
    assert (found.state, found.trouble and found.trouble.cause) == (RunState.STUCK, Cause.NEWER)
    assert why in found.reason


def test_a_further_pass_is_not_the_end_of_the_pass_before() -> None:
    kept = record(row=row(pass_number=2), end=end(pass_number=1))
    assert seen(kept, invocation()).state is RunState.RUNNING


def test_what_is_past_its_retention_says_so() -> None:
    stone = Tombstone(digest="d", state=RunState.COMPLETED, ended_at=10)
    found = seen(Record(end=stone))
    assert found.state is RunState.COMPLETED
    assert "past its retention" in found.reason


def test_a_question_is_open_since_it_was_asked() -> None:
    found = seen(asking(), invocation())
    (asked,) = found.questions
    assert (found.state, asked.question.kind, asked.since) == (RunState.WAITING_APPROVAL, "approval", 940.0)
    assert asked.intent is not None
    assert asked.intent.tool == "charge_card"


def test_a_question_about_the_run_itself_has_no_effect_beside_it() -> None:
    (asked,) = seen(asking(approval("turns-1-1")), invocation("suspended")).questions
    assert asked.intent is None


def test_an_answered_question_is_not_open_though_the_run_has_not_gone_on() -> None:
    found = seen(asking(slots=slots(approval(), ruling())), invocation())
    assert (found.state, found.questions, found.reason) == (RunState.RUNNING, (), "answered: approve by ada")


def test_a_run_whose_questions_cannot_be_read_waits_all_the_same() -> None:
    found = seen(record(row=row(RunState.WAITING_APPROVAL), unreadable={"run": "the key is not here"}), invocation())
    assert (found.state, found.questions) == (RunState.WAITING_APPROVAL, ())


def test_an_answer_to_another_kind_of_question_answers_nothing() -> None:
    found = seen(asking(doubt(), slots=slots(approval(), ruling())), invocation())
    assert (found.state, len(found.questions)) == (RunState.OUTCOME_UNKNOWN, 1)


def test_a_run_that_waits_for_a_person_goes_on_waiting_without_a_worker() -> None:
    found = seen(asking(), failing(), failures={"inv_1": [failed(NOW - 5)]})
    assert found.state is RunState.WAITING_APPROVAL
    assert found.trouble is not None
    assert found.trouble.cause is Cause.UNREACHABLE


@pytest.mark.parametrize(("failure", "code"), [(BUG, "RT0007"), (MISMATCH, "RT0016")])
def test_a_run_that_waits_for_a_person_is_stuck_where_an_answer_would_not_help(failure: str, code: str) -> None:
    found = seen(asking(), failing(failure, code), failures={"inv_1": [failed(NOW - 5)]})
    assert found.state is RunState.STUCK
    assert len(found.questions) == 1


def test_a_paused_run_is_stuck_also_while_it_waits_for_a_person() -> None:
    found = seen(asking(), invocation("paused"), failures={"inv_1": [paused(NOW - 5, "RT0010", "refused")]})
    assert found.state is RunState.STUCK


def test_a_run_is_stuck_where_the_call_that_it_waits_for_is() -> None:
    inner = invocation("backing-off", "ask", 2, failure=BUG, code="RT0007")
    found = seen(record(), invocation("suspended"), inner, failures={"inv_2": [failed(NOW - 5)]})
    assert found.state is RunState.STUCK
    assert found.trouble is not None
    assert found.trouble.invocation == "inv_2"


def test_a_run_that_nothing_carries_on_is_stuck() -> None:
    killed = seen(record(), invocation("completed", ended_with="[409] killed"))
    assert (killed.state, killed.trouble and killed.trouble.cause) == (RunState.STUCK, Cause.ABSENT)
    assert "killed" in killed.reason
    assert "no invocation" in seen(record()).reason


def test_a_killed_run_with_another_behind_it_is_about_to_go_on() -> None:
    assert seen(record(), invocation("completed"), invocation("pending", number=2)).state is Ahead.QUEUED


def test_what_was_handed_over_and_not_taken_is_shown() -> None:
    call = failing(handler="submit")
    assert seen(Record(), invocation("running", "submit")).state is Ahead.QUEUED
    waiting = seen(Record(), call, failures={"inv_1": [failed(NOW - 5)]})
    assert (waiting.state, waiting.asked) == (RunState.STUCK, (call,))


def test_a_cancel_that_has_not_arrived_is_shown() -> None:
    assert seen(record(), failing(), cancelled=frozenset({"inv_1"})).cancelling
    assert not seen(record(), failing()).cancelling


def test_a_run_that_was_told_to_end_waits_for_nobody() -> None:
    told = seen(asking(), invocation("suspended"), cancelled=frozenset({"inv_1"}))
    assert (told.state, told.reason, told.questions) == (RunState.RUNNING, "told to end", ())
    away = seen(asking(), failing(), cancelled=frozenset({"inv_1"}), failures={"inv_1": [failed(NOW - 5)]})
    assert away.state is RunState.STUCK
