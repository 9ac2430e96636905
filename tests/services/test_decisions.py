"""Replies and decisions: the table in `services.loop`, row by row."""

import pytest

from services import loop as loop_module
from services.loop import AskMore, CallModel, Finish, Limit, Reason, decide
from services.transcript import Cut, Replied, Transcript
from tests.services.cases import CHARGE, CUT_OFF, EMPTY, PARSES, Case, again, case, finish, give_up, refuse, rows, tools
from tests.services.replies import LIMITS, MAIL, ORDER, PROVIDER, TOOLSET, call, reply, said

REFUSAL = "`refusal` is set"
FILTER = "the provider's filter stopped it"
ALL_CUT = "the third bad one in a row, all of them cut off"
THIRD = "the third bad one in a row"
TOO_MANY = "more calls than the run has left"
CALLS_CUT = "calls, cut off"
CALLS_BAD = "calls, one of them no object, too large, maybe cut off"
CALLS = "other calls"
TEXT_CUT = "text, cut off"
ANNOUNCED = "text, but its finish reason announces calls"
TEXT = "other text"
NOTHING = "neither text nor calls, reasoning or not"

LOOP_CASES = [
    case(REFUSAL, reply(None, refusal="I cannot help with that"), refuse("I cannot help")),
    case(REFUSAL, reply("", refusal="No.", finish="stop"), refuse("No.")),
    case(REFUSAL, reply(None, call("send_email", MAIL), refusal="No."), refuse("No.")),
    case(REFUSAL, reply([{"type": "refusal", "refusal": "Never."}]), refuse("Never.")),
    case(REFUSAL, (EMPTY, EMPTY, reply(None, refusal="No.")), refuse("No.")),
    case(FILTER, reply("so far", finish="content_filter", filtered=True), refuse("so far")),
    case(FILTER, reply(None, finish="SAFETY", filtered=True), refuse("content filter")),
    case(FILTER, reply(None, call("send_email", MAIL), filtered=True), refuse("content filter")),
    case(ALL_CUT, (CUT_OFF, CUT_OFF, CUT_OFF), give_up(Reason.OUTPUT_TRUNCATED)),
    case(ALL_CUT, (CUT_OFF,), give_up(Reason.OUTPUT_TRUNCATED), bad_turns=1),
    case(
        ALL_CUT,
        tuple(reply(None, call("charge_card", '{"amount_cents": 1'), cut=Cut.YES) for _ in range(3)),
        give_up(Reason.OUTPUT_TRUNCATED),
    ),
    case(
        ALL_CUT,
        tuple(reply(None, call("charge_card", CHARGE), cut=Cut.MAYBE) for _ in range(3)),
        give_up(Reason.OUTPUT_TRUNCATED),
    ),
    case(THIRD, (EMPTY, EMPTY, EMPTY), give_up(Reason.MODEL_OUTPUT_INVALID)),
    case(THIRD, (CUT_OFF, EMPTY, CUT_OFF), give_up(Reason.MODEL_OUTPUT_INVALID)),
    case(
        THIRD,
        tuple(reply(None, call("send_email", '{"to":"a@example.test","body":"hi"')) for _ in range(3)),
        give_up(Reason.MODEL_OUTPUT_INVALID),
    ),
    case(
        THIRD,
        tuple(reply(None, call("send_email", "[]"), call("look_up_order", identifier="b")) for _ in range(3)),
        give_up(Reason.MODEL_OUTPUT_INVALID),
    ),
    case(THIRD, (EMPTY, EMPTY, reply(None, call("look_up_order")), EMPTY, EMPTY), again(6)),
    case(TOO_MANY, reply(None, *[call("look_up_order")] * 3), give_up(Reason.MAX_CALLS), calls=2),
    case(TOO_MANY, reply(None, *[call("look_up_order")] * 300), give_up(Reason.MAX_CALLS)),
    case(
        TOO_MANY,
        reply(None, *[call("look_up_order")] * 3),
        lambda decision: decision == AskMore(Limit.CALLS, 3, 2),
        calls=2,
        on_limit="ask",
    ),
    case(CALLS_CUT, reply(None, call("charge_card", '{"amount_cents": 1'), cut=Cut.YES), tools("cut off")),
    case(CALLS_CUT, reply(None, call("charge_card", '{"amount_cents": 1'), finish="tool_calls"), tools("cut off")),
    case(CALLS_CUT, reply(None, call("charge_card", PARSES), finish="length", cut=Cut.YES), tools("cut off")),
    case(CALLS_CUT, reply(None, call("charge_card", PARSES), finish="MAX_TOKENS", cut=Cut.YES), tools("cut off")),
    case(CALLS_CUT, reply(None, call("look_up_order"), call("search"), cut=Cut.YES), tools("cut off", "cut off")),
    case(CALLS_CUT, reply(None, call("look_up_order"), call("search", '{"q'), turn=1), tools("cut off", "cut off")),
    case(CALLS_BAD, reply(None, call("send_email", "5"), call("look_up_order")), tools("not a JSON object", None)),
    case(CALLS_BAD, reply(None, call("search", '{"q'), call("look_up_order")), tools("not JSON", None)),
    case(
        CALLS_BAD,
        reply(None, call("send_email", '{"to":"' + 2_000_000 * "x"), call("look_up_order")),
        tools("larger than the 64,000 bytes", None),
    ),
    case(
        CALLS_BAD,
        reply(None, call("look_up_order"), call("send_email", '{"to":"' + 2_000_000 * "x")),
        tools(None, "larger than the 64,000 bytes"),
    ),
    case(CALLS_BAD, reply(None, call("charge_card", CHARGE), cut=Cut.MAYBE), tools("may be cut off")),
    case(CALLS, reply(None, call("look_up_order")), tools(None)),
    case(CALLS, reply(None, *[call("look_up_order")] * 2), tools(None, None), calls=2),
    case(CALLS, reply("I look it up.", call("look_up_order")), tools(None)),
    case(CALLS, reply("", call("look_up_order"), finish="stop"), tools(None)),
    case(CALLS, Replied(1, {"function_call": {"name": "look_up_order", "arguments": ORDER}}), tools(None)),
    case(CALLS, reply(None, "not a call"), tools("no such tool")),
    case(CALLS, reply(None, {"type": "custom", "custom": {"name": "look_up_order"}}), tools("no such tool")),
    case(CALLS, reply(None, tool_calls={"function": {"name": "look_up_order", "arguments": ORDER}}), tools(None)),
    case(CALLS, (EMPTY, EMPTY, reply(None, call("look_up_order"))), tools(None)),
    case(TEXT_CUT, CUT_OFF, again(2)),
    case(ANNOUNCED, reply("I call it now", finish="tool_calls"), again(2)),
    case(ANNOUNCED, reply("I call it now", finish="function_call"), again(2)),
    case(TEXT, reply("done"), finish("done")),
    case(TEXT, reply("done", finish="end_turn"), finish("done")),
    case(TEXT, Replied(1, {"content": "done"}, None), finish("done")),
    case(TEXT, reply("done", cut=Cut.MAYBE), finish("done")),
    case(TEXT, reply([{"type": "text", "text": "do"}, {"type": "text", "text": "ne"}]), finish("done")),
    case(TEXT, reply("done", tool_calls=[]), finish("done")),
    case(TEXT, reply("done", tool_calls=None, function_call=None, refusal=None), finish("done")),
    case(TEXT, (EMPTY, EMPTY, reply("done")), finish("done")),
    case(TEXT, reply("x" * 70_000), lambda decision: isinstance(decision, Finish) and len(decision.answer) <= 64_000),
    case(NOTHING, EMPTY, again(2)),
    case(NOTHING, reply(None), again(2)),
    case(NOTHING, reply("  \n"), again(2)),
    case(NOTHING, reply(None, reasoning_content="thinking hard"), again(2)),
    case(NOTHING, reply(7), again(2)),
    case(NOTHING, Replied(1, {}), again(2)),
    case(NOTHING, reply([{"type": "image_url"}]), again(2)),
]


@pytest.mark.parametrize("example", LOOP_CASES, ids=lambda example: example.row)
def test_a_reply_leads_to_the_decision_of_its_row(example: Case) -> None:
    transcript = said(*example.replies)
    decision = decide(transcript, TOOLSET, example.limits, PROVIDER)
    assert example.expected(decision), decision


def test_each_row_of_the_table_has_an_example_and_each_example_a_row() -> None:
    assert rows(loop_module) == list(dict.fromkeys(example.row for example in LOOP_CASES))


@pytest.mark.parametrize("example", LOOP_CASES, ids=lambda example: example.row)
def test_the_same_transcript_gives_the_same_decision(example: Case) -> None:
    first, second = said(*example.replies), said(*example.replies)
    assert decide(first, TOOLSET, example.limits, PROVIDER) == decide(second, TOOLSET, example.limits, PROVIDER)


def test_a_run_begins_with_a_question_to_the_model() -> None:
    assert decide(Transcript(), TOOLSET, LIMITS, PROVIDER) == CallModel(1)
    assert decide(said(), TOOLSET, LIMITS, PROVIDER) == CallModel(1)


def test_malformed_is_not_reported_as_cut_off() -> None:
    """Three replies that lack a bracket are invalid output, not truncated output."""
    broken = reply(None, call("send_email", '{"to":"a@example.test","body":"hi"'))
    assert give_up(Reason.MODEL_OUTPUT_INVALID)(decide(said(broken, broken, broken), TOOLSET, LIMITS, PROVIDER))


def test_unknown_names_are_bounded_by_the_turns_and_not_bad() -> None:
    unknown = reply(None, call("get_date", {}))
    limits = LIMITS.model_copy(update={"turns": 5})
    assert tools("no such tool")(decide(said(*[unknown] * 5), TOOLSET, limits, PROVIDER))
