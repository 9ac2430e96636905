"""`doctor` is green when all is in order, and turns red with a sentence that helps when something is not."""

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lab.paths import ROOT
from lab.ports import free_port
from lab.process import environment
from lab.stack import Stack
from services.checks import duration_s
from services.register import register
from tests.server.editions import edition, put_back, put_in_place
from tests.server.stand import QUICK
from tests.server.test_versions import STEP_MORE
from tests.server.world import World, call, calls


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with Stack(tmp_path_factory.mktemp("doctor"), worker_env=QUICK) as stack:
        yield World(stack, 1)


def doctor(world: World, *words: str, **env: str) -> tuple[int, dict[str, list[dict[str, Any]]]]:
    """Its exit code, and its checks by name."""
    worker = world.stack.workers[0].command
    said = subprocess.run(
        [sys.executable, "-m", "services.doctor", "--json", *words],
        cwd=ROOT,
        env=environment({**worker.env, **env}),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    found: dict[str, list[dict[str, Any]]] = {}
    for each in json.loads(said.stdout) if said.stdout else []:
        found.setdefault(each["name"], []).append(each)
    return said.returncode, found


def test_all_is_green_on_a_stack_that_works(place: World) -> None:
    code, found = doctor(place, "--model")
    assert code == 0, found
    assert {each["state"] for checks in found.values() for each in checks} <= {"ok", "note"}
    assert set(found) == {
        "versions",
        "worker",
        "server",
        "ingress",
        "registration",
        "runs",
        "time-outs",
        "shut-down",
        "retentions",
        "receiver",
        "model",
    }
    assert "journal of an ended call 1 d" in found["retentions"][0]["seen"]


WRONG = {
    "server": ({"PAWL_ADMIN": "http://127.0.0.1:{port}"}, ["did not answer", "PAWL_ADMIN"]),
    "ingress": ({"PAWL_INGRESS": "http://127.0.0.1:{port}"}, ["nothing answers", "PAWL_INGRESS"]),
    "receiver": ({"PAWL_RECEIVER_URL": "http://127.0.0.1:{port}"}, ["nothing answers", "PAWL_RECEIVER_URL"]),
    "worker": ({"PAWL_LISTEN": "127.0.0.1:{port}"}, ["nothing listens", "python -m services"]),
    "model": ({"PAWL_MODEL_URL": "http://127.0.0.1:{port}/v1"}, ["no answer", "PAWL_MODEL_URL"]),
    "time-outs": ({"PAWL_INACTIVITY_S": "5"}, ["PAWL_INACTIVITY_S is 5", "send_deadline_s"]),
    "retentions": ({"PAWL_RETENTION_S": "3600"}, ["PAWL_RETENTION_S is 3600"]),
}


def test_other_time_outs_than_restate_was_told_are_seen_and_register_tells_it(place: World) -> None:
    good, url = place.stack.workers[0].command, place.stack.url(place.stack.workers[0])
    env = {"PAWL_INACTIVITY_S": "50"}
    code, found = doctor(place, **env)
    assert (code, found["time-outs"][0]["state"]) == (1, "wrong")
    assert "Restate was told 45 s and 135 s" in found["time-outs"][0]["seen"]
    place.stack.workers[0].kill()
    place.stack.workers[0].command = replace(good, env={**good.env, **env})
    try:
        place.stack.workers[0].start()
        assert "time-outs: Agent from 45s and 2m 15s to 50s and 2m 15s" in register(place.stack.at.admin, url, 10)
        assert "already registered" in register(place.stack.at.admin, url, 10)
        assert doctor(place, **env)[0] == 0
    finally:
        place.stack.workers[0].kill()
        place.stack.workers[0].command = good
        place.stack.workers[0].start()
        register(place.stack.at.admin, url, 10)


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_turns_its_check_red_and_says_what_to_do(place: World, name: str) -> None:
    env, words = WRONG[name]
    port = free_port()
    code, found = doctor(place, "--model", **{key: value.replace("{port}", str(port)) for key, value in env.items()})
    assert code == 1
    (check,) = found[name]
    assert check["state"] == "wrong"
    text = f"{check['seen']} {check['remedy']}"
    assert all(word in text for word in words), text


def test_a_port_that_somebody_else_has_is_named(place: World) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        listen = f"127.0.0.1:{other.getsockname()[1]}"
        code, found = doctor(place, PAWL_LISTEN=listen)
    assert code == 1
    assert f"{listen} is taken by something that is no worker" in found["worker"][0]["seen"]


def test_the_address_that_is_named_is_the_one_that_is_looked_at(place: World) -> None:
    free = f"127.0.0.1:{free_port()}"
    url = place.stack.url(place.stack.workers[0])
    code, found = doctor(place, "--worker", url, PAWL_LISTEN=free)
    assert (code, found["worker"][0]["seen"]) == (0, f"serves at {url}")
    code, found = doctor(place, "--worker", f"http://{free}")
    (worker,) = found["worker"]
    assert (worker["state"], f"http://{free}" in worker["seen"]) == ("note", True)
    assert code == 1 and f"http://{free} is not registered" in found["registration"][0]["seen"]
    with socket.create_server(("127.0.0.1", 0)) as other:
        named = f"http://127.0.0.1:{other.getsockname()[1]}"
        assert named in doctor(place, "--worker", named)[1]["worker"][0]["seen"]


def test_a_wrong_setting_is_one_sentence_and_exit_code_2(place: World) -> None:
    assert doctor(place, PAWL_MAX_TURNS="none")[0] == 2
    assert doctor(place, "--worker", "localhost:9080")[0] == 2


def test_other_code_at_a_registered_address_turns_registration_red(place: World, tmp_path: Path) -> None:
    run_id = place.run_id()
    charge = calls(call("charge_card", customer_id=place.tag, amount_cents=500))
    always = {"approve_above_cents": {"charge_card": -1}}
    place.submit(run_id, place.script(charge, {"content": "done"}), grant=always)
    asked = place.until(run_id, "waiting_approval")
    worker = place.stack.workers[0]
    put_in_place(worker, edition(tmp_path / "other", STEP_MORE))
    try:
        code, found = doctor(place)
    finally:
        put_back(worker)
    assert code == 1
    (check,) = found["registration"]
    assert check["state"] == "wrong"
    assert "other code" in check["seen"]
    assert "1 open calls depend on it" in check["seen"]
    assert doctor(place)[0] == 0
    assert place.decide(run_id, asked["ledger"][0]["key"], "approve").status_code == 200
    place.until(run_id, "completed")


def test_an_old_version_that_is_away_though_runs_depend_on_it_is_named(place: World, tmp_path: Path) -> None:
    run_id = place.run_id()
    charge = calls(call("charge_card", customer_id=f"{place.tag}-2", amount_cents=500))
    always = {"approve_above_cents": {"charge_card": -1}}
    place.submit(run_id, place.script(charge, {"content": "done"}, name="away"), grant=always)
    asked = place.until(run_id, "waiting_approval")
    worker = place.stack.workers[0]
    url = place.stack.url(worker)
    worker.end()
    code, found = doctor(place)
    assert code == 1
    (check,) = found["registration"]
    assert url in check["seen"]
    assert "1 open calls depend on it" in check["seen"]
    worker.start()
    assert place.decide(run_id, asked["ledger"][0]["key"], "approve").status_code == 200
    place.until(run_id, "completed")


def test_durations_are_read_as_restate_writes_them() -> None:
    assert duration_s("1d") == 86_400
    assert duration_s("2m 30s") == 150
    assert duration_s("0s") == 0
    assert duration_s("500ms") == 0.5
    assert duration_s(None) is None


def test_what_others_run_can_be_left_out(place: World) -> None:
    """A container that only says whether the stack itself is well."""
    away = {"PAWL_RECEIVER_URL": f"http://127.0.0.1:{free_port()}"}
    assert doctor(place, **away)[0] == 1
    code, found = doctor(place, "--inside", **away)
    assert code == 0
    assert not {"receiver", "model"} & set(found)
    assert doctor(place, "--inside", PAWL_ADMIN=f"http://127.0.0.1:{free_port()}")[0] == 1
