"""Restate's request identity: a worker with keys answers only to a server that signs with one of them."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from lab.process import environment
from lab.stack import Stack
from services.identity import PRIVATE, PUBLIC, SERVER_SETTING, make
from tests.server.stand import QUICK
from tests.server.world import World

KEYS = "PAWL_IDENTITY_KEYS"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(tmp_path_factory.mktemp("identity"))


@pytest.fixture(scope="module")
def signed(folder: Path) -> Iterator[World]:
    """Made with what the command printed, as a person would."""
    made = subprocess.run(
        [sys.executable, "-m", "services.identity", "make", str(folder / "keys")],
        capture_output=True,
        text=True,
        check=True,
        env=environment({}),
    )
    settings = dict(line.partition(": ")[2].strip().split("=", 1) for line in made.stdout.splitlines())
    settings = {name: value.strip("'") for name, value in settings.items()}
    assert set(settings) == {SERVER_SETTING, KEYS}
    server_env = {SERVER_SETTING: settings[SERVER_SETTING]}
    with Stack(folder, worker_env={**QUICK, KEYS: settings[KEYS]}, server_env=server_env) as stack:
        world = World(stack, 920)
        world.restore()
        yield world


def test_a_server_that_signs_is_served(signed: World) -> None:
    ended = signed.run(signed.run_id(), signed.script({"content": "done"}))
    assert ended["state"] == "completed"


@pytest.mark.parametrize("path", ["/discover", "/invoke/Agent/run"])
def test_a_call_without_a_signature_is_refused(signed: World, path: str) -> None:
    url = signed.stack.url(signed.stack.workers[0])
    method = "GET" if path == "/discover" else "POST"
    reply = httpx.request(method, url + path, content=b"{}" if method == "POST" else None, trust_env=False)
    assert reply.status_code == 401
    forged = {"x-restate-signature-scheme": "v1", "x-restate-jwt-v1": "eyJhbGciOiJub25lIn0.e30."}
    assert httpx.request(method, url + path, headers=forged, trust_env=False).status_code == 401


def test_a_worker_with_another_key_is_not_registered(signed: World, folder: Path) -> None:
    _, other = make(folder / "other")
    worker = signed.stack.add_worker(signed.stack._target, {**QUICK, KEYS: f'["{other}"]'}, known_as="")
    answer = signed.stack.admin.call("POST", "/deployments", {"uri": signed.stack.url(worker)})
    assert not answer.is_success and "401" in answer.text
    worker.end()


def test_keys_are_for_their_owner_and_never_overwritten(tmp_path: Path) -> None:
    private, public = make(tmp_path)
    assert private.stat().st_mode & 0o777 == 0o600
    assert (tmp_path / PUBLIC).read_text() == f"{public}\n"
    again = subprocess.run(
        [sys.executable, "-m", "services.identity", "make", str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert again.returncode == 2 and PRIVATE in again.stderr
    assert "PRIVATE KEY" in private.read_text() and "PRIVATE KEY" not in again.stderr + again.stdout
