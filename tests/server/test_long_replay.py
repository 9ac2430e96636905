"""Long journals are replayed whole, in a bounded time and a bounded memory."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.ports import all_free
from lab.process import Process
from lab.relay import Relay, Way
from lab.stack import Stack
from tests.server.stand import QUICK, behind
from tests.server.world import World, call

INACTIVITY_S = 45.0
"""Restate's patience as the worker sets it: whatever is over sooner has not waited for it."""
REPLAY_S = 30.0
MEMORY_BYTES_MAX = 700 * 2**20
TURN_BYTES = 90_000
FRAME_BYTES = 16_384
"""What an HTTP/2 frame of data carries at most, where nobody asks for more."""
ENTRIES_A_TURN = 5
"""Two steps, of two entries each, and a row of the state."""
ENV = {
    **QUICK,
    "PAWL_MAX_TURNS": "400",
    "PAWL_MAX_CALLS": "400",
    "PAWL_MAX_TOKENS": "2000000000",
    "PAWL_HISTORY_BYTES": "200000",
}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with Stack(tmp_path / "stack", worker_env=ENV) as stack:
        yield World(stack, 1)


def peak_bytes(worker: Process) -> int:
    """The most memory that the process has had."""
    status = Path(f"/proc/{worker.pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) * 1024


def journal_of(world: World, run_id: str) -> tuple[int, int]:
    """Entries, and bytes of what they carry."""
    rows = world.stack.admin.query(
        "SELECT count(1) AS entries, sum(j.raw_length) AS bytes FROM sys_journal j JOIN sys_invocation i ON i.id = j.id"
        f" WHERE i.target_service_key = '{run_id}' AND i.target_handler_name = 'run'"
    )
    return int(rows[0]["entries"]), int(rows[0]["bytes"] or 0)


def turns(world: World, run_id: str) -> int:
    """So many replies of the model it has recorded."""
    rows = world.stack.admin.query(
        "SELECT journal_size FROM sys_invocation WHERE target_service_name = 'Agent' AND target_handler_name = 'run'"
        f" AND target_service_key = '{run_id}'"
    )
    return int(rows[0].get("journal_size") or 0) // ENTRIES_A_TURN if rows else 0


def wordy(world: World, size_bytes: int) -> str:
    """A task that is never done: the model talks, and looks an order up, over and over."""
    reply = {"content": "x" * size_bytes, "tool_calls": [call("look_up_order", order_id="7")]}
    return world.script(reply, loop=True)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_run_of_three_hundred_turns_is_replayed_after_a_kill(world: World) -> None:
    run_id, worker = world.run_id(), world.stack.workers[0]
    world.submit(run_id, wordy(world, TURN_BYTES), limits={"turns": 300})
    world.wait(lambda: turns(world, run_id) >= 290, "290 turns", run_id, 600)
    worker.kill()
    _entries, size_bytes = journal_of(world, run_id)
    assert size_bytes > 25 * 2**20
    began = time.monotonic()
    worker.start()
    # In the middle of the replay once more, and then for good.
    time.sleep(0.5)
    worker.kill()
    worker.start()
    ended = world.until(run_id, "failed", wait_s=REPLAY_S + 30)
    seconds = time.monotonic() - began
    assert ended["reason"] == "max_turns"
    assert ended["turns"] == 300
    assert seconds < REPLAY_S < INACTIVITY_S
    assert peak_bytes(worker) < MEMORY_BYTES_MAX


@pytest.mark.long
@pytest.mark.timeout(600)
def test_a_connection_that_is_cut_in_the_middle_of_a_replay_is_one_try_more(tmp_path: Path) -> None:
    ports = all_free()
    with (
        Relay(ports.worker) as relay,
        Stack(tmp_path / "stack", ports=ports, target=behind(relay), worker_env=ENV) as stack,
    ):
        world, worker = World(stack, 1), stack.workers[0]
        run_id = world.run_id()
        world.submit(run_id, wordy(world, TURN_BYTES), limits={"turns": 80})
        world.wait(lambda: turns(world, run_id) >= 70, "70 turns", run_id, 300)
        worker.kill()
        _entries, size_bytes = journal_of(world, run_id)
        assert size_bytes > 5 * 2**20
        began = time.monotonic()
        for frames in (10, size_bytes // FRAME_BYTES // 2, size_bytes // FRAME_BYTES - 20):
            relay.cut()
            relay.hold(Way.TO_WORKER, after=frames)
            if not worker.alive:
                worker.start()
            relay.wait_held(Way.TO_WORKER)
            relay.cut()
        ended = world.until(run_id, "failed", wait_s=REPLAY_S + 30)
        assert (ended["reason"], ended["turns"]) == ("max_turns", 80)
        assert time.monotonic() - began < REPLAY_S < INACTIVITY_S
        assert peak_bytes(worker) < MEMORY_BYTES_MAX


@pytest.mark.long
@pytest.mark.timeout(900)
def test_twenty_long_runs_at_once_are_replayed_after_a_kill(world: World) -> None:
    worker, task = world.stack.workers[0], wordy(world, 20_000)
    runs = [world.run_id() for _ in range(20)]
    for run_id in runs:
        world.submit(run_id, task, limits={"turns": 60})
    world.wait(lambda: min(turns(world, run_id) for run_id in runs) >= 40, "40 turns of each", wait_s=600)
    worker.kill()
    began = time.monotonic()
    worker.start()
    for run_id in runs:
        ended = world.until(run_id, "failed", wait_s=4 * REPLAY_S)
        assert ended["turns"] == 60
    assert time.monotonic() - began < 4 * REPLAY_S
    assert peak_bytes(worker) < MEMORY_BYTES_MAX
