"""The limits of a run, counted from its entries."""

from typing import Any

import pytest

from services.limits import Limits, allowed, left, reached, used
from services.loop import AskMore, CallModel, GiveUp, Limit, Reason, decide
from services.messages import Used
from services.provider import Provider
from services.transcript import Answered, Extended, Told, Transcript, Usage, Waited
from tests.services.replies import LIMITS, ORDER, PROVIDER, TOOLSET, call, reply, said

PRICED = Provider(price_in=250, price_out=1_000)


def three_turns() -> Transcript:
    """Three turns with two calls each, one hundred seconds apart, all answered."""
    transcript = Transcript((Told("do it", at=1_000.0),))
    for turn in range(1, 4):
        calls = (call("look_up_order", ORDER), call("search", "{}"))
        usage = Usage(tokens_in=10_000, tokens_out=1_000)
        transcript = transcript.add(reply(None, *calls, turn=turn, at=1_000.0 + turn * 100, usage=usage))
        transcript = transcript.add(Answered(turn, ("a", "b"), at=1_000.0 + turn * 100 + 50))
    return transcript


def limited(**limits: Any) -> Limits:
    return LIMITS.model_copy(update=limits)


def test_what_was_used_is_counted_from_the_entries() -> None:
    assert used(three_turns(), PRICED) == Used(turns=3, calls=6, tokens=33_000, cost_cents=10.5)
    assert three_turns().tally.wall_s == 350


def test_a_transcript_that_is_built_again_counts_the_same() -> None:
    """A crash resets no count."""
    again = Transcript(tuple(three_turns().entries))
    assert used(again, PRICED) == used(three_turns(), PRICED)


@pytest.mark.parametrize(
    "limits, limit, reason, amount",
    [
        ({"turns": 3}, Limit.TURNS, Reason.MAX_TURNS, 3),
        ({"tokens": 33_000}, Limit.TOKENS, Reason.MAX_TOKENS, 33_000),
        ({"cost_cents": 10.5}, Limit.COST, Reason.MAX_COST, 10.5),
        ({"wall_s": 350.0}, Limit.WALL, Reason.MAX_WALL, 350),
    ],
)
def test_a_limit_that_is_reached_ends_the_run_or_asks(
    limits: dict[str, Any], limit: Limit, reason: Reason, amount: float
) -> None:
    decision = decide(three_turns(), TOOLSET, limited(**limits), PRICED)
    assert isinstance(decision, GiveUp)
    assert decision.reason is reason
    asked = decide(three_turns(), TOOLSET, limited(**limits, on_limit="ask"), PRICED)
    assert asked == AskMore(limit, amount, amount)


@pytest.mark.parametrize("limit, before", [(Limit.TURNS, {"turns": 3}), (Limit.TOKENS, {"tokens": 30_000})])
def test_a_run_goes_on_after_a_person_allowed_more(limit: Limit, before: dict[str, Any]) -> None:
    limits = limited(**before, on_limit="ask")
    little = three_turns().add(Extended(limit, 1_000_000))
    assert decide(little, TOOLSET, limits, PRICED) == CallModel(4)
    assert isinstance(decide(three_turns().add(Extended(limit, 0)), TOOLSET, limits, PRICED), AskMore)
    assert isinstance(decide(three_turns().add(Extended(limit, -5)), TOOLSET, limits, PRICED), AskMore)


def test_calls_are_refused_when_they_are_wanted_and_not_before() -> None:
    assert decide(three_turns(), TOOLSET, limited(calls=6), PRICED) == CallModel(4)
    wanting = three_turns().add(reply(None, call("look_up_order"), turn=4))
    assert isinstance(decide(wanting, TOOLSET, limited(calls=6), PRICED), GiveUp)
    answering = three_turns().add(reply("done", turn=4))
    assert not isinstance(decide(answering, TOOLSET, limited(calls=6), PRICED), GiveUp)


def test_an_answer_is_taken_even_where_a_limit_is_reached_with_it() -> None:
    done = said(reply("done", usage=Usage(900_000, 200_000)))
    assert not isinstance(decide(done, TOOLSET, LIMITS, PROVIDER), GiveUp)


def test_waits_for_people_are_not_the_runs_own_time() -> None:
    late = three_turns().add(Waited(90_000), Told("go on", at=1_350.0 + 90_000))
    assert late.tally.wall_s == 350
    assert decide(late, TOOLSET, limited(wall_s=400), PRICED) == CallModel(4)


def test_a_session_counts_its_own_run_only() -> None:
    entries = (Told("next"),)
    assert used(Transcript(entries, earlier=three_turns().entries), PRICED) == Used()


def test_what_is_left_is_shown_by_name_and_never_negative() -> None:
    shown = left(three_turns(), limited(turns=50, calls=5, cost_cents=20), PRICED)
    assert shown == {"turns": 47, "calls": 0, "tokens": 1_967_000, "wall_s": 21_250, "cost_cents": 9.5}
    assert "cost_cents" not in left(three_turns(), LIMITS, PRICED)


def test_extensions_add_up() -> None:
    transcript = three_turns().add(Extended(Limit.TURNS, 2), Extended(Limit.TURNS, 3), Extended(Limit.COST, 9))
    assert allowed(transcript, limited(turns=5))[Limit.TURNS] == 10
    assert Limit.COST not in allowed(transcript, limited(turns=5))
    assert reached(transcript, limited(turns=5), PRICED) is None
