"""How a storm brings a hold: it lasts until something was said, and what was never said has not landed."""

import time
from typing import Any, cast

import pytest

from lab.relay import Relay, Way
from lab.storm_plan import Kind, Strike
from lab.storm_weather import Weather

HOLD = Strike(0.0, Kind.HOLD, "line-1", 0.05)


class Line:
    """Something is said on it so long after it was held."""

    def __init__(self, silent_s: float) -> None:
        self.silent_s = silent_s
        self.held_at = 0.0
        self.acts: list[str] = []

    def hold(self, way: Way) -> None:
        self.held_at = time.monotonic()
        self.acts.append(f"hold {way.value}")

    def held(self, _way: Way) -> int:
        return int(time.monotonic() - self.held_at >= self.silent_s)

    def cut(self) -> None:
        self.acts.append("cut")

    def release(self) -> None:
        self.acts.append("release")

    def aim(self, _port: int) -> None:
        self.acts.append("aim")


class Calm(Weather):
    """Without the processes that are put right at the end."""

    def calm(self) -> None:
        pass


def brought(line: Line) -> Weather:
    weather = Calm({}, {"line-1": cast("Relay", line)}, cast("Any", None), lambda _text: None)
    weather.rage([HOLD])
    return weather


@pytest.mark.parametrize("silent_s", [0.0, 0.4])
def test_a_hold_lasts_until_something_was_said_and_that_is_lost(silent_s: float) -> None:
    line = Line(silent_s)
    (landed,) = brought(line).landed
    assert landed.landed and landed.proof == "what the worker said on 1 stream(s) was lost with the line"
    assert line.acts == ["hold to_server", "cut", "release"]
    assert time.monotonic() - line.held_at >= max(silent_s, HOLD.for_s)


def test_a_hold_in_which_nothing_was_said_ends_and_has_not_landed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lab.storm_weather.HELD_MORE_S", 0.3)
    line = Line(60.0)
    (landed,) = brought(line).landed
    assert not landed.landed and landed.proof == "nothing was said meanwhile"
    assert line.acts == ["hold to_server", "cut", "release"]
