"""Lanes with grounds and trials that are played by the test: who plays what, and what becomes of what goes wrong."""

import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from lab import lanes
from lab.cells import Fault, Point
from lab.errors import LabError
from lab.ground import GroundKind
from lab.lanes import Lanes, Task
from lab.matrix import Scene
from lab.play import Played
from lab.targets import PAWL

SMALL, LARGE = GroundKind(replace(PAWL, name="small")), GroundKind(replace(PAWL, name="large"))


@dataclass
class Fakes:
    """What the lanes play with, and what they did."""

    play: Callable[..., Played] = lambda *_: Played((), spoilt=False)
    opens: Callable[[int], None] = lambda _: None
    opened: list[str] = field(default_factory=list)
    closed: int = 0
    played: list[tuple[str, int]] = field(default_factory=list)
    failed: list[tuple[str, str]] = field(default_factory=list)
    good: Callable[[Task], bool] = lambda _: True
    lock: threading.Lock = field(default_factory=threading.Lock)


@pytest.fixture
def fakes(monkeypatch: pytest.MonkeyPatch) -> Fakes:
    made = Fakes()

    class Ground:
        def __init__(self, kind: GroundKind, *_: Any) -> None:
            self.kind = kind

        def open(self) -> None:
            with made.lock:
                made.opened.append(self.kind.name)
                count = len(made.opened)
            made.opens(count)

        def close(self) -> None:
            with made.lock:
                made.closed += 1

    def play(scene: Scene, ground: Ground, number: int, *rest: Any) -> Played:
        with made.lock:
            made.played.append((ground.kind.target.name, number))
        return made.play(*rest)

    monkeypatch.setattr(lanes, "Ground", Ground)
    monkeypatch.setattr(lanes, "play", play)
    return made


def tasks(kind: GroundKind, count: int) -> list[Task]:
    return [Task(Scene(kind.target.name, Fault.NONE, Point.NONE, ()), kind, number) for number in range(1, count + 1)]


def run(fakes: Fakes, folder: Path, todo: list[Task], jobs: int = 1) -> Lanes:
    made = Lanes(
        folder,
        Path("binary"),
        jobs,
        1,
        lambda task, _: fakes.good(task),
        lambda task, why: fakes.failed.append((f"{task.kind.target.name}-{task.number}", why)),
        lambda *_: None,
        {},
    )
    made.start(todo)
    end = time.monotonic() + 20
    while made.running:
        assert time.monotonic() < end
        time.sleep(0.01)
    return made


def test_every_trial_is_played_once_and_every_ground_is_closed(fakes: Fakes, tmp_path: Path) -> None:
    run(fakes, tmp_path, [*tasks(LARGE, 20), *tasks(SMALL, 3)], jobs=2)
    assert sorted(fakes.played) == sorted([*(("large", n) for n in range(1, 21)), *(("small", n) for n in range(1, 4))])
    assert fakes.closed >= len(fakes.opened) >= 2
    assert not fakes.failed


def test_a_lane_stays_on_its_ground_and_begins_with_the_smallest_kind(fakes: Fakes, tmp_path: Path) -> None:
    lane = Lanes(tmp_path, Path("binary"), 1, 1, lambda *_: True, lambda *_: None, lambda *_: None, {})
    lane._left = [*tasks(LARGE, 5), *tasks(SMALL, 2)]

    def following(number: int, kind: GroundKind | None) -> str:
        task = lane._next(number, kind)
        assert task is not None
        return task.kind.target.name

    assert following(0, None) == "small"
    assert following(1, None) == "large"
    assert following(0, SMALL) == "small"
    assert following(0, SMALL) == "large"
    assert [following(1, LARGE) for _ in range(3)] == ["large"] * 3
    assert lane._next(0, LARGE) is None


def test_a_spoilt_ground_is_not_used_again(fakes: Fakes, tmp_path: Path) -> None:
    fakes.play = lambda *_: Played((), spoilt=True)
    run(fakes, tmp_path, tasks(SMALL, 1))
    assert (fakes.opened, fakes.closed) == (["small 1"], 1)
    run(fakes, tmp_path / "more", tasks(SMALL, 3))
    assert len(fakes.opened) == 4


def test_a_trial_that_cannot_be_told_is_played_once_more_and_not_for_ever(fakes: Fakes, tmp_path: Path) -> None:
    fakes.good = lambda task: task.number != 2
    run(fakes, tmp_path, tasks(SMALL, 3))
    assert sorted(fakes.played) == [("small", 1), ("small", 2), ("small", 2), ("small", 3)]


def test_a_bug_in_a_trial_is_told_and_the_others_are_played(fakes: Fakes, tmp_path: Path) -> None:
    def play(*_: Any) -> Played:
        if fakes.played[-1] == ("small", 2):
            raise KeyError("a bug")
        return Played((), spoilt=False)

    fakes.play = play
    run(fakes, tmp_path, tasks(SMALL, 3))
    assert [name for name, _ in fakes.failed] == ["small-2", "small-2"], "once more, and told again"
    assert "the lab failed: KeyError('a bug')" in fakes.failed[0][1]
    assert ("small", 3) in fakes.played


def test_a_trial_whose_ground_opens_neither_time_is_told_and_played_later(fakes: Fakes, tmp_path: Path) -> None:
    def refuse(count: int) -> None:
        if count <= 3:
            raise LabError(f"no stack {count}")

    fakes.opens = refuse
    run(fakes, tmp_path, tasks(SMALL, 2))
    assert [why for _, why in fakes.failed] == ["no stack 2"]
    assert sorted(fakes.played) == [("small", 1), ("small", 2)]


def test_one_job_is_one_trial_at_work_and_a_waiting_one_gives_its_place_away(fakes: Fakes, tmp_path: Path) -> None:
    at_work, most, waiting, most_waiting = 0, 0, 0, 0
    lock = threading.Lock()
    met = threading.Barrier(2, timeout=10)

    def play(_seed: int, idle: Callable[[], AbstractContextManager[None]], _say: Any) -> Played:
        nonlocal at_work, most, waiting, most_waiting
        with lock:
            at_work += 1
            most = max(most, at_work)
        time.sleep(0.01)
        with lock:
            at_work -= 1
        with idle():
            with lock:
                waiting += 1
                most_waiting = max(most_waiting, waiting)
            met.wait()
            with lock:
                waiting -= 1
        return Played((), spoilt=False)

    fakes.play = play
    run(fakes, tmp_path, tasks(LARGE, 4), jobs=1)
    assert (most, most_waiting) == (1, 2)
