"""Deadlines of steps against Restate's patience: what fits, and the sentence for what does not."""

import re
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from lab.paths import RESTATE_TOML, ROOT
from lab.process import environment
from services.app import outside
from services.busy import Busy
from services.deadlines import MARGIN_S, Timeouts, fault, longest_s
from services.settings import BadSettings, Settings
from tools import TOOLS
from tools.effect import Effect
from tools.tool import Tool, tool

SLOWEST = TOOLS[0]


@tool(effect=Effect.READ, send_deadline_s=20)
def report(name: str) -> str:
    """A report.

    Args:
        name: Its name.
    """
    return name


def lasting(seconds: float) -> tuple[Tool, ...]:
    return (*TOOLS, replace(SLOWEST, send_deadline_s=seconds))


@pytest.mark.parametrize(
    ("timeouts", "model_s", "tools", "says"),
    [
        (Timeouts(45, 135), 120, TOOLS, None),
        (Timeouts(15, 110), 120, TOOLS, None),
        (Timeouts(14, 300), 120, TOOLS, "PAWL_INACTIVITY_S to 15 or more"),
        (Timeouts(45, 135), 175, TOOLS, None),
        (Timeouts(45, 135), 176, TOOLS, "PAWL_ABORT_S to 136 or more, or PAWL_MODEL_DEADLINE_S to 175 or less"),
        (Timeouts(45, 135), 120, lasting(40), None),
        (Timeouts(45, 135), 120, lasting(41), f"a call of {SLOWEST.name} may take 41 s"),
        (Timeouts(45, 135), 120, (report,), None),
        (Timeouts(44, 135), 120, (report,), "may take 40 s (its send_deadline_s, twice for a tool that is code)"),
        (Timeouts(45, 135), 120, (), None),
        (Timeouts(45, 135), float("inf"), TOOLS, "PAWL_MODEL_DEADLINE_S"),
    ],
)
def test_what_does_not_fit_is_one_sentence_that_says_what_to_set(
    timeouts: Timeouts, model_s: float, tools: tuple[Tool, ...], says: str | None
) -> None:
    sentence = fault(timeouts, model_s, tools)
    assert (sentence is None) == (says is None)
    assert says is None or sentence is None or (says in sentence and "\n" not in sentence)


def test_what_the_sentence_says_to_set_does_fit() -> None:
    sentence = fault(Timeouts(10, 20), 120, lasting(33.5)) or ""
    inactivity_s = float(re.findall(r"set PAWL_INACTIVITY_S to ([\d.]+)", sentence)[0])
    sentence = fault(Timeouts(inactivity_s, 20), 120, lasting(33.5)) or ""
    abort_s = float(re.findall(r"set PAWL_ABORT_S to ([\d.]+)", sentence)[0])
    assert fault(Timeouts(inactivity_s, abort_s), 120, lasting(33.5)) is None


def test_the_composition_refuses_deadlines_that_do_not_fit() -> None:
    with pytest.raises(BadSettings, match="PAWL_ABORT_S"):
        outside(Settings(model_deadline_s=3_000), Busy())
    with pytest.raises(BadSettings, match="PAWL_INACTIVITY_S"):
        outside(Settings(), Busy(), tools=lasting(3_000))


def test_the_worker_ends_with_that_sentence_and_code_2() -> None:
    env = environment({"PAWL_MODEL_DEADLINE_S": "600"})
    done = subprocess.run(
        [sys.executable, "-m", "services"], env=env, cwd=ROOT, capture_output=True, text=True, timeout=30, check=False
    )
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "PAWL_MODEL_DEADLINE_S is 600" in done.stderr


def test_the_server_s_own_defaults_are_the_same_numbers() -> None:
    invoker = tomllib.loads(Path(RESTATE_TOML).read_text())["worker"]["invoker"]
    defaults = Settings()
    assert invoker["inactivity-timeout"] == f"{defaults.inactivity_s:g}s"
    assert invoker["abort-timeout"] == f"{defaults.abort_s:g}s"
    assert max(map(longest_s, TOOLS)) + MARGIN_S < defaults.inactivity_s
