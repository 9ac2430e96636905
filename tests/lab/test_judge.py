"""The verdict, over rows written by hand: the sane case, and each way in which it can be wrong."""

import pytest

from lab.judge import Tally, all_once, one_key, refunded_twice
from mocks.rows import EffectRow, RequestRow


def request(effect: str, key: str | None = None) -> RequestRow:
    return RequestRow(
        n=1,
        effect=effect,
        key=key,
        reference=None,
        digest="",
        applied=True,
        status=200,
        at=0.0,
        method="POST",
        path="/",
    )


def effect(name: str) -> EffectRow:
    return EffectRow(n=1, effect=name, id="x_1", key=None, reference=None, body={}, at=0.0)


def tally(*effects: str) -> Tally:
    return Tally.of([], [effect(name) for name in effects])


def test_every_effect_once_is_right() -> None:
    assert all_once(tally("refund", "customer", "email")) is None


@pytest.mark.parametrize(
    ("effects", "said"),
    [
        ((), "refund: 0 instead of 1"),
        (("refund", "customer"), "email: 0 instead of 1"),
        (("refund", "refund", "customer", "email"), "refund: 2 instead of 1"),
        (("refund", "customer", "email", "charge"), "charge: 1 instead of 0"),
    ],
)
def test_lost_doubled_and_unexpected_effects_are_named(effects: tuple[str, ...], said: str) -> None:
    assert said in str(all_once(tally(*effects)))


@pytest.mark.parametrize(("refunds", "said"), [(0, "0 instead of 2"), (1, "1 instead of 2"), (3, "3 instead of 2")])
def test_a_control_that_does_not_fail_is_named(refunds: int, said: str) -> None:
    assert said in str(refunded_twice(tally(*["refund"] * refunds)))


def test_two_refunds_are_what_the_control_must_show() -> None:
    assert refunded_twice(tally("refund", "refund", "email")) is None


def test_a_repeat_with_one_key_is_right() -> None:
    assert one_key([request("refund", "k"), request("email", "m"), request("refund", "k")], "refund") is None


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ((), "nothing was repeated"),
        (("k",), "nothing was repeated"),
        (("k", "other"), "2 different keys"),
        ((None, None), "1 different keys"),
    ],
)
def test_a_refund_that_was_not_repeated_with_one_key_is_named(keys: tuple[str | None, ...], said: str) -> None:
    assert said in str(one_key([request("refund", key) for key in keys], "refund"))
