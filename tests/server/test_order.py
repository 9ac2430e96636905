"""Start-up in any order, and addresses that are wrong: a bounded wait, then a sentence with host, port and cause."""

import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from lab.paths import ROOT
from lab.ports import free_port
from lab.process import Process, environment
from lab.stack import Stack
from lab.targets import PAWL
from tests.server.editions import mentions, says
from tests.server.stand import QUICK
from tests.server.world import World

WAIT_S = 4
LATE_S = 3.0
SLACK_S = 12.0
"""Restate asks an address several times before it says that nothing is there."""


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with Stack(tmp_path_factory.mktemp("order"), worker_env=QUICK) as made:
        yield made


def begin(stack: Stack, worker: Process | None = None) -> subprocess.Popen[str]:
    """`register`, which waits in the background."""
    url = stack.url(worker or stack.workers[0])
    argv = [sys.executable, "-m", "services.register", "--worker", url, "--wait", "60"]
    env = environment({"PAWL_ADMIN": stack.at.admin})
    return subprocess.Popen(argv, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("late", ["the worker", "the server", "both"])
def test_registration_waits_for_what_comes_late(stack: Stack, late: str) -> None:
    parts = {"the worker": [stack.workers[0]], "the server": [stack.server], "both": [stack.workers[0], stack.server]}
    for process in parts[late]:
        assert process.end()
    with begin(stack) as waiting:
        time.sleep(LATE_S)
        assert waiting.poll() is None, f"it did not wait for {late}"
        for process in parts[late]:
            process.start()
        out, err = waiting.communicate(timeout=60)
    assert waiting.returncode == 0, err
    assert "registered" in out
    world = World(stack, hash(late) % 1000)
    assert world.run(world.run_id(late.replace(" ", "-")), world.script({"content": "done"}))["state"] == "completed"


def test_two_registrations_at_once_are_one(stack: Stack) -> None:
    worker = stack.add_worker(replace(PAWL, register=lambda _at, _worker: None), QUICK, known_as="")
    both = [begin(stack, worker) for _ in range(2)]
    for each in both:
        out, err = each.communicate(timeout=60)
        assert each.returncode == 0, err
        assert "registered as" in out
    known = stack.admin.query(f"SELECT id FROM sys_deployment WHERE endpoint LIKE '{stack.url(worker)}%'")
    assert len(known) == 1


def test_where_nothing_is_the_wait_ends_with_host_port_and_cause(stack: Stack, tmp_path: Path) -> None:
    port = free_port()
    began = time.monotonic()
    no_server = says(
        stack, "register", "--worker", stack.url(stack.workers[0]), "--admin", f"http://127.0.0.1:{port}", "--wait", "1"
    )
    no_worker = says(stack, "register", "--worker", f"http://127.0.0.1:{port}", "--wait", str(WAIT_S))
    assert time.monotonic() - began < 1 + WAIT_S + SLACK_S
    for said, sentences, words in (
        # That it waits is said at once, and for what.
        (no_server, 2, [f"127.0.0.1:{port}", "refused", "PAWL_ADMIN", "Waiting"]),
        (no_worker, 1, [f"127.0.0.1:{port}", "refused", "in a container, that is the container"]),
    ):
        assert said.returncode == 1
        assert said.stdout == ""
        assert len(said.stderr.splitlines()) == sentences
        assert mentions(said, words), said.stderr


def test_an_address_without_a_scheme_is_refused_before_anything_is_asked(stack: Stack) -> None:
    said = says(stack, "register", "--worker", "127.0.0.1:9080")
    assert said.returncode == 2
    assert mentions(said, ["'127.0.0.1:9080'", "http://"])


def test_a_host_that_nobody_knows_is_named(stack: Stack) -> None:
    said = says(stack, "register", "--worker", "http://worker.invalid:9080", "--wait", "1")
    assert said.returncode == 1
    assert mentions(said, ["worker.invalid:9080", "lookup"]), said.stderr


def test_a_server_that_speaks_only_http_1_is_named(stack: Stack) -> None:
    said = says(stack, "register", "--worker", stack.at.receiver, "--wait", str(WAIT_S))
    assert said.returncode == 1
    assert mentions(said, [stack.at.receiver, "HTTP1.1"]), said.stderr


def test_a_worker_whose_port_is_taken_says_so_and_ends(stack: Stack) -> None:
    worker = stack.workers[0]
    said = subprocess.run(
        [sys.executable, "-m", "services"],
        cwd=ROOT,
        env=environment(dict(worker.command.env)),
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert said.returncode == 2
    assert f"cannot listen on 127.0.0.1:{worker.command.port}" in said.stderr
    assert "PAWL_LISTEN" in said.stderr
