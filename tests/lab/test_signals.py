"""Signals arrive at once, except where they are kept until a block ends."""

import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab import guard, pids, signals
from lab.process import run_to_end
from lab.signals import Interrupted, shielded
from tests.lab.programs import web_server


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


def test_a_signal_in_the_middle_of_a_start_loses_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process exists before its pid is known to anyone who could end it."""
    monkeypatch.setattr(guard, "watch", lambda _pid: signal.raise_signal(signal.SIGINT))
    process = web_server(tmp_path)
    with pytest.raises(Interrupted):
        process.spawn()
    assert process.alive
    process.end(grace_s=1)


def test_a_program_that_is_run_to_its_end_is_killed_when_a_signal_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[int] = []

    def note_and_interrupt(pid: int) -> None:
        started.append(pid)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(guard, "watch", note_and_interrupt)
    with pytest.raises(Interrupted):
        run_to_end([sys.executable, "-c", "import time; time.sleep(60)"], {}, limit_s=30)
    assert pids.state(started[0]) is None
