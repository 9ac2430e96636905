"""How often a failed request to the model is made again, and after which wait."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.answer import Action, ModelFailed
from services.patience import Fail, Retry, plan
from services.provider import Provider
from services.reason import Reason


def failed(action: Action = Action.RETRY, reason: Reason = Reason.MODEL_UNAVAILABLE, **more: Any) -> ModelFailed:
    return ModelFailed(action, reason, more.pop("detail", "no answer"), **more)


def requests(provider: Provider, *outcomes: ModelFailed) -> tuple[int, list[float], Fail]:
    """How many requests are made where each fails like this (the last one for ever), the waits, and the end."""
    earlier: list[ModelFailed] = []
    waits: list[float] = []
    while len(earlier) < 100:
        now = outcomes[min(len(earlier), len(outcomes) - 1)]
        what = plan(earlier, now, provider)
        earlier.append(now)
        if isinstance(what, Fail):
            return len(earlier), waits, what
        waits.append(what.wait_s)
    raise AssertionError("it went on for ever")


@pytest.mark.parametrize("configured, made", [(0, 1), (1, 1), (2, 2), (3, 3), (10, 10)])
@pytest.mark.parametrize("action", [Action.RETRY, Action.WAIT])
def test_attempts_configured_are_requests_made(configured: int, made: int, action: Action) -> None:
    count, _, end = requests(Provider(attempts=configured), failed(action))
    assert count == made
    assert end == Fail(Reason.MODEL_UNAVAILABLE, f"after {made} requests: no answer")


def test_what_cannot_succeed_is_asked_once() -> None:
    assert requests(Provider(), failed(Action.FAIL, Reason.UNAUTHORISED))[0] == 1


def test_our_own_wait_doubles_up_to_the_longest() -> None:
    _, waits, _ = requests(Provider(attempts=8, backoff_s=0.5, backoff_max_s=5), failed())
    assert waits == [0.5, 1, 2, 4, 5, 5, 5]


def test_a_wait_that_is_named_is_kept_to_exactly() -> None:
    assert plan([], failed(Action.WAIT, retry_after_s=7200), Provider(), 0.9) == Retry(7200)
    assert plan([], failed(Action.RETRY, retry_after_s=30), Provider(), 0.9) == Retry(30)
    assert plan([], failed(Action.WAIT, retry_after_s=0.25), Provider()) == Retry(0.25)


def test_waits_keep_to_one_budget() -> None:
    provider = Provider(attempts=10, wait_budget_s=100)
    count, waits, end = requests(provider, failed(Action.WAIT, Reason.RATE_LIMITED, retry_after_s=40))
    assert (count, waits, end.reason) == (3, [40, 40], Reason.RATE_LIMITED)
    assert "40 s, 20 s are left" in end.detail
    count, _, end = requests(provider, failed(Action.WAIT, retry_after_s=101))
    assert (count, end.reason) == (1, Reason.RATE_LIMITED)


def test_too_long_is_trimmed_once_and_tried_once() -> None:
    overflow = failed(Action.TRIM, Reason.CONTEXT_TOO_LONG, history_bytes=10_000)
    assert plan([], overflow, Provider(attempts=1)) == Retry(0, trim_to_bytes=5_000)
    assert requests(Provider(), overflow)[::2] == (
        2,
        Fail(Reason.CONTEXT_TOO_LONG, "also after it was shortened: no answer"),
    )


@pytest.mark.parametrize(
    "words, bytes_left",
    [
        ("maximum context length is 8192 tokens, your messages have 10,000", 5_000),
        (
            "This model's maximum context length is 10000 tokens. However, your messages resulted in 40000 tokens.",
            2_000,
        ),
        ("status 400, too long", 5_000),
        ("at most 128000", 5_000),
    ],
)
def test_the_sizes_that_a_server_names_are_used(words: str, bytes_left: int) -> None:
    overflow = failed(Action.TRIM, Reason.CONTEXT_TOO_LONG, detail=words, history_bytes=10_000)
    assert plan([], overflow, Provider()) == Retry(0, trim_to_bytes=bytes_left)


def test_a_trimmed_request_is_not_counted_among_the_attempts() -> None:
    overflow = failed(Action.TRIM, Reason.CONTEXT_TOO_LONG, history_bytes=10)
    assert requests(Provider(attempts=3), failed(), overflow, failed())[0] == 4


@given(st.floats(allow_nan=False), st.integers(0, 30))
def test_jitter_shortens_our_own_wait_by_at_most_half(jitter: float, number: int) -> None:
    provider = Provider(attempts=100, backoff_s=1, backoff_max_s=30)
    whole = plan([failed()] * number, failed(), provider)
    drawn = plan([failed()] * number, failed(), provider, jitter)
    assert isinstance(whole, Retry)
    assert isinstance(drawn, Retry)
    assert whole.wait_s / 2 <= drawn.wait_s <= whole.wait_s <= 30


FAILURES = st.builds(
    lambda action, wait: failed(action, retry_after_s=wait, history_bytes=100),
    st.sampled_from([Action.RETRY, Action.WAIT, Action.TRIM, Action.FAIL]),
    st.none() | st.floats(-10, 10_000),
)


@given(st.lists(FAILURES, min_size=1, max_size=20), st.integers(0, 8), st.integers(0, 20_000))
def test_every_series_of_failures_ends(outcomes: list[ModelFailed], attempts: int, budget_s: int) -> None:
    """I3: attempts and one trimmed request at most, and never more waiting than the budget."""
    count, waits, _ = requests(Provider(attempts=attempts, wait_budget_s=budget_s), *outcomes)
    assert count <= max(1, attempts) + 1
    assert sum(waits) <= budget_s
