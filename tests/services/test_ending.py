"""What stays in a row whose outcome is final: what the model saw, and what an undo needs."""

from typing import Any
from uuid import UUID

import pytest

from services.ending import KEPT_VALUE_BYTES, kept_bytes, ledger_full, settle
from services.ledger import Go, Ledger, plan_undo
from services.messages import Intent, IntentState
from services.moves import Caps, Progress, Settled
from services.progress import advance
from services.send import LEFT_OUT, prepare
from tests.services.test_progress import CALL, KEYED, ONCE, T0, answered, intent, sealed, start
from tools.outcome import Done, Rejected
from tools.tool import Tool

LEDGER = Ledger(UUID("7f3c1b1e-0c57-4d0e-9d1e-0a9a5c1d2e3f"), 1)
ARGUMENTS: dict[str, Any] = {"customer_id": "cus_1", "amount_cents": 5, "currency": "EUR", "memo": ""}


def done(tool: Tool, value: Any, **caps: Any) -> tuple[Intent, str]:
    """The row of an effect that got this answer, and what the model is told."""
    progress, _ = advance(start(tool, **caps)[0].with_intent(state=IntentState.ARMED), sealed())
    progress, move = advance(progress, answered(Done(value, "ch_1")))
    assert isinstance(move, Settled) and progress.row.state is IntentState.DONE
    return progress.row.model_copy(update={"arguments": ARGUMENTS}), move.text


@pytest.mark.parametrize("tool", [KEYED, ONCE])
def test_the_row_keeps_the_text_that_the_model_is_told(tool: Tool) -> None:
    row, told = done(tool, {"id": "ch_1", "lines": ["an item"] * 2_000}, result_bytes=300)
    assert row.result == told
    assert len(told.encode()) <= 300 and "cut here" in told


def test_a_rejection_and_a_read_are_told_within_the_limit_too() -> None:
    progress = Progress(CALL, KEYED, intent(KEYED), Caps(result_bytes=300))
    progress, _ = advance(progress, answered(Rejected("x" * 2_000)))
    assert progress.row.result is not None and len(progress.row.result.encode()) <= 300
    _, move = settle(Progress(CALL, None, None, Caps(result_bytes=300)), "x" * 2_000, T0)
    assert isinstance(move, Settled) and len(move.text.encode()) <= 300


def test_an_answer_is_kept_for_an_undo_and_where_there_is_none_it_is_not() -> None:
    value = {"id": "ch_1", "text": "x" * 10_000}
    row, _ = done(KEYED, value)
    assert (row.value, row.value_left_out) == (value, False)
    row, _ = done(ONCE, value)
    assert (row.value, row.value_left_out) == (None, True)


def test_what_an_undo_answers_is_not_kept_once_more() -> None:
    back = intent(KEYED, IntentState.ARMED, undoes="other", value={"id": "ch_1"})
    progress, _ = advance(Progress(CALL, KEYED, back, Caps()), answered(Done({"id": "re_1"}, "re_1")))
    assert progress.row.state is IntentState.DONE and progress.row.value is None
    assert progress.row.receiver_id == "re_1"


@pytest.mark.parametrize("size_bytes", [KEPT_VALUE_BYTES - 100, KEPT_VALUE_BYTES])
def test_an_undo_whose_answer_was_too_large_to_keep_is_not_made_and_says_so(size_bytes: int) -> None:
    row, _ = done(KEYED, {"id": "ch_1", "text": "x" * size_bytes})
    made = plan_undo(LEDGER.put(row), row, KEYED)
    assert isinstance(made, Go)
    prepared = prepare(KEYED, made.intent)
    if size_bytes < KEPT_VALUE_BYTES:
        assert prepared.failed is None and prepared.request is not None and '"payment_id":"ch_1"' in str(prepared)
    else:
        assert (row.value, row.value_left_out) == (None, True)
        assert (prepared.request, prepared.failed) == (None, LEFT_OUT)


def test_a_ledger_is_full_by_what_its_rows_take() -> None:
    small = intent(KEYED, IntentState.DONE, result="x" * 1000).model_copy(update={"size_bytes": 3000})
    assert kept_bytes(small) == 3 * 3000 + 1000
    assert kept_bytes(small.model_copy(update={"result": "é" * 1000})) == 3 * 3000 + 2000
    assert kept_bytes(small.model_copy(update={"value": {"id": "x"}})) > kept_bytes(small) + 16_000
    assert ledger_full([small] * 2_000) is None
    assert "20 MB" in str(ledger_full([small] * 2_001))
