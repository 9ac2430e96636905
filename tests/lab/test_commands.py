"""The commands as a person meets them: what they print, how they end, and that nothing is left running."""

import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lab import pids, ports
from lab.paths import ROOT
from lab.process import environment, wait_until
from lab.remotes import Ingress
from lab.targets import PAWL, Addresses
from tests.lab.programs import LabCommand

pytestmark = pytest.mark.server

Launch = Callable[..., LabCommand]


@pytest.fixture
def launch(tmp_path: Path) -> Iterator[Launch]:
    """Starts lab commands in this test's folder; afterwards none of them, nor anything they started, is running."""
    launched: list[LabCommand] = []

    def one(*arguments: str) -> LabCommand:
        command = LabCommand((*arguments, "--dir", str(tmp_path)), tmp_path / f"output-{len(launched)}")
        launched.append(command)
        command.start()
        return command

    yield one
    for command in launched:
        command.clean()


def free_ports() -> list[str]:
    parts = ("ingress", "admin", "node", "worker", "receiver", "model")
    return [word for part in parts for word in (f"--{part}-port", str(ports.free_port()))]


def record(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / "stack.json").read_text()))


def test_the_demo_shows_the_refund_once_with_pawl_and_twice_without_a_key(launch: Launch, tmp_path: Path) -> None:
    demo = launch("demo")
    assert demo.wait(60) == 0, demo.said()
    said = demo.said()
    assert said.count("refund    key ") == 2
    assert "known: the first answer again, 201" in said
    assert "Pawl: every effect once; the refund was sent twice, with one key. The control: two refunds." in said
    assert demo.left() == []
    assert [path for path in tmp_path.iterdir() if path.is_dir()] == []


@pytest.mark.parametrize("moment", ["starting restate-server", "Agent/demo", "SIGKILL to worker"])
def test_ctrl_c_in_the_demo_leaves_nothing(launch: Launch, tmp_path: Path, moment: str) -> None:
    demo = launch("demo")
    demo.wait_said(moment)
    demo.running.send_signal(signal.SIGINT)
    assert demo.wait(20) == 130, demo.said()
    assert demo.left() == []
    assert "Traceback" not in demo.said()
    assert [path for path in tmp_path.iterdir() if path.is_dir()] == []


def test_a_demo_that_was_killed_leaves_nothing(launch: Launch) -> None:
    demo = launch("demo")
    demo.wait_said("Agent/demo")
    demo.running.kill()
    demo.wait(10)
    assert demo.left() == []


def pasted(line: str) -> dict[str, Any]:
    said = subprocess.run(shlex.split(line), capture_output=True, text=True, check=True, timeout=30)
    return dict(json.loads(said.stdout))


def test_up_prints_what_can_be_pasted_and_down_ends_it(launch: Launch, tmp_path: Path) -> None:
    up = launch("up", *free_ports())
    up.wait_said("/status\n")
    submit, status = [line.strip() for line in up.said().splitlines() if line.strip().startswith("curl ")]
    run_id = pasted(submit).get("run_id")
    assert run_id is not None
    # What was submitted begins a moment later; a person takes longer to paste the second line.
    wait_until("the run that was submitted", lambda: pasted(status).get("run_id") == run_id, 10)
    at_the_line = [line.strip() for line in up.said().splitlines() if " -m services.cli " in line]
    assert [shlex.split(line)[3] for line in at_the_line] == ["submit", "status", "pending"]
    for line in at_the_line:
        said = subprocess.run(shlex.split(line), capture_output=True, text=True, check=False, timeout=30, cwd=ROOT)
        assert said.returncode == 0, (line, said.stdout, said.stderr)
        assert str(run_id) in said.stdout or "nothing waits" in said.stdout

    described = record(tmp_path)
    expected = {"ingress", "admin", "receiver", "model", "worker_pids", "server_pid", "logs"}
    assert expected <= set(described)

    again = launch("up")
    assert again.wait(20) == 0
    assert "Pawl is already up" in again.said()
    assert str(described["ingress"]) in again.said()

    down = launch("down")
    assert down.wait(30) == 0
    assert up.wait(10) == 0
    assert up.left() == []
    assert "nothing is left running" in up.said()
    assert not (tmp_path / "stack.json").exists()


def test_up_has_the_new_calls_also_after_another_worker_had_them(launch: Launch, tmp_path: Path) -> None:
    asked = free_ports()
    up = launch("up", *asked)
    up.wait_said("/status\n")
    described = record(tmp_path)
    at = Addresses(described["ingress"], described["admin"], described["receiver"], described["model"])
    listen = f"{ports.HOST}:{ports.free_port()}"
    other = subprocess.Popen(
        PAWL.argv(listen, at), env=environment(PAWL.env(listen, at)), cwd=ROOT, stderr=subprocess.DEVNULL
    )
    try:
        PAWL.register(at, f"http://{listen}")
    finally:
        other.kill()
        other.wait(10)
    assert launch("down").wait(30) == 0
    again = launch("up", *asked)
    again.wait_said("/status\n")
    with Ingress("ingress", at.ingress) as ingress:
        answer = ingress.invoke("Agent", "after", "run", {"task": "refund order 1042"}, 20)
    assert answer.json()["state"] == "completed"


def test_up_names_the_settings_that_it_does_not_use_and_those_that_lead_to_it(
    launch: Launch, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = free_ports()
    ingress = asked[asked.index("--ingress-port") + 1]
    monkeypatch.setenv("PAWL_MAX_TURNS", "3")
    monkeypatch.setenv("PAWL_INGRESS", f"http://127.0.0.1:{ingress}")
    up = launch("up", *asked)
    up.wait_said("not used by this stack")
    assert "not used by this stack: PAWL_MAX_TURNS." in up.said()
    exports = next(line.strip() for line in up.said().splitlines() if line.strip().startswith("export "))
    set_by_it = subprocess.run(
        ["sh", "-c", f"{exports}; {sys.executable} -m services.cli pending"],
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
        cwd=ROOT,
    )
    assert (set_by_it.returncode, set_by_it.stderr) == (0, "")
    names = [word.partition("=")[0] for word in exports.split()[1:]]
    assert names == ["PAWL_INGRESS", "PAWL_ADMIN", "PAWL_LISTEN", "PAWL_RECEIVER_URL", "PAWL_MODEL_URL"]


def test_ctrl_c_ends_up(launch: Launch, tmp_path: Path) -> None:
    up = launch("up", *free_ports())
    up.wait_said("/status\n")
    up.running.send_signal(signal.SIGINT)
    assert up.wait(20) == 0
    assert up.left() == []
    assert not (tmp_path / "stack.json").exists()


def test_a_worker_that_is_killed_is_started_again(launch: Launch, tmp_path: Path) -> None:
    up = launch("up", *free_ports())
    up.wait_said("/status\n")
    worker = record(tmp_path)["worker_pids"][0]
    os.kill(worker, signal.SIGKILL)
    up.wait_said("the worker was started again as pid")
    successor = record(tmp_path)["worker_pids"][0]
    assert successor != worker
    assert pids.mark(successor) is not None


def test_down_after_a_killed_up_ends_what_is_left_and_a_new_up_starts(launch: Launch, tmp_path: Path) -> None:
    up = launch("up", *free_ports())
    up.wait_said("/status\n")
    up.running.kill()
    up.wait(10)
    down = launch("down")
    assert down.wait(30) == 0
    assert up.left() == []
    again = launch("up", *free_ports())
    again.wait_said("/status\n")


@pytest.mark.parametrize("moment", ["", "starting restate-server"])
def test_down_in_the_middle_of_up_ends_it(launch: Launch, tmp_path: Path, moment: str) -> None:
    up = launch("up", *free_ports())
    if moment:
        up.wait_said(moment)
    else:
        wait_until("the lock", (tmp_path / "up.lock").exists, 20)
    down = launch("down")
    assert down.wait(40) == 0
    assert "nothing is left running" in down.said()
    assert up.wait(1) == 0, up.said()
    assert up.left() == []
    assert "Traceback" not in up.said() + down.said()
    assert not (tmp_path / "stack.json").exists()


def test_down_without_up_says_so(launch: Launch) -> None:
    down = launch("down")
    assert down.wait(20) == 0
    assert "nothing is running" in down.said()


def test_a_port_that_was_asked_for_and_is_taken_is_refused_before_anything_starts(
    launch: Launch, tmp_path: Path
) -> None:
    with socket.create_server((ports.HOST, ports.free_port())) as server:
        taken = server.getsockname()[1]
        up = launch("up", "--ingress-port", str(taken))
        assert up.wait(20) == 2
    assert (
        up.said().strip()
        == f"port {taken}, asked for as the ingress's, is taken by another program; nothing was started"
    )
    assert not (tmp_path / "up").exists()


@pytest.mark.parametrize("command", ["demo", "up", "matrix", "storm", "window", "bench"])
@pytest.mark.parametrize(
    ("named", "sentence"),
    [
        ("restate-server", "is restate-server 1.0.0, but Pawl is made for"),
        ("nowhere", "which is not a program that can be run"),
    ],
)
def test_a_server_that_cannot_be_used_is_refused_before_anything_is_made(
    tmp_path: Path, command: str, named: str, sentence: str
) -> None:
    wrong = tmp_path / "restate-server"
    wrong.write_text("#!/bin/sh\necho restate-server 1.0.0\n")
    wrong.chmod(0o755)
    asked = subprocess.run(
        [sys.executable, "-m", "lab", command, "--dir", str(tmp_path / "made")],
        cwd=ROOT,
        env=os.environ | {"RESTATE_SERVER": str(tmp_path / named)},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert asked.returncode == 2
    assert sentence in asked.stderr and "Traceback" not in asked.stderr
    assert len(asked.stderr.splitlines()) == 1
    assert [path for path in (tmp_path / "made").glob("*") if path.is_dir()] == []


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("delay_s", [0.1, 0.5, 0.8, 1.1, 1.4, 1.7, 2.0, 2.5, 3.0, 4.0])
def test_a_demo_that_is_stopped_at_any_moment_leaves_nothing(
    launch: Launch, tmp_path: Path, number: signal.Signals, delay_s: float
) -> None:
    demo = launch("demo")
    time.sleep(delay_s)
    demo.running.send_signal(number)
    demo.wait(20)
    assert demo.left() == []
