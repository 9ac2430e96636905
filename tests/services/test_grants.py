"""What a run may do: the operator's grant and the request's, and names that no tool has."""

from typing import Any

import pytest
from restate import TerminalError

from services.agent import known_already
from services.app import outside
from services.busy import Busy
from services.grants import closed, misnamed, narrowed
from services.messages import Grant, RunRequest
from services.settings import Settings
from services.terms import Terms, terms_of

TOOLS = ("charge_card", "send_sms")
BIG = "b" * 64
THERE = "there are charge_card, send_sms"


@pytest.mark.parametrize(
    ("operator", "asked", "left"),
    [
        ({"each_cents": 9, "total_cents": 9}, {"approve_above_cents": {"a": 1}}, {"each_cents": 9, "total_cents": 9}),
        ({"each_cents": 9}, {"each_cents": 5, "total_cents": 7}, {"each_cents": 5, "total_cents": 7}),
        (
            {"each_cents": 9, "total_cents": 0},
            {"each_cents": 50, "total_cents": 50},
            {"each_cents": 9, "total_cents": 0},
        ),
        ({"tools": ("a", "b")}, {}, {"tools": ("a", "b")}),
        ({}, {"tools": ("b", "c")}, {"tools": ("b", "c")}),
        ({"tools": ("a", "b")}, {"tools": ("b", "c")}, {"tools": ("b",)}),
        ({"tools": ("a",)}, {"tools": ("c",)}, {"tools": ()}),
        ({"tools": ()}, {"tools": ("c",)}, {"tools": ()}),
        ({"currency": "EUR"}, {}, {"currency": "EUR"}),
        ({"currency": "EUR"}, {"currency": "EUR", "each_cents": 5}, {"currency": "EUR", "each_cents": 5}),
        ({}, {"currency": "USD"}, {"currency": "USD"}),
        ({"currency": "EUR"}, {"currency": "USD"}, {"currency": "EUR", "each_cents": 0, "total_cents": 0}),
        ({"currency": "EUR"}, {"currency": ""}, {"currency": "EUR", "each_cents": 0, "total_cents": 0}),
    ],
)
def test_a_request_takes_away_field_by_field_and_adds_nothing(
    operator: dict[str, object], asked: dict[str, object], left: dict[str, object]
) -> None:
    got = narrowed(Grant.model_validate(operator), Grant.model_validate(asked))
    assert got.model_copy(update={"approve_above_cents": {}}) == Grant.model_validate(left)


def test_of_two_bounds_on_one_tool_the_lower_counts_and_the_others_stay() -> None:
    bounds = narrowed(
        Grant(approve_above_cents={"a": 5, "b": -1}), Grant(approve_above_cents={"a": 9, "b": 0, "c": 3})
    ).approve_above_cents
    assert bounds == {"a": 5, "b": -1, "c": 3}


def terms(request: RunRequest, **settings: object) -> Terms:
    return terms_of(outside(Settings.model_validate(settings), Busy()), request)


def test_a_run_begins_with_what_is_set_narrowed_by_what_is_asked() -> None:
    set_to = {"grant_each_cents": 900, "grant_currency": "EUR", "grant_tools": ("charge_card", "send_sms")}
    assert terms(RunRequest(task="x"), **set_to).grant == Grant(
        each_cents=900, currency="EUR", tools=("charge_card", "send_sms")
    )
    asked = RunRequest(task="x", grant=Grant(approve_above_cents={"charge_card": 5}, each_cents=9_000))
    assert terms(asked, **set_to).grant == Grant(
        each_cents=900,
        currency="EUR",
        tools=("charge_card", "send_sms"),
        approve_above_cents={"charge_card": 5},
    )


@pytest.mark.parametrize(
    ("grant", "says"),
    [
        (None, ""),
        (Grant(tools=("send_sms",), approve_above_cents={"charge_card": 1}), ""),
        (
            Grant(tools=("send_sms", "nope")),
            f"grant.tools: there is no tool 'nope'; {THERE}",
        ),
        (
            Grant(approve_above_cents={"chargecard": 1}),
            f"grant.approve_above_cents: there is no tool 'chargecard'; {THERE}",
        ),
        (
            Grant(tools=("a",), approve_above_cents={BIG + "more": 1}),
            f"grant.tools: there is no tool 'a'; {THERE}; grant.approve_above_cents: there is no tool {BIG!r}; {THERE}",
        ),
    ],
)
def test_a_name_that_no_tool_has_is_said_with_its_field_and_those_that_there_are(
    grant: Grant | None, says: str
) -> None:
    assert misnamed(grant, TOOLS) == says


def test_the_terms_hold_what_was_misnamed_when_the_run_began_and_those_of_before_hold_nothing() -> None:
    assert "no tool 'nope'" in terms(RunRequest(task="x", grant=Grant(tools=("nope",)))).misnamed
    kept = terms(RunRequest(task="x")).model_dump(mode="json", exclude={"misnamed"})
    assert Terms.model_validate(kept).misnamed == ""


def test_a_bound_on_a_tool_that_is_gone_holds_for_those_that_have_none() -> None:
    """In a further pass after a new version the tool may have another name."""
    bounds = closed(Grant(approve_above_cents={"gone": 5, "send_sms": 9}), TOOLS).approve_above_cents
    assert (bounds["charge_card"], bounds["send_sms"]) == (5, 9)
    whole = Grant(approve_above_cents={"send_sms": 9})
    assert closed(whole, TOOLS) == whole


class Replayed:
    """What `submit` asks of a new run's context, in a replay: its check of the names came to this."""

    def __init__(self, recorded: str) -> None:
        self.recorded = recorded

    def key(self) -> str:
        return "r"

    async def get(self, *_: object, **__: object) -> None:
        return None

    async def run_typed(self, name: str, *_: object) -> str:
        assert name == "names"
        return self.recorded


async def test_a_submit_that_is_replayed_by_a_version_without_the_tool_comes_to_the_same_answer() -> None:
    now = outside(Settings(), Busy())
    lost = RunRequest(task="x", grant=Grant(tools=("was_there",)))
    there = RunRequest(task="x", grant=Grant(tools=("send_sms",)))
    accepted: Any = Replayed("")
    refused: Any = Replayed("grant.tools: there is no tool 'send_sms'; there are none")
    assert await known_already(accepted, lost, now) is None
    with pytest.raises(TerminalError, match=r"does not fit: .*no tool 'send_sms'") as caught:
        await known_already(refused, there, now)
    assert caught.value.status_code == 400
