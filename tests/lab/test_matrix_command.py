"""`python -m lab matrix` as a person and a CI meet it, on real processes."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from lab import history
from lab.cells import Verdict
from lab.checker import Result, judge
from lab.jobs import JOBS
from lab.matrix import cells
from lab.paths import ROOT
from tests.lab.programs import LabCommand
from tests.lab.test_own import example

pytestmark = pytest.mark.server


def matrix(folder: Path, *more: str, within_s: float = 110) -> subprocess.CompletedProcess[str]:
    places = ["--out", str(folder / "report"), "--dir", str(folder / "scratch")]
    command = [sys.executable, "-m", "lab", "matrix", *places, *more]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=within_s, check=False)


def report(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / "report" / "report.json").read_text(encoding="utf-8")))


def test_the_list_is_printed_and_nothing_is_run(tmp_path: Path) -> None:
    done = matrix(tmp_path, "--list", "--only", "pawl/charge/worker-kill/applied,keyed/charge/no-fault")
    assert (done.returncode, done.stdout.split()) == (0, ["pawl/charge/worker-kill/applied", "keyed/charge/no-fault"])
    assert not (tmp_path / "report").exists()


def test_a_pattern_that_fits_nothing_is_a_mistake_of_the_caller(tmp_path: Path) -> None:
    done = matrix(tmp_path, "--only", "pawl/charge/worker-kil")
    assert done.returncode == 2
    assert "no cell fits pawl/charge/worker-kil" in done.stderr


def test_a_report_that_does_not_fit_is_refused_before_anything_is_played(tmp_path: Path) -> None:
    kept = tmp_path / "report" / "report.json"
    kept.parent.mkdir()
    kept.write_text('{"schema": 1, "trials": 3}')
    done = matrix(tmp_path, "--trials", "1", "--keep", "--only", "keyed/charge/no-fault")
    assert done.returncode == 2 and "to be kept has other" in done.stderr, done.stderr
    assert not (tmp_path / "scratch").exists() and kept.read_text() == '{"schema": 1, "trials": 3}'


def test_pawl_and_a_control_side_by_side(tmp_path: Path) -> None:
    ids = ["pawl/charge/worker-kill/applied", "journaled/charge/worker-kill/applied"]
    done = matrix(tmp_path, "--trials", "2", "--jobs", "2", "--only", ",".join(ids))
    assert done.returncode == 0, done.stdout + done.stderr
    told = {each["id"]: each for each in report(tmp_path)["cells"]}
    assert [told[each]["verdict"] for each in ids] == ["once", "duplicated"]
    assert all(trial["applied"] == 1 for trial in told[ids[0]]["trials"])
    assert all(trial["received"] == 2 for each in ids for trial in told[each]["trials"])
    assert all(each["agree"] == 2 for each in told.values())
    assert len(ET.parse(tmp_path / "report" / "junit.xml").findall("testsuite/testcase")) == 2
    assert not list((tmp_path / "scratch").glob("matrix-*"))


def test_a_kept_history_is_judged_again_to_the_same(tmp_path: Path) -> None:
    ident = "pawl/sms/worker-kill/unrecorded"
    assert matrix(tmp_path, "--trials", "1", "--only", ident).returncode == 0
    (trial,) = report(tmp_path)["cells"][0]["trials"]
    seen = history.read(tmp_path / "report" / trial["history"])
    (cell,) = [each for each in cells() if each.id == ident]
    told = judge(cell, JOBS["sms"], seen)
    assert (told.verdict, told.result) == (Verdict.UNKNOWN, Result.AS_PROMISED)
    assert seen.runs[0].decided == "happened" and seen.runs[0].state_after == "completed"
    assert [event.what for event in seen.events if event.lane == "worker"] == ["killed", "started"]
    assert "SIGKILL" in seen.landings[0].fault and seen.landings[0].proof


def test_a_target_that_breaks_its_promise_is_red_and_says_how_to_see_it_again(tmp_path: Path) -> None:
    file = example(tmp_path)
    file.write_text(file.read_text().replace('"nothing"', '"once"'), encoding="utf-8")
    ident = "mine/charge/worker-kill/applied"
    done = matrix(tmp_path, "--target", str(file), "--trials", "1", "--only", ident)
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"{ident}: duplicated, not as promised" in done.stderr
    assert f"python -m lab matrix --only {ident} --seed 1 --trials 1 --target {file}" in done.stderr
    assert report(tmp_path)["summary"]["red"] == [ident]


def test_a_target_that_does_not_start_is_tried_once_and_said_in_one_sentence(tmp_path: Path) -> None:
    file = tmp_path / "broken.toml"
    file.write_text(f'name = "broken"\ncommand = ["{sys.executable}", "-c", "raise SystemExit(\'no key\')"]\n')
    done = matrix(tmp_path, "--target", str(file), "--trials", "1")
    assert done.returncode == 1
    assert "broken does not start, so nothing was played: the worker ended with exit code 1" in done.stderr
    assert done.stderr.count("no key") == 1
    assert not (tmp_path / "report").exists()


def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    file = tmp_path / "broken.toml"
    file.write_text('name = "broken"\ncommand = ["./no-such-agent", "{port}"]\n')
    done = matrix(tmp_path, "--target", str(file), "--trials", "1")
    assert done.returncode == 1
    assert "broken does not start" in done.stderr and "no-such-agent" in done.stderr


def test_a_signal_ends_it_and_leaves_nothing_running(tmp_path: Path) -> None:
    places = ("--out", str(tmp_path / "report"), "--dir", str(tmp_path / "scratch"))
    command = LabCommand(("matrix", "--only", "pawl/charge", "--jobs", "2", *places), tmp_path / "output")
    command.start()
    try:
        command.wait_said("/", 60)
        os.kill(command.running.pid, signal.SIGINT)
        assert command.wait(30) == 130
        assert command.left(15) == []
    finally:
        command.clean()
