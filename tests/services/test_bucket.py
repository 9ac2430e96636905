"""The token bucket: whoever asks, no more leave than the rate allows, and nobody waits longer than that needs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.bucket import Bucket, Rate, read_rate

FIVE = Rate(name="x", per_s=5, burst=3)


def leaving(rate: Rate, asked: list[float]) -> list[float]:
    """When requests that ask at these times may leave."""
    bucket, out = Bucket(), []
    for at in asked:
        bucket, wait_s = bucket.take(rate, at)
        out.append(at + wait_s)
    return out


def test_a_burst_leaves_at_once_and_the_rest_one_after_the_other() -> None:
    assert leaving(FIVE, [100.0] * 5) == pytest.approx([100, 100, 100, 100.2, 100.4])


def test_after_a_pause_the_whole_burst_is_there_again_and_no_more() -> None:
    waits = [at - 200 for at in leaving(FIVE, [100.0] * 5 + [200.0] * 4)[5:]]
    assert waits == pytest.approx([0, 0, 0, 0.2])


def test_several_at_once_count_as_many() -> None:
    bucket, wait_s = Bucket().take(FIVE, 10.0, n=3)
    assert wait_s == 0
    assert bucket.take(FIVE, 10.0, n=2)[1] == pytest.approx(0.4)


def test_a_clock_that_is_set_back_neither_opens_nor_closes_the_gate() -> None:
    bucket, _ = Bucket().take(Rate(name="x", per_s=1), 1000.0)
    bucket, wait_s = bucket.take(Rate(name="x", per_s=1), 400.0)
    assert wait_s == pytest.approx(1)


@given(
    per_s=st.floats(0.1, 100),
    burst=st.integers(1, 10),
    gaps=st.lists(st.floats(0, 20), min_size=1, max_size=60),
)
def test_in_no_stretch_of_time_more_leave_than_the_rate_allows(per_s: float, burst: int, gaps: list[float]) -> None:
    rate = Rate(name="x", per_s=per_s, burst=burst)
    asked = [1000.0 + sum(gaps[: index + 1]) for index in range(len(gaps))]
    left = leaving(rate, asked)
    assert left == sorted(left)
    for first in range(len(left)):
        for last in range(first, len(left)):
            assert last - first + 1 <= burst + (left[last] - left[first]) * per_s + 1e-3
    waits = [leaves - asks for leaves, asks in zip(left, asked, strict=True)]
    assert all(0 <= wait <= (index + 1) / per_s + 1e-3 for index, wait in enumerate(waits))


@pytest.mark.parametrize(
    ("words", "rate"),
    [
        (None, None),
        ("5", Rate(name="x", per_s=5, burst=1)),
        ("0.5,3", Rate(name="x", per_s=0.5, burst=3)),
    ],
)
def test_a_rate_is_read_from_its_setting(words: str | None, rate: Rate | None) -> None:
    assert read_rate("x", words) == rate


@pytest.mark.parametrize("words", ["0", "0.0,5", "5,0"])
def test_a_rate_that_lets_nothing_out_is_refused(words: str) -> None:
    with pytest.raises(ValueError, match="lets nothing out"):
        read_rate("x", words)
