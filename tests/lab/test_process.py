"""Every act on a process leaves the world as the act says, or is an error."""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab import pids, ports
from lab.errors import LabError
from lab.process import Process, environment
from tests.lab.programs import web_server


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Process]:
    process = web_server(tmp_path)
    process.start()
    yield process
    process.end(grace_s=1)


def test_a_killed_process_died_of_the_signal_and_its_port_refuses(server: Process) -> None:
    server.kill()
    assert server.exit_code == -signal.SIGKILL
    assert server.how_it_ended() == "SIGKILL"
    assert ports.refuses(server.command.port)
    assert pids.state(server.pid) is None


def test_a_frozen_process_is_stopped_until_it_is_thawed(server: Process) -> None:
    server.freeze()
    assert pids.state(server.pid) == "T"
    assert not server.command.ready()
    server.thaw()
    assert pids.state(server.pid) != "T"
    assert server.command.ready()


def test_a_killed_process_starts_again_on_its_port_and_its_log_goes_on(server: Process) -> None:
    first = server.pid
    server.kill()
    server.start()
    assert server.pid != first
    assert server.command.log.read_text().count("GET / HTTP") >= 2


def test_a_frozen_process_obeys_when_asked_to_end(server: Process) -> None:
    server.freeze()
    assert server.end(grace_s=5)
    assert not server.alive


def test_what_does_not_leave_in_time_is_killed(tmp_path: Path) -> None:
    stubborn = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"
    )
    process = web_server(tmp_path, sys.executable, "-c", stubborn)
    process.spawn()
    while "up" not in process.log_tail():
        assert process.alive
    assert not process.end(grace_s=0.2)
    assert process.exit_code == -signal.SIGKILL


@pytest.mark.parametrize("act", [Process.kill, Process.freeze, Process.thaw])
def test_a_fault_on_a_process_that_has_ended_is_an_error(server: Process, act: object) -> None:
    server.kill()
    with pytest.raises(LabError, match="the web server is not running"):
        act(server)  # type: ignore[operator]


def test_a_kill_whose_port_still_answers_is_an_error(tmp_path: Path) -> None:
    """A server that is a child of what was started outlives the kill."""
    port = ports.free_port()
    parent = (
        "import subprocess, sys\n"
        f"child = subprocess.Popen([sys.executable, '-m', 'http.server', '{port}', '--bind', '{ports.HOST}'])\n"
        "print(f'child={child.pid}.', flush=True)\n"
        "child.wait()\n"
    )
    process = web_server(tmp_path, sys.executable, "-c", parent, port=port)
    process.start()
    child = int(process.command.log.read_text().partition("child=")[2].partition(".")[0])
    with pytest.raises(LabError, match=f"killed, but port {port} still answers"):
        process.kill()
    os.kill(child, signal.SIGKILL)


def test_what_dies_before_it_is_ready_says_so_with_the_end_of_its_log(tmp_path: Path) -> None:
    process = web_server(tmp_path, sys.executable, "-c", "import sys; sys.exit('no such table')")
    with pytest.raises(LabError, match=r"ended with exit code 1 before it was ready(.|\n)*no such table"):
        process.start()


def test_what_is_never_ready_says_so(tmp_path: Path) -> None:
    process = web_server(tmp_path, sys.executable, "-c", "import time; time.sleep(60)", ready_s=0.3)
    with pytest.raises(LabError, match=r"was not ready within 0.3 s"):
        process.start()
    process.end(grace_s=1)


def test_another_programs_answer_on_the_port_is_not_taken_for_readiness(server: Process, tmp_path: Path) -> None:
    usurped = web_server(tmp_path, sys.executable, "-c", "pass", port=server.command.port)
    usurped.spawn()
    while usurped.alive:
        pass
    with pytest.raises(LabError, match="has ended, though something answers on its port"):
        usurped.wait_ready()


def test_starting_what_runs_is_an_error(server: Process) -> None:
    with pytest.raises(LabError, match="already running"):
        server.start()


def test_settings_of_the_shell_do_not_reach_a_child(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RESTATE_CONFIG", "/somewhere/else.toml")
    monkeypatch.setenv("PAWL_MODEL_KEY", "secret")
    child = environment({"PAWL_LISTEN": "127.0.0.1:1"})
    assert {name for name in child if name.startswith(("PAWL_", "RESTATE_"))} == {"PAWL_LISTEN"}
    assert child["PATH"] == os.environ["PATH"]
