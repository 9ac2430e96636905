"""A stack on real processes: ready when it says so, hurt and healed, and gone afterwards. The control is its worker."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lab import pids, ports
from lab.errors import LabError
from lab.rounds import TASK
from lab.stack import Stack
from lab.targets import JOURNALED

pytestmark = pytest.mark.server


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with Stack(tmp_path_factory.mktemp("stack"), target=JOURNALED) as made:
        yield made


def run(stack: Stack, run_id: str) -> dict[str, object]:
    reply = stack.ingress.invoke("Journaled", run_id, "run", {"task": TASK}, timeout_s=30)
    assert reply.status_code == 200, reply.text
    return dict(reply.json())


def test_an_open_stack_answers_a_first_run_at_once(stack: Stack) -> None:
    assert run(stack, "first")["state"] == "completed"


def test_the_server_finds_nothing_to_warn_of_in_its_settings(stack: Stack) -> None:
    assert "deprecated" not in (stack.logs / "restate-server.log").read_text()


@pytest.mark.parametrize("part", ["server", "receiver_process", "model_process"])
def test_a_part_that_was_killed_and_started_again_serves_as_before(stack: Stack, part: str) -> None:
    before = len(stack.receiver.effects())
    process = getattr(stack, part)
    process.kill()
    process.start()
    assert run(stack, f"after-{part}")["state"] == "completed"
    assert len(stack.receiver.effects()) == before + 3


def test_a_further_worker_is_registered_and_takes_over(stack: Stack) -> None:
    stack.add_worker(JOURNALED)
    stack.workers[0].kill()
    assert run(stack, "second-worker")["state"] == "completed"
    stack.workers[0].start()


def test_the_description_names_every_process_by_pid_mark_and_log(stack: Stack) -> None:
    described = stack.describe()
    running = [described["server_pid"], described["receiver_pid"], described["model_pid"], *described["worker_pids"]]
    assert sorted(running) == sorted(process.pid for process in stack.processes())
    assert all(pids.is_same(pid, described["marks"][str(pid)]) for pid in running)
    assert all(Path(log).exists() for log in described["logs"].values())


def test_a_stack_that_cannot_start_leaves_nothing(tmp_path: Path) -> None:
    stack = Stack(tmp_path, target=JOURNALED)
    stack.model_process.command.log.parent.mkdir(parents=True)
    (tmp_path / "model.sqlite").mkdir()  # the model cannot open its database
    with pytest.raises(LabError, match="the model ended with exit code 2 before it was ready"):
        stack.open()
    assert not any(process.alive for process in stack.processes())
    assert all(ports.is_free(process.command.port) for process in stack.processes())


def test_a_frozen_worker_does_not_hold_up_the_end(tmp_path: Path) -> None:
    with Stack(tmp_path, target=JOURNALED) as stack:
        stack.workers[0].freeze()
    assert not any(process.alive for process in stack.processes())


def test_the_same_folder_again_goes_on_with_the_same_data(tmp_path: Path) -> None:
    all_ports = ports.all_free()
    with Stack(tmp_path, target=JOURNALED, ports=all_ports) as stack:
        run(stack, "before")
        applied = stack.receiver.effects()
    with Stack(tmp_path, target=JOURNALED, ports=all_ports) as stack:
        assert stack.receiver.effects() == applied
        assert {row["target_service_key"] for row in stack.admin.query("SELECT * FROM sys_invocation")} == {"before"}
        assert run(stack, "after")["state"] == "completed"
