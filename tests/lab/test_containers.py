"""Faults in containers without an engine: the verdicts over hand-written scenes, and a docker that is a script."""

import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lab.cells import Fault, Verdict
from lab.containers.scene import AT_POINT, SceneSeen
from lab.containers.stories import CLUSTER, SINGLE
from lab.containers.verdicts import judged, wrong
from lab.history import Landing, Ledger
from lab.jobs import JOBS
from lab.trial import Run
from tests.lab.histories import TAG, effect, ledger, request
from tests.lab.programs import LabCommand

LANDED = Landing(100.0, "SIGKILL", AT_POINT)


def run(job: str = "charge", tag: str = TAG, state: str = "completed", *, struck: bool = True) -> Run:
    made = Run("", JOBS[job], tag, f"lab-{job}-{tag}", state=state, rested_at=101.0)
    made.landings += [LANDED] if struck else []
    return made


def seen(*runs: Run, rows: Ledger | None = None, after: Ledger | None = None) -> SceneSeen:
    return SceneSeen(runs, 100.0, rows or ledger(request(1), request(2, applied=False), effects=(effect(1),)), after)


def test_a_charge_that_was_sent_twice_and_applied_once_is_once() -> None:
    played = judged("worker killed", Fault.WORKER_KILL, seen(run()), None)
    assert played.struck["charge"].verdict is Verdict.ONCE
    assert played.recovered_s == 1.0
    assert played.right
    assert not list(wrong([played]))


def test_a_second_effect_is_red() -> None:
    doubled = ledger(request(1), request(2), effects=(effect(1), effect(2)))
    played = judged("worker killed", Fault.WORKER_KILL, seen(run(), rows=doubled), None)
    assert played.struck["charge"].verdict is Verdict.DUPLICATED
    assert not played.right
    assert next(wrong([played])).startswith("worker killed, charge: duplicated")


def test_a_charge_under_two_keys_is_red_although_it_was_applied_once() -> None:
    keys = ledger(request(1), request(2, applied=False, key="another"), effects=(effect(1),))
    assert not judged("worker killed", Fault.WORKER_KILL, seen(run(), rows=keys), None).right


def test_a_run_that_came_to_no_end_is_red() -> None:
    played = judged("worker killed", Fault.WORKER_KILL, seen(run(state="unreachable")), None)
    assert played.struck["charge"].verdict is Verdict.LOST
    assert not played.right


def test_an_outcome_that_is_in_doubt_is_red_for_a_keyed_effect() -> None:
    assert not judged("worker killed", Fault.WORKER_KILL, seen(run(state="outcome_unknown")), None).right


def test_a_scene_that_broke_off_is_red_also_where_nothing_was_struck() -> None:
    for runs in ((), (run(),), (run(struck=False),)):
        assert not judged("worker killed", Fault.WORKER_KILL, seen(*runs), "the gate held nothing").right


def test_a_scene_in_which_nothing_was_struck_is_red() -> None:
    played = judged("worker killed", Fault.WORKER_KILL, seen(run(struck=False)), None)
    assert not played.right
    assert list(wrong([played])) == ["worker killed: nothing was struck"]


def test_a_run_beside_the_victim_is_judged_too() -> None:
    beside = run("sms", "t2", struck=False)
    played = judged("worker killed", Fault.WORKER_KILL, seen(run(), beside), None)
    assert played.struck["charge"].verdict is Verdict.ONCE
    assert not played.right
    assert any("lab-sms-t2" in text and "lost" in text for text in wrong([played]))


def test_each_story_has_a_name_of_its_own() -> None:
    names = [story.name for story in (*SINGLE, *CLUSTER)]
    assert len(set(names)) == len(names)


# With a docker that only notes how it was called

NOTES = """#!/bin/sh
echo "$*" >> "$DOCKER_NOTES"
case "$*" in *" up "*) echo $$ > "$DOCKER_NOTES.up"; %s ;; esac
"""


@pytest.fixture
def launch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], LabCommand]]:
    launched: list[LabCommand] = []

    def one(when_up: str) -> LabCommand:
        docker = tmp_path / "bin" / "docker"
        docker.parent.mkdir()
        docker.write_text(NOTES % when_up)
        docker.chmod(0o755)
        monkeypatch.setenv("PATH", str(docker.parent), prepend=":")
        monkeypatch.setenv("DOCKER_NOTES", str(tmp_path / "notes"))
        monkeypatch.setenv("PAWL_MODEL_KEY", "a-real-key")
        monkeypatch.setenv("COMPOSE_PROJECT_NAME", "pawl")
        command = LabCommand(("compose-test", "--dir", str(tmp_path / "dir")), tmp_path / "output")
        launched.append(command)
        command.start()
        return command

    yield one
    for command in launched:
        command.clean()


def called(tmp_path: Path) -> list[str]:
    return (tmp_path / "notes").read_text().splitlines()


def test_what_does_not_come_up_is_taken_down_with_its_data(launch: Callable[[str], LabCommand], tmp_path: Path) -> None:
    command = launch("echo 'no space left' >&2; exit 7")
    assert command.wait(30) == 1, command.said()
    assert "no space left" in command.said()
    assert "--volumes --remove-orphans" in called(tmp_path)[-1]
    assert " down " in called(tmp_path)[-1]


def test_ctrl_c_takes_everything_down(launch: Callable[[str], LabCommand], tmp_path: Path) -> None:
    command = launch("exec sleep 60")
    end = time.monotonic() + 20
    while not (tmp_path / "notes.up").exists() and time.monotonic() < end:
        time.sleep(0.05)
    command.running.send_signal(signal.SIGINT)
    assert command.wait(30) == 130, command.said()
    assert " down " in called(tmp_path)[-1]


def test_nothing_of_the_callers_settings_reaches_the_project(
    launch: Callable[[str], LabCommand], tmp_path: Path
) -> None:
    command = launch('env > "$DOCKER_NOTES.env"; exit 7')
    command.wait(30)
    environment = (tmp_path / "notes.env").read_text()
    assert "a-real-key" not in environment
    assert "COMPOSE_PROJECT_NAME" not in environment
    assert "COMPOSE_PROFILES=mocks" in environment
    assert all("--env-file /dev/null" in line for line in called(tmp_path) if line.startswith("compose --"))
