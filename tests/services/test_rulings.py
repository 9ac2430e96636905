"""Which decision counts."""

from typing import Any

import pytest

from services.messages import CHOICES, Choice, DecideRequest, Intent, IntentState, Question
from services.rulings import EXPIRY, Conflict, Slots, Taken, ahead, ask, decide

APPROVAL = Question(key="k", kind="approval", text="large", digest="d1")
UNKNOWN = Question(key="k", kind="unknown", text="no answer", digest="d1")


def request(choice: Choice, digest: str | None = None) -> DecideRequest:
    return DecideRequest(key="k", decision=choice, digest=digest)


def asked(question: Question, slots: Slots | None = None, at: float = 10.0, expires_s: float | None = None) -> Slots:
    return ask(slots or Slots(), question, "awakeable", expires_s, at)[0]


def taken(slots: Slots, choice: Choice, **more: str) -> Taken:
    made = decide(slots, request(choice, **more), "ann", 11.0)
    assert isinstance(made, Taken), made
    return made


def test_the_first_answer_wins_and_the_second_hears_who_gave_it() -> None:
    first = taken(asked(APPROVAL), Choice.APPROVE)
    assert first.wake == "awakeable"
    second = decide(first.slots, request(Choice.DENY), "bob", 12.0)
    assert isinstance(second, Conflict) and second.status == 409 and "approve by ann" in second.sentence


def test_an_answer_may_come_before_the_question() -> None:
    early = taken(Slots(), Choice.APPROVE)
    assert early.wake is None
    slots, slot = ask(early.slots, APPROVAL, "awakeable", None, 20.0)
    assert slot.ruling == early.ruling
    assert isinstance(decide(slots, request(Choice.DENY), "bob", 21.0), Conflict)


def test_an_answer_for_other_bytes_does_not_count() -> None:
    conflict = decide(asked(APPROVAL), request(Choice.APPROVE, digest="d2"), "ann", 11.0)
    assert isinstance(conflict, Conflict) and conflict.status == 409
    assert taken(asked(APPROVAL), Choice.APPROVE, digest="d1").ruling.choice is Choice.APPROVE


def test_an_approval_that_came_before_its_question_is_of_the_bytes_that_were_seen() -> None:
    early = taken(Slots(), Choice.APPROVE, digest="d2")
    slots, slot = ask(early.slots, APPROVAL, "awakeable", None, 20.0)
    assert slot.ruling is None
    assert taken(slots, Choice.DENY).wake == "awakeable"


def test_an_approval_does_not_count_for_the_bytes_that_a_further_pass_would_send() -> None:
    approved = taken(asked(APPROVAL), Choice.APPROVE)
    assert approved.ruling.digest == "d1"
    _, same = ask(approved.slots, APPROVAL, "newer", None, 20.0)
    _, other = ask(approved.slots, APPROVAL.model_copy(update={"digest": "d2"}), "newer", None, 20.0)
    assert same.ruling == approved.ruling and other.ruling is None


def row(state: IntentState, **more: Any) -> Intent:
    names: dict[str, Any] = {"key": "k", "tool": "charge_card", "effect": "KEYED", "identity": {}, "occurrence": 1}
    place = {"arguments": {}, "pass_number": 1, "turn": 1, "index": 0, "digest": "d1", "size_bytes": 2}
    return Intent(**names, **{**place, "state": state, **more})


@pytest.mark.parametrize("choice", list(Choice))
@pytest.mark.parametrize("state", list(IntentState))
def test_ahead_of_its_question_a_decision_counts_only_where_the_question_comes(
    state: IntentState, choice: Choice
) -> None:
    """Recorded and never read, a deny would be a charge that somebody believes to have stopped."""
    comes = {IntentState.WAITING: (Choice.APPROVE, Choice.DENY), IntentState.UNKNOWN: CHOICES["unknown"]}
    made = ahead(row(state), request(choice))
    if choice in comes.get(state, ()):
        assert isinstance(made, DecideRequest) and made.digest == "d1"
    else:
        assert isinstance(made, Conflict) and made.status == 409 and f"is {state.value}" in made.sentence


def test_ahead_of_its_question_a_decision_is_about_the_bytes_in_the_ledger() -> None:
    assert isinstance(ahead(row(IntentState.WAITING), request(Choice.APPROVE, digest="d2")), Conflict)
    assert isinstance(ahead(row(IntentState.WAITING, digest=""), request(Choice.APPROVE)), Conflict)


@pytest.mark.parametrize("state", [IntentState.ARMED, IntentState.DONE, IntentState.DENIED])
def test_a_second_decision_hears_of_the_first(state: IntentState) -> None:
    ruling = taken(asked(APPROVAL), Choice.APPROVE).ruling
    made = ahead(row(state, rulings=(ruling,)), request(Choice.DENY))
    assert isinstance(made, Conflict) and "approve by ann" in made.sentence


@pytest.mark.parametrize(
    ("question", "choice"), [(APPROVAL, Choice.HAPPENED), (APPROVAL, Choice.GIVE_UP), (UNKNOWN, Choice.APPROVE)]
)
def test_an_answer_must_fit_the_question(question: Question, choice: Choice) -> None:
    conflict = decide(asked(question), request(choice), "ann", 11.0)
    assert isinstance(conflict, Conflict) and conflict.status == 422


def test_a_further_question_about_the_same_intent_needs_its_own_answer() -> None:
    approved = taken(asked(APPROVAL), Choice.APPROVE).slots
    first = taken(asked(UNKNOWN, approved), Choice.DID_NOT_HAPPEN).slots
    again = asked(UNKNOWN.model_copy(update={"number": 2}), first)
    assert taken(again, Choice.HAPPENED).ruling.choice is Choice.HAPPENED


def test_a_question_put_again_keeps_its_time_and_one_by_another_pass_has_its_own() -> None:
    slots = asked(APPROVAL, at=10.0)
    slots, slot = ask(slots, APPROVAL, "awakeable", None, 40.0)
    assert (slot.asked_at, slot.awakeable) == (10.0, "awakeable")
    slots, slot = ask(slots, APPROVAL, "newer", None, 50.0)
    assert (slot.asked_at, slot.awakeable) == (50.0, "newer")
    assert taken(slots, Choice.APPROVE).wake == "newer"


def test_an_approval_that_nobody_decides_is_denied_and_an_unknown_never_is() -> None:
    slots = asked(APPROVAL, at=10.0, expires_s=5.0)
    _, slot = ask(slots, APPROVAL, "awakeable", 5.0, 14.9)
    assert slot.ruling is None
    slots, slot = ask(slots, APPROVAL, "awakeable", 5.0, 15.0)
    assert slot.ruling is not None and slot.ruling.choice is Choice.DENY and slot.ruling.who == EXPIRY
    assert isinstance(decide(slots, request(Choice.APPROVE), "ann", 16.0), Conflict)
    _, slot = ask(asked(UNKNOWN, at=10.0, expires_s=5.0), UNKNOWN, "awakeable", 5.0, 100.0)
    assert slot.ruling is None


def test_what_became_of_an_intent_is_not_decided_before_somebody_asks() -> None:
    """An early `did not happen` would send a second time without a look at the evidence."""
    for choice in (Choice.HAPPENED, Choice.DID_NOT_HAPPEN, Choice.GIVE_UP):
        early = decide(Slots(), DecideRequest(key="k", decision=choice), "anna", 1.0)
        assert isinstance(early, Conflict) and early.status == 409


def test_the_question_that_was_put_last_is_the_one_that_is_answered() -> None:
    """An approval that nobody gave in an earlier pass does not stand in the way."""
    approval = Question(key="k", kind="approval", text="may it?", digest="d")
    unknown = Question(key="k", kind="unknown", text="did it?", digest="d")
    slots, _ = ask(Slots(), approval, "first", None, 1.0)
    slots, _ = ask(slots, unknown, "second", None, 2.0)
    taken = decide(slots, DecideRequest(key="k", decision=Choice.HAPPENED), "anna", 3.0)
    assert isinstance(taken, Taken) and taken.wake == "second"


def test_an_approval_asked_for_by_a_further_pass_has_its_whole_time() -> None:
    question = Question(key="k", kind="approval", text="may it?", digest="d")
    slots, _ = ask(Slots(), question, "first", 10.0, 1.0)
    _, slot = ask(slots, question, "second", 10.0, 100.0)
    assert slot.ruling is None and slot.asked_at == 100.0
    _, slot = ask(slots, question, "first", 10.0, 100.0)
    assert slot.ruling is not None and slot.ruling.choice is Choice.DENY
