"""The processes themselves: how they start, stop and refuse, and gates over HTTP."""

import asyncio
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from tests.mocks.process import ROOT, MockProcess, running
from tests.mocks.sending import all_at_once, behave, effects, post, requests

# Far below any supervisor's patience.
STOP_S_MAX = 3.0


def run_to_its_end(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "mocks", *arguments], cwd=ROOT, capture_output=True, text=True, timeout=20, check=False
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_receiver_at_once_whatever_it_holds(tmp_path: Path, number: int) -> None:
    with running("receiver", tmp_path / "receiver.db") as receiver:
        receiver.arm("refund", "arrived")
        receiver.arm("email", "applied")
        behave(receiver, "charge", hang=True)
        behave(receiver, "transfer", slow_ms=60_000)
        bodies = {"/charges": {}, "/refunds": {}, "/emails": {"to": "a", "subject": "b", "body": "c"}}
        for path, body in bodies.items():
            with pytest.raises(httpx.ReadTimeout):
                post(receiver, f"k{path}", body, path, timeout_s=0.1)
        started = time.monotonic()
        assert receiver.stop(number) == 0
        assert time.monotonic() - started < STOP_S_MAX
        receiver.start()
        assert len(effects(receiver, "k/emails")) == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_model_at_once_whatever_it_holds(tmp_path: Path, number: int) -> None:
    with running("model", tmp_path / "model.db") as model:
        model.arm("chat", "arrived")
        with pytest.raises(httpx.ReadTimeout):
            model.client.post("/v1/chat/completions", json={"messages": []}, timeout=0.1)
        started = time.monotonic()
        assert model.stop(number) == 0
        assert time.monotonic() - started < STOP_S_MAX


def test_a_request_stopped_before_its_commit_leaves_the_key_free(fresh_receiver: MockProcess, key: str) -> None:
    behave(fresh_receiver, "charge", slow_ms=60_000, times=1)
    with pytest.raises(httpx.ReadTimeout):
        post(fresh_receiver, key, timeout_s=0.1)
    assert fresh_receiver.stop() == 0
    fresh_receiver.start()
    assert post(fresh_receiver, key).status_code == 201
    assert len(effects(fresh_receiver, key)) == 1


@pytest.mark.parametrize(
    "arguments,words",
    [
        (["receiver"], "--db"),
        (["sender", "--db", "x"], "invalid choice"),
        (["receiver", "--db", "x", "--port", "many"], "invalid int"),
        (["receiver", "--db", "{tmp}/a.db", "--port", "99999"], "port"),
        (["model", "--db", "/proc/none/a.db", "--port", "0"], "/proc/none"),
        (["model", "--db", "{tmp}", "--port", "0"], "database"),
    ],
)
def test_wrong_arguments_end_with_two_and_one_sentence(tmp_path: Path, arguments: list[str], words: str) -> None:
    ended = run_to_its_end(*[argument.replace("{tmp}", str(tmp_path)) for argument in arguments])
    assert ended.returncode == 2
    assert words in ended.stderr
    assert len(ended.stderr.strip().splitlines()) == 1
    assert ended.stdout == ""


def test_a_taken_port_and_a_database_in_use_are_refused(fresh_receiver: MockProcess, tmp_path: Path) -> None:
    taken = run_to_its_end("receiver", "--db", str(tmp_path / "other.db"), "--port", str(fresh_receiver.port))
    assert (taken.returncode, str(fresh_receiver.port) in taken.stderr) == (2, True)
    in_use = run_to_its_end("receiver", "--db", str(fresh_receiver.db), "--port", "0")
    assert (in_use.returncode, "in use by another process" in in_use.stderr) == (2, True)
    assert fresh_receiver.client.get("/health").status_code == 200


def test_a_held_request_whose_caller_has_gone_is_processed_when_it_is_released(receiver: MockProcess, key: str) -> None:
    gate = receiver.arm("charge", "arrived")
    with pytest.raises(httpx.ReadTimeout):
        post(receiver, key, timeout_s=0.1)
    assert effects(receiver, key) == []
    assert [(r["applied"], r["status"]) for r in requests(receiver, key)] == [(False, None)]
    receiver.release(gate)
    deadline_s = time.monotonic() + 5
    while not effects(receiver, key) and time.monotonic() < deadline_s:
        time.sleep(0.01)
    assert len(effects(receiver, key)) == 1


async def test_applied_means_committed_and_not_yet_answered(receiver: MockProcess, key: str) -> None:
    gate = receiver.arm("charge", "applied")
    under_way = asyncio.create_task(all_at_once(receiver, [key]))
    assert await asyncio.to_thread(receiver.held, gate) == 1
    assert len(effects(receiver, key)) == 1
    assert [(r["applied"], r["status"]) for r in requests(receiver, key)] == [(True, None)]
    receiver.release(gate)
    [answer] = await under_way
    assert isinstance(answer, httpx.Response)
    assert answer.status_code == 201
    assert requests(receiver, key)[0]["status"] == 201


def test_waiting_at_a_gate_ends_with_the_time(receiver: MockProcess) -> None:
    gate = receiver.arm("sms", "arrived", times=2)
    started = time.monotonic()
    assert receiver.held(gate, wait_s=0.2) == 0
    assert 0.15 <= time.monotonic() - started < 3
    receiver.release(gate)
    assert receiver.client.get(f"/gates/{gate}").json() == {"id": gate, "held": 0, "released": True}


@pytest.mark.parametrize(
    "order",
    [
        {"effect": "charge"},
        {"effect": "charge", "point": "later"},
        {"effect": "charge", "point": "applied", "times": 0},
    ],
)
def test_a_wrong_gate_is_refused(receiver: MockProcess, order: dict[str, object]) -> None:
    assert receiver.client.post("/gates", json=order).status_code == 400
    gate = receiver.arm("sms", "applied")
    for wait_s in ("soon", "-1", "nan", "61"):
        assert receiver.client.get(f"/gates/{gate}", params={"wait_s": wait_s}).status_code == 400
    receiver.release(gate)
    assert receiver.client.get("/gates/none").status_code == 404
    assert receiver.client.post("/gates/none/release").status_code == 404
