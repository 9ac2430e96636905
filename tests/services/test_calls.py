"""What becomes of a call: the table in `services.calls`, row by row."""

import pytest

from services import calls as calls_module
from services.loop import CallTools, decide
from services.transcript import Cut
from tests.services.cases import CHARGE, Case, case, rows, tools
from tests.services.replies import LIMITS, MAIL, PROVIDER, TOOLSET, call, reply, said

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


@pytest.mark.parametrize("example", CALL_CASES, ids=lambda example: example.row)
def test_a_call_becomes_what_its_row_says(example: Case) -> None:
    decision = decide(said(*example.replies), TOOLSET, example.limits, PROVIDER)
    assert example.expected(decision), decision


def test_each_row_of_the_table_has_an_example_and_each_example_a_row() -> None:
    assert rows(calls_module) == list(dict.fromkeys(example.row for example in CALL_CASES))


def test_a_broken_call_is_answered_with_a_short_preview_and_its_siblings_run() -> None:
    """The answer's size is bounded, whatever the size of what was broken."""
    broken = '{"body": "' + 60_000 * "x" + '"'
    decision = decide(said(reply(None, call("send_email", broken), call("look_up_order"))), TOOLSET, LIMITS, PROVIDER)
    assert isinstance(decision, CallTools)
    first, second = decision.calls
    assert first.problem is not None
    assert first.problem.startswith("send_email: not run: the arguments are not JSON (")
    assert len(first.problem) < 700
    assert (second.arguments, second.problem) == ({"order_id": "5"}, None)


def test_text_that_is_poison_reaches_the_tool_clean() -> None:
    """A lone surrogate and NUL inside arguments become U+FFFD before anything is stored."""
    poisoned = r'{"query": "5\ud83d\u0000x"}'
    decision = decide(said(reply(None, call("search", poisoned))), TOOLSET, LIMITS, PROVIDER)
    assert isinstance(decision, CallTools)
    assert decision.calls[0].arguments == {"query": "5\ufffd\ufffdx", "limit": 10}


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e400", str(2**80), "9" * 5_000])
def test_a_number_that_json_has_not_is_refused_where_an_amount_is_due(number: str) -> None:
    arguments = f'{{"customer_id": "cus_1", "amount_cents": {number}}}'
    decision = decide(said(reply(None, call("charge_card", arguments))), TOOLSET, LIMITS, PROVIDER)
    assert tools("amount_cents")(decision), decision


def test_ids_and_places_name_the_calls() -> None:
    """Two calls with one id stay two calls; the place is what tells them apart."""
    pay = call("charge_card", CHARGE)
    decision = decide(
        said(reply(None, pay), reply(None, pay, pay, call("charge_card", CHARGE, ""))), TOOLSET, LIMITS, PROVIDER
    )
    assert isinstance(decision, CallTools)
    assert [(each.turn, each.index) for each in decision.calls] == [(2, 0), (2, 1), (2, 2)]
    assert [each.id for each in decision.calls] == ["t0002c000", "t0002c001", "t0002c002"]
