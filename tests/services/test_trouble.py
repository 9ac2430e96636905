"""What counts as trouble, and what helps."""

import pytest

from services.trouble import (
    ATTEMPT_S,
    HANGING_ATTEMPT_S,
    STUCK_AFTER_S,
    Cause,
    Failure,
    Invocation,
    Trouble,
    Way,
    failing_since,
    shorten,
)
from services.trouble import trouble_of as judge
from tests.services.seen import BUG, MISMATCH, NOW, REFUSED, WORKER, failed, failing, invocation, paused

LATER = "[500 Internal] written by a newer version (schema 2, this one reads up to 1)"


def trouble_of(row: Invocation, *failures: Failure) -> Trouble | None:
    return judge(row, failures, NOW)


def found(row: Invocation, *failures: Failure) -> Trouble:
    trouble = trouble_of(row, *failures)
    assert trouble is not None
    return trouble


@pytest.mark.parametrize("status", ["pending", "scheduled", "ready", "running", "suspended", "completed"])
def test_an_invocation_that_has_not_failed_is_in_no_trouble(status: str) -> None:
    assert trouble_of(invocation(status)) is None


@pytest.mark.parametrize(
    ("failure", "code", "cause", "way"),
    [
        (REFUSED, "RT0010", Cause.UNREACHABLE, Way.WAIT),
        (MISMATCH, "RT0016", Cause.MISMATCH, Way.AFRESH),
        ("[500 Internal] not found in the registry", "RT0011", Cause.VERSION_GONE, Way.LATEST),
        (BUG, "RT0007", Cause.FAILING, Way.WAIT),
        (LATER, "RT0007", Cause.NEWER, Way.LATEST),
        ("[500 Internal] something new", None, Cause.FAILING, Way.WAIT),
    ],
)
def test_each_failure_has_a_cause_and_a_way_out(failure: str, code: str | None, cause: Cause, way: Way) -> None:
    trouble = found(failing(failure, code or ""), failed(NOW - 60), failed(NOW - 1))
    assert (trouble.cause, trouble.way, trouble.since, trouble.tries) == (cause, way, NOW - 60, 9)
    assert trouble.remedy
    assert WORKER in trouble.remedy or cause is Cause.VERSION_GONE


def test_attempts_that_fail_for_a_moment_are_no_trouble() -> None:
    assert trouble_of(failing(), failed(NOW - STUCK_AFTER_S + 0.1)) is None
    assert trouble_of(failing(), failed(NOW - STUCK_AFTER_S)) is not None


def test_an_attempt_that_lasts_looks_better_and_one_that_has_just_begun_does_not() -> None:
    def in_trouble(failure: str, code: str, lasted_s: float) -> bool:
        row = invocation(failure=failure, code=code, last_start_at=NOW - lasted_s)
        return trouble_of(row, failed(NOW - 60)) is not None

    for failure, code, longest_s in (
        (REFUSED, "RT0010", ATTEMPT_S),
        ("[500] stream closed because of a broken pipe", "RT0010", HANGING_ATTEMPT_S),
        (BUG, "RT0007", HANGING_ATTEMPT_S),
    ):
        assert in_trouble(failure, code, longest_s - 0.1)
        assert not in_trouble(failure, code, longest_s)


def test_failures_before_the_run_last_got_on_do_not_count() -> None:
    assert failing_since([failed(100, after=3), failed(700, after=8), failed(800, after=8)]) == 700
    assert failing_since([paused(100)]) is None


@pytest.mark.parametrize(
    ("code", "cause", "way"),
    [
        ("RT0010", Cause.UNREACHABLE, Way.RESUME),
        ("RT0016", Cause.MISMATCH, Way.AFRESH),
        ("RT0007", Cause.FAILING, Way.RESUME),
    ],
)
def test_one_that_restate_has_paused_needs_a_resume_also_when_the_cause_is_mended(
    code: str, cause: Cause, way: Way
) -> None:
    trouble = found(invocation("paused"), failed(NOW - 90), paused(NOW - 60, code, "it failed"))
    assert (trouble.cause, trouble.way, trouble.paused, trouble.since) == (cause, way, True, NOW - 60)
    assert not trouble.heals


def test_one_that_somebody_has_paused_says_so() -> None:
    trouble = found(invocation("paused"), paused(NOW - 5))
    assert (trouble.cause, trouble.way, trouble.since) == (Cause.PAUSED, Way.RESUME, NOW - 5)
    assert found(invocation("paused")).since is None


def test_only_a_worker_that_is_away_heals_by_itself() -> None:
    assert found(failing()).heals
    assert not found(failing(BUG, "RT0007")).heals


def test_a_failure_is_told_without_status_and_traceback() -> None:
    assert shorten(BUG) == "KeyError('turn')"
    assert shorten(MISMATCH) == "Found a mismatch between the code paths - recorded: 'get state' - now: 'run'"
    assert len(shorten("x" * 1000)) == 400
