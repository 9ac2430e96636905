"""What is registered against what is served; whether an old version may go; which code a worker says it is."""

import shutil
from dataclasses import replace
from pathlib import Path

from services.register import taken_over
from services.version import code_version
from services.versions import Deployment, Offer, Open, change, drain, lost, other_timeouts
from tools import TOOLS

ROOT = Path(__file__).parent.parent.parent
OLD = Offer("a1", {"Agent/run": "Exclusive", "Agent/status": "Shared", "Turn/carry": "Service"})


def test_the_same_is_the_same() -> None:
    assert change(OLD, OLD).same
    assert change(OLD, OLD).sentence() == "no difference"


def test_other_code_with_the_same_handlers_is_a_change() -> None:
    made = change(OLD, Offer("b2", OLD.handlers))
    assert not made.same
    assert made.sentence() == "other code (a1 is registered, b2 is served)"


def test_handlers_that_came_went_or_changed_their_kind_are_named() -> None:
    handlers = {"Agent/run": "Exclusive", "Agent/status": "Exclusive", "Agent/ping": "Shared"}
    made = change(OLD, Offer("a1", handlers))
    assert made.added == ("Agent/ping", "Agent/status")
    assert made.removed == ("Agent/status", "Turn/carry")


def test_other_time_outs_of_the_same_code_are_named() -> None:
    was = replace(OLD, timeouts={"Agent": "45s and 2m", "Turn": "1m and 10m"})
    assert other_timeouts(was, replace(was, timeouts={"Agent": "45s and 2m"})) == ""
    assert other_timeouts(OLD, was) == ""
    now = replace(was, timeouts={"Agent": "50s and 2m", "Turn": "1m and 9m"})
    assert other_timeouts(was, now) == "Agent from 45s and 2m to 50s and 2m, Turn from 1m and 10m to 1m and 9m"
    assert change(was, now).same


def test_only_what_callers_reach_now_can_be_lost() -> None:
    first = Deployment("dp_1", "http://one", Offer("a1", {**OLD.handlers, "Agent/gone": "Shared"}), "1")
    second = Deployment("dp_2", "http://two", OLD, "2", ("Agent", "Turn"))
    assert lost((first, second), Offer("b2", {"Agent/run": "Exclusive"})) == ("Agent/status", "Turn/carry")
    assert lost((), OLD) == ()


def test_who_takes_the_new_calls_of_another_says_whose() -> None:
    old = Deployment("dp_1", "http://one", OLD, "1")
    new = Deployment("dp_2", "http://two", OLD, "2", ("Agent", "Turn"))
    assert taken_over((old, new), old) == "; new calls go to it from now on, and no longer to http://two"
    assert taken_over((old, new), new) == ""


def test_a_version_is_free_when_nothing_is_bound_to_it_and_nothing_new_comes() -> None:
    old = Deployment("dp_1", "http://one", OLD, "1")
    calls = (
        Open("dp_1", "Agent/run", "suspended", 3),
        Open("dp_2", "Agent/run", "running", 1),
        Open(None, "Agent/bury", "scheduled", 9),
        Open(None, "Agent/run", "pending", 2),
    )
    needed = drain(old, calls)
    assert not needed.free
    assert "3 Agent/run suspended" in needed.sentence()
    assert "bury" not in needed.sentence()
    assert "runs on it" not in needed.sentence()
    named = drain(old, calls, ("r-1 (waiting_approval)", "r-2 (running)")).sentence()
    assert "runs on it: r-1 (waiting_approval), r-2 (running) (the oldest of them); `python -m services.cli" in named
    assert drain(old, calls[1:]).free
    newest = drain(replace(old, newest_of=("Agent",)), calls[1:])
    assert not newest.free
    assert "2 Agent/run pending" in newest.sentence()


def test_the_code_is_the_same_until_a_file_or_a_tool_is_another(tmp_path: Path) -> None:
    for name in ("services", "tools"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    first = code_version(TOOLS, tmp_path)
    assert first == code_version(reversed(TOOLS), ROOT)
    assert first != code_version(TOOLS[1:], tmp_path)
    assert first != code_version((*TOOLS[1:], replace(TOOLS[0], description="another")), tmp_path)
    (tmp_path / "services" / "clock.py").write_text("")
    assert first != code_version(TOOLS, tmp_path)
