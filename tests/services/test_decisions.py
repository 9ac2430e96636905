"""Replies and decisions: the tables in `services.loop` and `services.calls`, row by row."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import pytest

from services import calls as calls_module
from services import loop as loop_module
from services.limits import Limits
from services.loop import AskMore, CallModel, CallTools, Decision, Finish, GiveUp, Limit, Reason, Refuse, decide
from services.transcript import Cut, Replied, Transcript
from tests.services.replies import LIMITS, MAIL, ORDER, PROVIDER, TOOLSET, call, reply, said

PARSES = '{"amount_cents":10}'
CHARGE = {"customer_id": "cus_1", "amount_cents": 10}
EMPTY = reply("")
CUT_OFF = reply("half an ans", finish="length", cut=Cut.YES)


def finish(answer: str) -> Callable[[Decision], bool]:
    return lambda decision: decision == Finish(answer)


def refuse(words: str) -> Callable[[Decision], bool]:
    return lambda decision: isinstance(decision, Refuse) and words in decision.text


def give_up(reason: Reason) -> Callable[[Decision], bool]:
    return lambda decision: isinstance(decision, GiveUp) and decision.reason is reason


def again(turn: int) -> Callable[[Decision], bool]:
    return lambda decision: decision == CallModel(turn)


def tools(*problems: str | None) -> Callable[[Decision], bool]:
    """CallTools with these problems, in order; a text must occur in the problem, None means that the call is run."""

    def fits(decision: Decision) -> bool:
        return (
            isinstance(decision, CallTools)
            and len(decision.calls) == len(problems)
            and all(
                (each.problem is None and each.arguments is not None)
                if words is None
                else (each.arguments is None and words in str(each.problem))
                for each, words in zip(decision.calls, problems, strict=True)
            )
        )

    return fits


@dataclass(frozen=True)
class Case:
    """One example of a row: these replies, then this decision about the last of them."""

    row: str
    replies: tuple[Replied, ...]
    expected: Callable[[Decision], bool]
    limits: Limits = LIMITS


def case(row: str, replies: Replied | tuple[Replied, ...], expected: Callable[[Decision], bool], **limits: Any) -> Case:
    many = replies if isinstance(replies, tuple) else (replies,)
    return Case(row, many, expected, LIMITS.model_copy(update=limits))


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

IN_CUT = "in a reply that was cut off"
BEYOND = "beyond the calls that one reply may make"
NO_TOOL = "no such name: empty, other case, removed"
LARGE = "arguments larger than allowed"
NOT_JSON = "arguments that are no JSON"
NO_OBJECT = "arguments that are JSON but no object"
ABSENT = "arguments absent, null, empty or white space"
REFUSED = "arguments that the tool refuses"
MAYBE_CHANGES = "maybe cut off, and the tool changes something"
MAYBE_READS = "maybe cut off, and the tool only reads"
SAME = "the same as another of the turn"

CALL_CASES = [
    case(IN_CUT, reply(None, call("look_up_order"), cut=Cut.YES), tools("Issue the call again, shorter")),
    case(BEYOND, reply(None, *[call("look_up_order")] * 3), tools(None, None, "may make 2 calls"), calls_per_turn=2),
    case(NO_TOOL, reply(None, call("get_date", {}), call("look_up_order")), tools("no such tool; available: ", None)),
    case(NO_TOOL, reply(None, call("", {})), tools("available: charge_card, list_invoices, look_up_order")),
    case(NO_TOOL, reply(None, call("Look_Up_Order")), tools("Look_Up_Order: no such tool")),
    case(NO_TOOL, reply(None, call(None), call(["x"])), tools("no such tool", "no such tool")),
    case(NO_TOOL, reply(None, call(" look_up_order")), tools("no such tool")),
    case(
        LARGE, reply(None, call("send_email", {**MAIL, "body": 100_000 * "x"})), tools("larger than the 64,000 bytes")
    ),
    case(
        NOT_JSON, reply(None, call("send_email", '{"to":"a","body":"hi"')), tools("not JSON (Expecting ',' delimiter")
    ),
    case(NOT_JSON, reply(None, call("send_email", "to: a")), tools("to: a")),
    case(NOT_JSON, reply(None, call("search", '{"query": NULL}')), tools("not JSON")),
    case(NOT_JSON, reply(None, call("search", "{'query': 'x'}")), tools("not JSON")),
    case(NOT_JSON, reply(None, call("search", '{"limit": 1}{"limit": 2}')), tools("Extra data")),
    case(
        NOT_JSON,
        reply(None, call("search", "[" * 100_000), call("search", {})),
        tools("not run", None),
        arguments_bytes=10**6,
    ),
    case(NO_OBJECT, reply(None, call("send_email", "null")), tools("not a JSON object but null")),
    case(NO_OBJECT, reply(None, call("search", "null")), tools("not a JSON object but null")),
    case(NO_OBJECT, reply(None, call("send_email", "[]")), tools("not a JSON object but a list")),
    case(NO_OBJECT, reply(None, call("send_email", '"x"')), tools("not a JSON object but a text")),
    case(NO_OBJECT, reply(None, call("send_email", "5")), tools("not a JSON object but a number")),
    case(NO_OBJECT, reply(None, call("send_email", "true")), tools("but true or false")),
    case(NO_OBJECT, reply(None, call("send_email", [1])), tools("but a list")),
    case(ABSENT, reply(None, call("list_invoices", "")), tools(None)),
    case(ABSENT, reply(None, call("list_invoices", "  ")), tools(None)),
    case(ABSENT, reply(None, call("list_invoices", None)), tools(None)),
    case(ABSENT, reply(None, call("list_invoices", ...)), tools(None)),
    case(ABSENT, reply(None, call("list_invoices", "null")), tools(None)),
    case(ABSENT, reply(None, call("list_invoices", {})), tools(None)),
    case(ABSENT, reply(None, call("search", "")), tools(None)),
    case(ABSENT, reply(None, call("send_email", "")), tools("subject")),
    case(REFUSED, reply(None, call("send_email", {"to": "a"})), tools("body")),
    case(REFUSED, reply(None, call("charge_card", {**CHARGE, "amount_cents": "10"})), tools("amount_cents")),
    case(REFUSED, reply(None, call("charge_card", {**CHARGE, "tip": 1})), tools("tip")),
    case(MAYBE_CHANGES, reply(None, call("charge_card", CHARGE), cut=Cut.MAYBE), tools("shorter")),
    case(MAYBE_READS, reply(None, call("look_up_order"), cut=Cut.MAYBE), tools(None)),
    case(SAME, reply(None, call("charge_card", CHARGE), call("charge_card", CHARGE)), tools(None, None)),
]


def rows(module: ModuleType) -> list[str]:
    """The first column of the table in a module's docstring."""
    lines = re.findall(r"^\| (.+?) +\| .+\|$", module.__doc__ or "", re.MULTILINE)
    return [line for line in lines[1:] if not line.startswith("---")]


@pytest.mark.parametrize("example", LOOP_CASES, ids=lambda example: example.row)
def test_a_reply_leads_to_the_decision_of_its_row(example: Case) -> None:
    """B01, B02, B04, B05, B08, B10, B11, B14."""
    transcript = said(*example.replies)
    decision = decide(transcript, TOOLSET, example.limits, PROVIDER)
    assert example.expected(decision), decision


@pytest.mark.parametrize("example", CALL_CASES, ids=lambda example: example.row)
def test_a_call_becomes_what_its_row_says(example: Case) -> None:
    """B01, B02, B04, B05."""
    decision = decide(said(*example.replies), TOOLSET, example.limits, PROVIDER)
    assert example.expected(decision), decision


@pytest.mark.parametrize("module, cases", [(loop_module, LOOP_CASES), (calls_module, CALL_CASES)])
def test_each_row_of_the_table_has_an_example_and_each_example_a_row(module: ModuleType, cases: list[Case]) -> None:
    assert rows(module) == list(dict.fromkeys(example.row for example in cases))


@pytest.mark.parametrize("example", LOOP_CASES + CALL_CASES, ids=lambda example: example.row)
def test_the_same_transcript_gives_the_same_decision(example: Case) -> None:
    first, second = said(*example.replies), said(*example.replies)
    assert decide(first, TOOLSET, example.limits, PROVIDER) == decide(second, TOOLSET, example.limits, PROVIDER)


def test_a_run_begins_with_a_question_to_the_model() -> None:
    assert decide(Transcript(), TOOLSET, LIMITS, PROVIDER) == CallModel(1)
    assert decide(said(), TOOLSET, LIMITS, PROVIDER) == CallModel(1)


def test_a_broken_call_is_answered_with_a_short_preview_and_its_siblings_run() -> None:
    """B01: one answer of bounded size, whatever the size of what was broken."""
    broken = '{"body": "' + 60_000 * "x" + '"'
    decision = decide(said(reply(None, call("send_email", broken), call("look_up_order"))), TOOLSET, LIMITS, PROVIDER)
    assert isinstance(decision, CallTools)
    first, second = decision.calls
    assert first.problem is not None
    assert first.problem.startswith("send_email: not run: the arguments are not JSON (")
    assert len(first.problem) < 700
    assert (second.arguments, second.problem) == ({"order_id": "5"}, None)


def test_malformed_is_not_reported_as_cut_off() -> None:
    """B05: three replies that lack a bracket are invalid output, not truncated output."""
    broken = reply(None, call("send_email", '{"to":"a@example.test","body":"hi"'))
    assert give_up(Reason.MODEL_OUTPUT_INVALID)(decide(said(broken, broken, broken), TOOLSET, LIMITS, PROVIDER))


def test_unknown_names_are_bounded_by_the_turns_and_not_bad() -> None:
    """B04."""
    unknown = reply(None, call("get_date", {}))
    limits = LIMITS.model_copy(update={"turns": 5})
    assert tools("no such tool")(decide(said(*[unknown] * 5), TOOLSET, limits, PROVIDER))


def test_text_that_is_poison_reaches_the_tool_clean() -> None:
    """B52: a lone surrogate and NUL inside arguments become U+FFFD before anything is stored."""
    poisoned = r'{"query": "5\ud83d\u0000x"}'
    decision = decide(said(reply(None, call("search", poisoned))), TOOLSET, LIMITS, PROVIDER)
    assert isinstance(decision, CallTools)
    assert decision.calls[0].arguments == {"query": "5\ufffd\ufffdx", "limit": 10}


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e400", str(2**80), "9" * 5_000])
def test_a_number_that_json_has_not_is_refused_where_an_amount_is_due(number: str) -> None:
    """B52."""
    arguments = f'{{"customer_id": "cus_1", "amount_cents": {number}}}'
    decision = decide(said(reply(None, call("charge_card", arguments))), TOOLSET, LIMITS, PROVIDER)
    assert tools("amount_cents")(decision), decision


def test_ids_and_places_name_the_calls() -> None:
    """B06: two calls with one id stay two calls; the place is what tells them apart."""
    pay = call("charge_card", CHARGE)
    decision = decide(
        said(reply(None, pay), reply(None, pay, pay, call("charge_card", CHARGE, ""))), TOOLSET, LIMITS, PROVIDER
    )
    assert isinstance(decision, CallTools)
    assert [(each.turn, each.index) for each in decision.calls] == [(2, 0), (2, 1), (2, 2)]
    assert [each.id for each in decision.calls] == ["t0002c000", "t0002c001", "t0002c002"]
