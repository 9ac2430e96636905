"""From what happened to a call to the next move, for every class of effect."""

from dataclasses import replace
from typing import Any

import pytest

from services.calls import Call
from services.ending import landed
from services.ledger import AskFirst, Beyond, Go, Read, Resolve, Say
from services.messages import Choice, Intent, IntentState, Ruling
from services.moves import (
    Answered,
    Ask,
    Caps,
    Event,
    LookedUp,
    LookUp,
    Move,
    Nudged,
    Prepared,
    Progress,
    Seal,
    SealedAt,
    Send,
    Settled,
    Wait,
)
from services.progress import IN_FLIGHT_MAX_S, advance, begin
from tools import TOOLS, registry
from tools.outcome import Done, Doubt, InFlight, NotFound, NotSent, Pending, Rejected, Unknown
from tools.tool import Tool

TOOLSET = registry(TOOLS)
READ, SET, KEYED = TOOLSET["look_up_order"], TOOLSET["update_crm"], TOOLSET["charge_card"]
ONCE, BLIND = TOOLSET["transfer_money"], TOOLSET["send_sms"]
T0 = 1_000.0
CALL = Call(1, 0, "id", "tool", {}, None)


def intent(tool: Tool, state: IntentState = IntentState.PROPOSED, **more: Any) -> Intent:
    return Intent(
        key="key",
        tool=tool.name,
        effect=tool.effect.value,
        identity={},
        occurrence=1,
        arguments={},
        pass_number=1,
        turn=1,
        index=0,
        state=state,
        digest="",
        size_bytes=0,
        **more,
    )


def start(tool: Tool, **caps: Any) -> tuple[Progress, Move]:
    plan = Go(tool, intent(tool)) if tool is not READ else Read(tool, {})
    return begin(CALL, plan, Caps(**caps), T0)


def go(progress: Progress, *events: Event) -> tuple[Progress, Move]:
    """Carries out the moves that events answer: a Seal sets the state, as the turn does."""
    move: Move = Settled("")
    for event in events:
        if isinstance(event, SealedAt):
            progress = progress.with_intent(state=IntentState.ARMED)
        progress, move = advance(progress, event)
    return progress, move


def sealed(at: float = T0) -> SealedAt:
    return SealedAt(Prepared({"method": "POST"}, "digest", 10), at, "seal 1.1")


def answered(answer: Any, at: float = T0) -> Answered:
    return Answered(answer, at)


UNSURE = Unknown("no whole answer")
STORED = Unknown("the first answer was an error", Doubt.STORED_ERROR)
REUSED = Unknown("another body", Doubt.KEY_REUSED)
CRASHED = Unknown("the worker died", Doubt.CRASHED)
AWAY = NotSent("connection refused")


def test_an_effect_is_sealed_before_it_is_sent_and_a_read_is_not() -> None:
    assert start(KEYED)[1] == Seal(IntentState.ARMED)
    assert start(READ)[1] == Send()
    progress, move = go(start(KEYED)[0], sealed())
    assert move == Send() and progress.row.armed_at == T0 and progress.row.digest == "digest"


@pytest.mark.parametrize(
    ("tool", "answer", "move"),
    [
        (KEYED, Done({"id": "x"}, "x"), Settled),
        (KEYED, Rejected("declined", 402), Settled),
        (KEYED, UNSURE, Wait),
        (KEYED, CRASHED, Wait),
        (KEYED, STORED, LookUp),
        (KEYED, REUSED, Ask),
        (KEYED, AWAY, Wait),
        (KEYED, InFlight("working"), Wait),
        (KEYED, Pending("taken"), Wait),
        (SET, UNSURE, Wait),
        (SET, Rejected("stale", 412), LookUp),
        (ONCE, UNSURE, LookUp),
        (ONCE, CRASHED, LookUp),
        (ONCE, AWAY, Wait),
        (BLIND, UNSURE, Ask),
        (BLIND, CRASHED, Ask),
        (BLIND, Pending("taken"), Ask),
        (BLIND, NotSent("gone", last=True), Settled),
    ],
)
def test_the_move_after_the_first_answer(tool: Tool, answer: Any, move: type[Move]) -> None:
    assert isinstance(go(start(tool)[0], sealed(), answered(answer))[1], move)


def test_n_attempts_are_n_answers() -> None:
    for tool in (KEYED, READ):
        progress, move = start(tool)
        if tool is KEYED:
            progress, move = go(progress, sealed())
        sends = 0
        while isinstance(move, Send | Wait):
            if isinstance(move, Wait):
                move = move.then
                continue
            sends += 1
            progress, move = go(progress, answered(UNSURE))
        assert sends == tool.attempts
        assert isinstance(move, LookUp if tool is KEYED else Settled)


def test_a_once_that_provably_did_not_leave_is_sealed_anew_for_each_try() -> None:
    progress, move = go(start(ONCE)[0], sealed(), answered(AWAY))
    assert isinstance(move, Wait) and move.then == Seal(IntentState.ARMED)
    progress, move = go(progress, sealed(), answered(AWAY), sealed(), answered(AWAY))
    assert isinstance(move, Settled) and progress.row.state is IntentState.NOT_SENT


def test_not_sent_proves_nothing_after_a_doubt() -> None:
    progress, move = go(start(KEYED)[0], sealed(), answered(UNSURE), answered(AWAY), answered(AWAY))
    assert isinstance(move, LookUp) and progress.row.state is not IntentState.NOT_SENT


def test_not_found_is_not_believed_while_a_request_may_be_under_way() -> None:
    progress, _ = go(start(ONCE)[0], sealed(), answered(UNSURE))
    early, move = go(progress, LookedUp(NotFound("none"), T0 + 1))
    assert isinstance(move, Wait) and move.then == LookUp()
    assert move.seconds == pytest.approx(ONCE.send_deadline_s + ONCE.settle_s - 1)
    _, move = go(early, LookedUp(NotFound("none"), T0 + ONCE.send_deadline_s + ONCE.settle_s))
    assert isinstance(move, Ask) and move.question.kind == "unknown" and move.question.warning


def test_a_keyed_effect_that_is_not_found_is_sent_again_under_its_key() -> None:
    late = T0 + KEYED.send_deadline_s + KEYED.settle_s
    progress, move = begin(CALL, Resolve(KEYED, intent(KEYED, IntentState.UNKNOWN), "cut off"), Caps(), T0)
    assert move == LookUp()
    _, move = go(progress, LookedUp(NotFound("none"), late))
    assert move == Seal(IntentState.ARMED)


def test_what_is_not_found_after_the_last_attempt_is_a_person_s_to_decide() -> None:
    late = T0 + KEYED.send_deadline_s + KEYED.settle_s
    progress, move = go(start(KEYED)[0], sealed(), *[answered(UNSURE)] * KEYED.attempts)
    assert move == LookUp()
    progress, move = go(progress, LookedUp(NotFound("none"), late))
    assert isinstance(move, Ask) and progress.row.attempts == KEYED.attempts


def test_a_receiver_may_ask_for_a_wait_of_hours_and_not_of_days() -> None:
    limited = NotSent("too many requests", retry_after_s=7200)
    progress, move = go(start(KEYED)[0], sealed(), answered(limited))
    assert isinstance(move, Wait) and (move.seconds, move.then) == (7200, Seal(IntentState.ARMED))
    progress, move = go(start(KEYED)[0], sealed(), answered(replace(limited, retry_after_s=86_400)))
    assert isinstance(move, Settled) and progress.row.state is IntentState.NOT_SENT


def test_a_stored_error_is_never_followed_by_another_send() -> None:
    progress, move = go(start(KEYED)[0], sealed(), answered(STORED))
    assert move == LookUp()
    progress, move = go(progress, LookedUp(NotFound("none"), T0 + 100))
    assert isinstance(move, Ask) and progress.row.state is IntentState.UNKNOWN


def test_a_key_past_its_lifetime_is_not_sent_before_a_look_up() -> None:
    progress, _ = start(KEYED, key_lifetime_s=5.0)
    progress, move = go(progress, sealed(T0), answered(CRASHED, T0 + 8))
    assert move == LookUp()
    progress, move = go(progress, LookedUp(NotFound("none"), T0 + 100))
    assert isinstance(move, Ask)


def test_the_age_of_a_key_counts_from_the_first_time_that_it_may_have_left() -> None:
    progress, _ = go(start(KEYED)[0], sealed(T0), answered(AWAY, T0 + 50), sealed(T0 + 60))
    assert progress.row.armed_at == T0 + 60
    progress, _ = go(progress, answered(UNSURE, T0 + 61), sealed(T0 + 90))
    assert progress.row.armed_at == T0 + 60


def test_a_receiver_that_is_still_working_is_waited_for_a_bounded_time() -> None:
    progress, move = go(start(KEYED)[0], sealed())
    waited, at = 0.0, T0
    while not isinstance(move, LookUp):
        at += 1
        event = sealed(at) if isinstance(move, Seal) else answered(InFlight("working", 1.0), at)
        progress, move = go(progress, event)
        if isinstance(move, Wait):
            waited += move.seconds
            move = move.then
    assert waited == pytest.approx(IN_FLIGHT_MAX_S)
    assert progress.sends <= 1


def test_a_set_is_not_repeated_after_its_send_deadline() -> None:
    _progress, move = go(start(SET)[0], sealed(T0), answered(UNSURE, T0 + SET.send_deadline_s))
    assert move == LookUp()


@pytest.mark.parametrize(
    ("tool", "state", "move"),
    [
        (KEYED, IntentState.ARMED, Seal),
        (KEYED, IntentState.UNKNOWN, LookUp),
        (SET, IntentState.ARMED, LookUp),
        (ONCE, IntentState.ARMED, LookUp),
        (BLIND, IntentState.ARMED, Ask),
        (BLIND, IntentState.UNKNOWN, Ask),
    ],
)
def test_what_an_earlier_pass_left_in_doubt_is_resolved_first(tool: Tool, state: IntentState, move: type[Move]) -> None:
    _, first = begin(CALL, Resolve(tool, intent(tool, state), "cut off"), Caps(), T0)
    assert isinstance(first, move)


def test_a_seal_that_was_under_way_counts_as_late_as_it_can_have_been() -> None:
    progress, _ = begin(CALL, Resolve(ONCE, intent(ONCE, IntentState.ARMED), "cut off"), Caps(), T0 + 500)
    assert progress.sealed_at == T0 + 500
    row = intent(ONCE, IntentState.ARMED, sealed_at=T0)
    progress, _ = begin(CALL, Resolve(ONCE, row, "cut off"), Caps(), T0 + 500)
    assert progress.sealed_at == T0


@pytest.mark.parametrize(
    ("choice", "move", "state"),
    [
        (Choice.APPROVE, Seal, None),
        (Choice.DENY, Settled, IntentState.DENIED),
        (Choice.HAPPENED, Settled, IntentState.DONE),
        (Choice.DID_NOT_HAPPEN, Seal, None),
        (Choice.GIVE_UP, Settled, IntentState.GIVEN_UP),
    ],
)
def test_a_ruling_is_obeyed_and_recorded(choice: Choice, move: type[Move], state: IntentState | None) -> None:
    progress, asked = go(start(BLIND)[0], sealed(), answered(UNSURE))
    assert isinstance(asked, Ask)
    progress, after = go(progress, Ruling(key="key", choice=choice, who="ann", at=T0 + 5))
    assert isinstance(after, move) and progress.row.rulings[-1].who == "ann"
    assert state is None or progress.row.state is state


def test_an_approval_is_asked_for_the_bytes_that_will_be_sent() -> None:
    progress, move = begin(CALL, AskFirst(KEYED, intent(KEYED), "large"), Caps(), T0)
    assert move == Seal(IntentState.WAITING)
    progress = progress.with_intent(state=IntentState.WAITING)
    _, asked = advance(progress, sealed())
    assert isinstance(asked, Ask) and asked.question.digest == "digest" and asked.question.kind == "approval"


def test_nobody_answering_leads_to_another_look_where_there_is_one() -> None:
    progress, asked = go(start(BLIND)[0], sealed(), answered(UNSURE))
    assert isinstance(asked, Ask)
    assert advance(progress, Nudged(asked.question))[1] == asked
    progress, _ = go(start(ONCE)[0], sealed(), answered(UNSURE))
    progress, asked = go(progress, LookedUp(NotFound("none"), T0 + 100))
    assert isinstance(asked, Ask) and advance(progress, Nudged(asked.question))[1] == LookUp()


def test_tell_settles_an_unknown_without_a_person() -> None:
    progress, move = go(start(BLIND, unknown="tell")[0], sealed(), answered(UNSURE))
    assert isinstance(move, Settled) and "unknown" in move.text and progress.row.state is IntentState.UNKNOWN


def test_a_stale_version_is_looked_up_before_the_refusal_is_believed() -> None:
    progress, move = go(start(SET)[0], sealed(), answered(Rejected("stale", 412)))
    assert move == LookUp()
    assert go(progress, LookedUp(Done({"version": 3}), T0))[0].row.state is IntentState.DONE
    after, move = go(progress, LookedUp(NotFound("another key"), T0))
    assert isinstance(move, Settled) and after.row.state is IntentState.REJECTED


def test_the_bytes_stay_until_the_outcome_is_final() -> None:
    progress, _ = go(start(BLIND)[0], sealed(), answered(UNSURE))
    assert progress.row.request is not None
    progress, _ = go(progress, Ruling(key="key", choice=Choice.HAPPENED, who="ann", at=T0))
    assert progress.row.request is None and progress.row.digest == "digest" and progress.row.size_bytes == 10


def test_a_tool_that_cannot_make_its_bytes_did_nothing() -> None:
    failed = SealedAt(Prepared(None, failed="ValueError: no"), T0, "seal 1.1")
    progress, move = go(start(KEYED)[0], failed)
    assert isinstance(move, Settled) and "ValueError: no" in move.text and progress.row.state is IntentState.NOT_SENT


def test_a_call_with_a_problem_is_answered_with_it() -> None:
    assert begin(CALL, Say("no such tool"), Caps(), T0)[1] == Settled("no such tool")


@pytest.mark.parametrize(
    ("events", "state"),
    [
        ((), IntentState.NOT_SENT),
        ((sealed(),), IntentState.NOT_SENT),
        ((sealed(), answered(AWAY)), IntentState.NOT_SENT),
        ((sealed(), answered(UNSURE)), IntentState.UNKNOWN),
        ((sealed(), answered(InFlight("working"))), IntentState.UNKNOWN),
        ((sealed(), answered(Done())), IntentState.DONE),
        ((sealed(), answered(Rejected("no"))), IntentState.REJECTED),
    ],
)
def test_what_a_cancelled_call_leaves_in_the_ledger(events: tuple[Event, ...], state: IntentState) -> None:
    row = landed(go(start(KEYED)[0], *events)[0])
    assert row is not None and row.state is state


def test_attempts_of_zero_one_and_two_are_one_one_and_two_sends() -> None:
    for attempts, sends in ((1, 1), (2, 2)):
        tool = replace(KEYED, attempts=attempts)
        progress, move = go(begin(CALL, Go(tool, intent(tool)), Caps(), T0)[0], sealed())
        made = 0
        while isinstance(move, Send | Wait):
            made += isinstance(move, Send)
            progress, move = (progress, move.then) if isinstance(move, Wait) else go(progress, answered(UNSURE))
        assert made == sends


class TestWhatTheGrantDoesNotCoverAnyMore:
    BARRED = "charge_card was not run: 100 cents is above the 99 that one effect may move."

    def resolved(self, tool: Tool, state: IntentState = IntentState.ARMED) -> tuple[Progress, Move]:
        return begin(CALL, Resolve(tool, intent(tool, state, sealed_at=T0), "cut off", self.BARRED), Caps(), T0)

    @pytest.mark.parametrize("tool", [KEYED, ONCE, BLIND])
    def test_is_looked_up_or_asked_about_and_not_sent(self, tool: Tool) -> None:
        _, move = self.resolved(tool)
        assert isinstance(move, LookUp if tool.find is not None else Ask)

    @pytest.mark.parametrize("tool", [KEYED, ONCE])
    def test_found_is_done(self, tool: Tool) -> None:
        progress, move = go(self.resolved(tool)[0], LookedUp(Done({"id": "x"}, "x"), T0 + 1))
        assert isinstance(move, Settled) and progress.row.state is IntentState.DONE

    def test_not_found_is_not_sent_again(self) -> None:
        progress, move = self.resolved(KEYED)
        at = T0 + KEYED.send_deadline_s + KEYED.settle_s + 1
        progress, move = go(progress, LookedUp(NotFound("none"), at))
        assert move == Settled(self.BARRED) and progress.row.state is IntentState.NOT_SENT

    def test_a_person_who_says_that_it_did_not_happen_does_not_send_it(self) -> None:
        progress, _ = self.resolved(BLIND)
        ruling = Ruling(key="key", choice=Choice.DID_NOT_HAPPEN, who="ann", at=T0 + 9)
        progress, move = go(progress, ruling)
        assert move == Settled(self.BARRED) and progress.row.state is IntentState.NOT_SENT

    def test_what_had_not_left_gives_its_part_back(self) -> None:
        progress, move = begin(CALL, Beyond(self.BARRED, KEYED, intent(KEYED, IntentState.WAITING)), Caps(), T0)
        assert move == Settled(self.BARRED) and progress.row.state is IntentState.NOT_SENT
