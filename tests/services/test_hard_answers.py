"""Answers that look final and are not, and answers that come where nobody expects them."""

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from pydantic import JsonValue

from services.ledger import AskFirst, Go, Ledger, Resolve, Say, plan
from services.messages import Choice, Grant, Intent, IntentState, Ruling
from services.moves import Ask, Caps, LookedUp, LookUp, Nudged, Seal, Send, Settled, Wait
from services.progress import advance, begin
from tests.services.test_progress import BLIND, CALL, KEYED, ONCE, READ, SET, T0, answered, go, sealed, start
from tools import TOOLS, registry
from tools.outcome import Doubt, InFlight, NotFound, NotSent, Pending, Rejected, Unknown
from tools.tool import Repeat, Tool

LOST = answered(Unknown("cut", Doubt.NO_ANSWER))
REUSED = answered(Unknown("the key came with another body", Doubt.KEY_REUSED))


def test_a_read_that_is_told_of_a_reused_key_is_answered_and_raises_no_alarm() -> None:
    progress, move = go(start(READ)[0], REUSED)
    assert isinstance(move, Settled) and progress.intent is None


def test_a_read_that_is_not_finished_is_read_again_and_then_given_up() -> None:
    progress, move = go(start(READ)[0], answered(Pending("not ready")))
    assert isinstance(move, Wait) and move.then == Send()
    for _ in range(READ.attempts):
        progress, move = go(progress, answered(Pending("not ready")))
    assert isinstance(move, Settled) and "not ready" in move.text


@pytest.mark.parametrize("tool", [SET, KEYED, ONCE, BLIND], ids=lambda tool: tool.name)
def test_a_reused_key_is_never_taken_for_an_effect_of_ours(tool: Tool) -> None:
    progress, move = go(start(tool)[0], sealed(), REUSED)
    assert isinstance(move, Ask) and progress.row.alarm
    _, nudged = advance(progress, Nudged(move.question))
    assert nudged == Ask(move.question)
    later = Resolve(tool, progress.row, "in an earlier pass")
    assert isinstance(begin(CALL, later, Caps(), T0)[1], Ask)


@pytest.mark.parametrize("status", [401, 403, 404, 405, 410, 413, 415])
@pytest.mark.parametrize("tool", [SET, KEYED], ids=lambda tool: tool.name)
def test_a_refusal_at_the_door_says_nothing_about_a_request_that_went_through_before(tool: Tool, status: int) -> None:
    progress, move = go(start(tool)[0], sealed(), LOST)
    assert isinstance(move, Wait)
    for _ in range(tool.attempts):
        progress, move = go(progress, answered(Rejected("no", status)))
        assert progress.row.state is not IntentState.REJECTED
    assert move == LookUp()


def test_a_refusal_at_the_door_is_believed_where_nothing_went_before() -> None:
    progress, move = go(start(KEYED)[0], sealed(), answered(Rejected("no", 401)))
    assert isinstance(move, Settled) and progress.row.state is IntentState.REJECTED


def test_a_refusal_by_the_business_is_believed_after_a_doubt_too() -> None:
    """The receiver answers a key that it has applied from its record, so a first refusal is one."""
    progress, move = go(start(KEYED)[0], sealed(), LOST, answered(Rejected("declined", 402)))
    assert isinstance(move, Settled) and progress.row.state is IntentState.REJECTED


def test_a_version_that_our_own_write_has_moved_on_is_no_refusal() -> None:
    blind = replace(SET, find=None)
    progress, move = go(start(blind)[0], sealed(), LOST)
    for _ in range(SET.attempts):
        progress, move = go(progress, answered(Rejected("it has changed", 412)))
    assert isinstance(move, Ask) and progress.row.state is IntentState.UNKNOWN


def test_a_write_is_never_repeated_after_its_send_deadline() -> None:
    """Somebody else may have written since."""
    late = T0 + 0.9 * SET.send_deadline_s
    progress, move = go(start(SET)[0], sealed(), answered(Unknown("cut"), late))
    assert move == LookUp()
    progress, move = go(start(SET)[0], sealed(), answered(Unknown("cut"), T0 + 0.5))
    for at in (1.0, 2.0, 3.0):
        progress, move = go(progress, answered(NotSent("refused"), T0 + at))
        assert not (isinstance(move, Wait) and isinstance(move.then, Seal))


def test_a_write_that_is_not_found_is_repeated_within_its_send_deadline() -> None:
    away = answered(NotSent("no such host", last=True), T0 + 1)
    progress, move = go(start(SET)[0], sealed(), answered(Unknown("cut"), T0), away)
    assert move == LookUp()
    progress, move = advance(progress, LookedUp(NotFound("no such record"), T0 + 2))
    assert isinstance(move, Wait) and move.then == Send()


def test_a_receiver_that_asks_for_no_wait_is_not_asked_without_end() -> None:
    progress, moves = go(start(KEYED)[0], sealed())[0], 0
    move: Any = None
    while not isinstance(move, Ask | LookUp):
        progress, move = go(progress, answered(InFlight("busy", retry_after_s=0.001)))
        moves += 1
        assert moves < 1000
    progress, moves = go(start(KEYED)[0], sealed())[0], 0
    while not isinstance(move, Ask):
        event = answered(Pending("busy", 0.001)) if moves == 0 else LookedUp(Pending("busy", 0.001), T0)
        progress, move = advance(progress, event)
        moves += 1
        assert moves < 1000


# The ledger

TOOLSET = registry(TOOLS)
BUY: dict[str, JsonValue] = {"customer_id": "cus_1", "amount_cents": 100, "currency": "EUR", "memo": ""}


def asked(ledger: Ledger) -> tuple[Ledger, Any]:
    return plan(ledger, replace(CALL, name=KEYED.name, arguments=dict(BUY)), TOOLSET, Grant(), {})


def test_a_second_purchase_that_nobody_approved_is_not_made_in_a_further_pass() -> None:
    assert KEYED.repeat is Repeat.ASK
    ledger, first = asked(Ledger(UUID(int=1), 1))
    assert isinstance(first, Go)
    ledger, second = asked(ledger.put(first.intent.model_copy(update={"state": IntentState.DONE, "result": "ok"})))
    assert isinstance(second, AskFirst)
    # The run is cancelled while the second waits for its approval.
    cancelled = second.intent.model_copy(update={"state": IntentState.NOT_SENT})
    further = Ledger(ledger.root, 2, ledger.put(cancelled).rows)
    further, once_more = asked(further)
    assert isinstance(once_more, Say)
    further, again = asked(further)
    assert isinstance(again, AskFirst) and again.intent.key == cancelled.key
    assert first.intent.key in again.because


def test_an_approved_second_purchase_that_could_not_leave_needs_no_second_approval() -> None:
    ledger, first = asked(Ledger(UUID(int=1), 1))
    ledger, second = asked(ledger.put(first.intent.model_copy(update={"state": IntentState.DONE, "result": "ok"})))
    ruling = Ruling(key=second.intent.key, choice=Choice.APPROVE, who="anna", at=T0)
    kept: Intent = second.intent.model_copy(update={"state": IntentState.NOT_SENT, "rulings": (ruling,)})
    _, again = asked(ledger.put(kept))
    assert isinstance(again, Go)
