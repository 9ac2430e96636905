"""Signals arrive at once, except where they are kept until a block ends."""

import signal
from collections.abc import Iterator

import pytest

from lab import signals
from lab.signals import Interrupted, shielded


@pytest.fixture(autouse=True)
def _listening() -> Iterator[None]:
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in numbers}
    signals.listen()
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_interrupts_with_the_shells_exit_code(number: signal.Signals, code: int) -> None:
    with pytest.raises(Interrupted) as interrupted:
        signal.raise_signal(number)
    assert interrupted.value.exit_code == code


def test_a_shielded_block_runs_to_its_end_first() -> None:
    done = []
    with pytest.raises(Interrupted, match="SIGTERM"), shielded():  # noqa: PT012 - the end of the block is the point
        with shielded():
            signal.raise_signal(signal.SIGTERM)
            signal.raise_signal(signal.SIGINT)
            done.append("inner")
        done.append("outer")
    assert done == ["inner", "outer"]


def test_a_teardown_drops_what_comes_meanwhile() -> None:
    with shielded(deliver=False):
        signal.raise_signal(signal.SIGINT)
    with shielded():
        pass
