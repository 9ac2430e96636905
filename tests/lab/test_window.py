"""The window: frames and rows come to the right widths, and what was not seen is not counted as narrow."""

import random
import subprocess
from pathlib import Path
from typing import Any

import pytest

from lab.paths import ROOT
from lab.relay import Way
from lab.window_sums import Kills, Passed, Series, Width, at_share, doubled_per_1000, tag_of, told, widths
from mocks.rows import EffectRow
from tests.lab.programs import LabCommand

A, B = "wa00001x", "wa00002x"


def effect(n: int, tag: str, at: float) -> EffectRow:
    return EffectRow(
        n=n, effect="charge", id=f"ch_{n}", key=None, reference=None, body={"customer_id": f"cus_{tag}"}, at=at
    )


def frames(stream: int, tag: str, *times: tuple[float, Way]) -> list[Passed]:
    first = Passed(0.5, Way.TO_WORKER, (1, stream), tag)
    return [first, *(Passed(at, way, (1, stream)) for at, way in times)]


def test_the_width_is_read_from_the_frames_of_its_own_stream() -> None:
    passed = [
        *frames(1, A, (0.8, Way.TO_SERVER), (1.030, Way.TO_SERVER), (1.050, Way.TO_WORKER)),
        *frames(3, B, (1.020, Way.TO_SERVER), (1.025, Way.TO_WORKER)),
    ]
    random.Random(1).shuffle(passed)
    found = widths([effect(1, A, 1.0)], {A: 1.010}, passed)
    assert [each.tag for each in found] == [A]
    assert (found[0].answered_ms, found[0].told_ms, found[0].recorded_ms) == pytest.approx((10, 30, 50))


def test_what_was_said_before_the_answer_was_seen_is_not_about_it() -> None:
    passed = frames(1, A, (1.005, Way.TO_SERVER), (1.030, Way.TO_SERVER), (1.040, Way.TO_WORKER))
    assert widths([effect(1, A, 1.0)], {A: 1.010}, passed)[0].told_ms == pytest.approx(30)


@pytest.mark.parametrize(
    ("answered", "passed"),
    [
        ({}, frames(1, A, (1.03, Way.TO_SERVER), (1.05, Way.TO_WORKER))),
        ({A: 1.01}, []),
        ({A: 1.01}, frames(1, A, (1.05, Way.TO_WORKER))),
        ({A: 1.01}, frames(1, A, (1.03, Way.TO_SERVER))),
        ({A: 1.01}, frames(1, B, (1.03, Way.TO_SERVER), (1.05, Way.TO_WORKER))),
    ],
)
def test_an_effect_whose_frames_were_not_seen_is_not_measured(answered: dict[str, float], passed: list[Passed]) -> None:
    assert widths([effect(1, A, 1.0)], answered, passed) == []


def test_the_mark_is_found_in_an_effect() -> None:
    assert tag_of(effect(1, A, 1.0)) == A
    assert tag_of(effect(1, "nothing", 1.0)) == ""


@pytest.mark.parametrize(("share", "value"), [(0.5, 10), (0.95, 19), (1.0, 20), (0.0, 1)])
def test_a_share_is_the_least_value_that_covers_it(share: float, value: int) -> None:
    assert at_share(list(range(20, 0, -1)), share) == value


def series(count: int, told_ms: float, seconds: float) -> Series:
    return Series("load", tuple(Width(str(n), told_ms / 2, told_ms, 2 * told_ms) for n in range(count)), seconds)


def test_the_derived_number_is_what_random_moments_find() -> None:
    """200 windows of 10 ms in 20 s: one moment of ten falls into one."""
    assert doubled_per_1000(series(200, 10.0, 20.0)) == pytest.approx(100)
    rng = random.Random(1)
    starts = [20.0 * n / 200 for n in range(200)]
    hit = sum(
        any(start <= moment < start + 0.010 for start in starts) for moment in (rng.uniform(0, 20) for _ in range(5000))
    )
    assert hit / 5 == pytest.approx(100, rel=0.15)


def test_what_is_told_says_which_number_was_derived_and_which_counted() -> None:
    made: dict[str, Any] = told([series(4, 10.0, 2.0)], Kills("steps without a key", 20, 400, 5))
    assert made["series"][0]["median_ms"] == pytest.approx(20)
    assert made["series"][0]["worker"]["median_ms"] == pytest.approx(5)
    assert made["kills"]["doubled_per_1000"] == pytest.approx(250)
    assert "derived" in made["estimate"]
    assert "Counted: 20 kills" in made["estimate"]
    assert told([series(4, 10.0, 2.0)], None)["kills"] is None


@pytest.mark.server
@pytest.mark.long
def test_a_small_window_is_measured(tmp_path: Path) -> None:
    window = LabCommand(
        ("window", "--effects", "20", "--kills", "2", "--out", str(tmp_path / "out"), "--dir", str(tmp_path)),
        tmp_path / "output",
    )
    window.start()
    try:
        assert window.wait(110) == 0, window.said()
        assert (tmp_path / "out" / "window.json").exists()
        assert (tmp_path / "out" / "window.svg").exists()
        assert window.left() == []
    finally:
        window.clean()


def test_make_hands_on_how_much_is_asked_for() -> None:
    """Setup is taken as done, so that nothing but the command itself is printed."""
    asked = ["make", "-n", "-o", "setup", "window", "EFFECTS=5", "KILLS=0"]
    done = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "-m lab window --effects 5 --kills 0 --seed 1\n" in done.stdout
