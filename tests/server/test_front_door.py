"""The run id is the identity of a request, at our own front door too."""

import re
import shlex
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner, Result

from services import cli
from tests.server.stand import KEYED, Stand, Way
from tests.server.world import World, call, calls


def paying(world: World, name: str) -> tuple[str, str]:
    run_id = world.run_id(name)
    reply = calls(call("charge_card", customer_id=run_id, amount_cents=100))
    return run_id, world.script(reply, {"content": "done"}, name=run_id)


def charges(world: World, subject: str) -> int:
    return sum(subject in str(row["body"]) for row in world.stack.receiver.effects() if row["effect"] == "charge")


def test_many_who_start_the_same_run_at_once_get_the_same_one(world: World) -> None:
    run_id, task = paying(world, "many")
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda _: world.run(run_id, task), range(16)))
    assert {answer["answer"] for answer in answers} == {"done"}
    assert [answer["replayed"] for answer in answers].count(False) == 1
    assert charges(world, run_id) == 1


def test_a_hundred_submits_and_runs_mixed_start_it_once(world: World) -> None:
    run_id, task = paying(world, "mixed")

    def ask(number: int) -> Any:
        return world.post(run_id, "submit" if number % 2 else "run", {"task": task}).json()

    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(ask, range(100)))
    assert {answer.get("status", answer.get("state")) for answer in answers} <= {
        "accepted",
        "running",
        "ended",
        "completed",
    }
    world.until(run_id, "completed")
    assert charges(world, run_id) == 1 and world.model_requests(run_id) == 2


def test_another_task_under_the_same_id_is_refused_whatever_the_run_is_doing(stand: Stand) -> None:
    gate = stand.model_gate("arrived", times=1)
    cell = stand.begin_one(KEYED)
    gate.wait()
    task = f"task {stand.tag} {cell.run_id}."
    # The model has been asked in the moment in which Restate hears that the run has begun.
    stand.wait(lambda: stand.post(cell.run_id, "status").status_code == 200, "the run")
    assert stand.post(cell.run_id, "submit", {"task": task}).json()["invocation_id"] == cell.invocation
    assert stand.post(cell.run_id, "submit", {"task": "another"}).status_code == 422
    assert stand.post(cell.run_id, "submit", {"task": task, "grant": {"each_cents": 1}}).status_code == 422
    answers: list[int] = []
    queued = threading.Thread(
        target=lambda: answers.append(stand.post(cell.run_id, "run", {"task": "another"}).status_code)
    )
    queued.start()
    gate.release()
    queued.join()
    assert answers == [422]
    assert stand.until(cell.run_id, "completed")["task"] == task
    assert cell.applied() == 1


def test_a_failed_run_stays_failed_and_says_how_to_start_anew(world: World) -> None:
    run_id = world.run_id("fails")
    task = world.script({"status": 401, "body": {"error": {"message": "no"}}}, name=run_id)
    first, again = world.run(run_id, task), world.run(run_id, task)
    assert (first["state"], first["replayed"]) == ("failed", False)
    assert (again["state"], again["replayed"], again["reason"]) == ("failed", True, first["reason"])
    assert world.model_requests(run_id) == 1
    assert first["anew"] == again["anew"] == world.status(run_id)["anew"]
    further = re.findall(r'"again": (\d+)', again["anew"])
    assert further == ["2"]
    world.script({"content": "now"}, name=run_id)
    third = world.run(run_id, task, again=int(further[0]))
    assert third["answer"] == "now" and "anew" not in third


def test_the_command_line_shows_how_to_start_anew(world: World) -> None:
    run_id = world.run_id("pasted")
    task = world.script({"status": 401, "body": {"error": {"message": "no"}}}, name=run_id)
    at = {"PAWL_INGRESS": world.stack.at.ingress, "PAWL_ADMIN": world.stack.at.admin}

    def pawl(*words: str) -> Result:
        return CliRunner().invoke(cli.app, words, env=at)

    command = f"python -m services.cli again {run_id}"
    for words in (("run", run_id, task), ("submit", run_id, task), ("status", run_id)):
        shown = pawl(*words)
        assert shown.exit_code == 1 and f"{command}\n" in shown.stdout
    world.script({"content": "now"}, name=run_id)
    assert pawl(*shlex.split(command)[3:]).exit_code == 0
    world.until(run_id, "completed")
    assert command not in pawl("status", run_id).stdout


@pytest.mark.parametrize("key", ["", " ", "a/b", "x" * 201], ids=["empty", "blank", "slash", "long"])
def test_what_is_no_run_id_is_refused_by_every_handler(world: World, key: str) -> None:
    task, decision = {"task": "t"}, {"key": "k", "decision": "approve"}
    bodies = {"run": task, "submit": task, "status": None, "decide": decision, "cancel": {}, "forget": None}
    for handler, body in bodies.items():
        refused = world.post(key, handler, body)
        assert refused.status_code == 400 and "a run id has 1 to 200 characters" in refused.text, handler


@pytest.mark.parametrize("again", [0, 1, -1, 3, 2.5])
def test_a_pass_that_is_not_the_next_is_refused(world: World, again: Any) -> None:
    run_id, task = paying(world, "passes")
    world.run(run_id, task)
    reply = world.post(run_id, "run", {"task": task, "again": again})
    assert reply.status_code in (400, 422), reply.text
    assert charges(world, run_id) == 1


def test_restate_s_own_idempotency_key_hides_nothing(world: World) -> None:
    run_id, task = paying(world, "header")
    url, headers = f"/Agent/{run_id}/run", {"idempotency-key": f"{world.tag}-k"}
    client = world.stack.ingress._client
    bodies = [client.post(url, json={"task": task}, headers=headers, timeout=30).json() for _ in range(2)]
    assert [body["state"] for body in bodies] == ["completed"] * 2
    assert charges(world, run_id) == 1


def test_a_submit_whose_answer_is_lost_can_be_repeated(stand: Stand) -> None:
    run_id, task = paying(stand, "lost")
    stand.relay.hold(Way.TO_SERVER, after=1)
    lost = threading.Thread(target=stand.post, args=(run_id, "submit", {"task": task}))
    lost.start()
    stand.relay.wait_held(Way.TO_SERVER)
    stand.a.kill()
    stand.relay.cut()
    stand.a.start()
    assert stand.post(run_id, "submit", {"task": task}).json()["status"] in ("accepted", "running", "ended")
    lost.join()
    stand.until(run_id, "completed")
    assert charges(stand, run_id) == 1
    assert stand.run(run_id, task)["replayed"] is True


@pytest.mark.parametrize("handler", ["run", "submit", "status"])
def test_a_run_without_an_id_is_refused(world: World, handler: str) -> None:
    reply = world.post("", handler, None if handler == "status" else {"task": "anything"})
    assert reply.status_code == 400, reply.text
    assert "id" in reply.json()["message"], reply.text
    assert world.stack.admin.query("SELECT key FROM state WHERE service_name = 'Agent' AND service_key = ''") == []


@pytest.mark.parametrize("handler", ["run", "submit"])
def test_a_number_that_is_none_is_refused(world: World, handler: str) -> None:
    """JSON can write a number that reads as infinite; no row could hold it."""
    body = b'{"task": "anything", "limits": {"cost_cents": 1e400}}'
    url = f"{world.stack.at.ingress}/Agent/{world.run_id()}/{handler}"
    reply = httpx.post(url, content=body, headers={"content-type": "application/json"}, timeout=10, trust_env=False)
    assert reply.status_code == 400 and "limits.cost_cents" in reply.text


TOO_MUCH_BYTES = 40_000_000


@pytest.mark.parametrize("handler", ["run", "submit"])
def test_a_request_of_forty_megabytes_is_refused_and_begins_nothing(world: World, handler: str) -> None:
    run_id = world.run_id("large")
    assert world.post(run_id, handler, {"task": "x" * TOO_MUCH_BYTES}).status_code == 413
    assert world.post(run_id, "status").status_code == 404
    # The next one under that id is a request like any other.
    assert world.run(run_id, world.script({"content": "done"}, name=run_id))["state"] == "completed"
