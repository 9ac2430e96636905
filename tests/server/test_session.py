"""Conversations: one message at a time, and whoever asks is answered at once."""

import json
import time
from typing import Any

import httpx
import pytest

from tests.server.editions import says, status
from tests.server.world import World, call, calls


def session(world: World, name: str = "chat") -> str:
    return f"{world.tag}-{name}"


def send(world: World, key: str, message_id: str, text: str, timeout_s: float = 5.0) -> httpx.Response:
    return world.stack.ingress.invoke("Session", key, "send", {"message_id": message_id, "text": text}, timeout_s)


def history(world: World, key: str) -> list[dict[str, Any]]:
    return list(world.stack.ingress.invoke("Session", key, "history", None, 5.0).json()["messages"])


def states(world: World, key: str) -> list[str]:
    return [message["state"] for message in history(world, key)]


def until(world: World, key: str, *wanted: str) -> list[dict[str, Any]]:
    world.wait(lambda: states(world, key) == list(wanted), f"{wanted}")
    return history(world, key)


def test_a_message_is_answered_and_the_next_one_sees_the_conversation(world: World) -> None:
    key = session(world)
    first, second = world.script({"content": "hello"}), world.script({"content": "again"}, name="t")
    assert send(world, key, "m1", first).json()["run_id"] == f"{key}~m1"
    until(world, key, "completed")
    send(world, key, "m2", second)
    messages = until(world, key, "completed", "completed")
    assert [message["reply"] for message in messages] == ["hello", "again"]
    rows = [row for row in world.stack.model.requests() if row["script"] == f"{world.tag}-t"]
    body = world.stack.model.json("GET", f"/requests/{rows[-1]['n']}")["body"]
    said = [message["content"] for message in body["messages"] if message["role"] != "system"]
    assert said == [first, "hello", second]


def test_what_the_model_said_beside_its_answer_comes_back_the_next_day(world: World) -> None:
    """The worker that goes on with the conversation knows it from the state only."""
    world.stack.model.json("PUT", "/switches", {"strict": True, "require_fields": True})
    key = session(world)
    thought = {"reasoning_content": "looked it up,\nthen {done} 😀", "signature": "c2ln+=="}
    order = call("look_up_order", order_id="9", extra_content={"thought": "x"})
    first = world.script(calls(order), {"content": "shipped", "extra": thought})
    second = world.script({"content": "again"}, name="t")
    send(world, key, "m1", first)
    until(world, key, "completed")
    for worker in world.stack.workers:
        worker.kill()
        worker.start()
    send(world, key, "m2", second)
    messages = until(world, key, "completed", "completed")
    assert [message["reply"] for message in messages] == ["shipped", "again"]
    rows = [row for row in world.stack.model.requests() if row["script"] == f"{world.tag}-t"]
    said = world.stack.model.json("GET", f"/requests/{rows[-1]['n']}")["body"]["messages"]
    assert {"role": "assistant", "content": "shipped", **thought} in said


def test_the_same_message_again_is_the_same_run_and_another_text_is_refused(world: World) -> None:
    key, task = session(world), world.script({"content": "hello"})
    send(world, key, "m1", task)
    until(world, key, "completed")
    assert send(world, key, "m1", task).json()["state"] == "completed"
    assert send(world, key, "m1", "other words").status_code == 422
    assert world.model_requests() == 1
    assert send(world, key, "a/b", task).status_code == 400
    assert send(world, "x~y", "m1", task).status_code == 400


@pytest.mark.parametrize("text", ["the same", "another"])
def test_a_name_from_before_the_conversation_was_deleted_is_not_used_again(world: World, text: str) -> None:
    """A repeat that comes late must not act a second time, and whoever sent it hears what to do."""
    key, task = session(world), world.script({"content": "hello"}, loop=True)
    for message_id in ("m1", "m2"):
        send(world, key, message_id, task)
        until(world, key, *["completed"] * int(message_id[1:]))
    asked = world.model_requests()
    assert world.stack.ingress.invoke("Session", key, "delete", None, 5.0).is_success
    assert send(world, key, "m2", task if text == "the same" else f"{task} More.").status_code == 200
    (again,) = until(world, key, "taken")
    assert "m2 was the name of an earlier message" in again["reason"] and "new message_id" in again["reason"]
    assert world.model_requests() == asked
    send(world, key, "m3", task)
    until(world, key, "taken", "completed")


@pytest.mark.parametrize("key", ["", " ", "x~y", "x" * 101], ids=["empty", "blank", "tilde", "long"])
def test_what_is_no_session_id_is_refused_by_every_handler(world: World, key: str) -> None:
    bodies = {"send": {"message_id": "m1", "text": "hello"}, "history": None, "delete": None}
    for handler, body in bodies.items():
        refused = world.stack.ingress.invoke("Session", key, handler, body, 5.0)
        assert refused.status_code == 400 and "a session id has 1 to 100 characters" in refused.text, handler


@pytest.mark.parametrize("dots", ["%2E", "%2E%2E"])
def test_a_name_that_an_address_reads_as_a_way_is_nobodys(world: World, dots: str) -> None:
    """A client turns such a name into another address; written out, it comes through to the handlers."""
    for path in (
        f"/Session/{dots}/history",
        f"/Session/{dots}/delete",
        f"/Agent/{dots}/status",
        f"/Agent/{dots}/forget",
    ):
        assert world.stack.ingress.call("POST", path).status_code == 400, path


def test_while_a_message_waits_for_a_person_the_next_is_queued_and_says_so_at_once(world: World) -> None:
    key = session(world)
    pay = calls(call("charge_card", customer_id=world.tag, amount_cents=100))
    world.behave("charge", lose_answer="before_commit")
    world.behave("find_charge", fail={"status": 500, "when": "before_commit", "store": False})
    task = world.script(calls(call("send_sms", to="+491", text=world.tag)), {"content": "sent"})
    world.behave("sms", lose_answer="after_commit", times=1)
    send(world, key, "m1", task)
    run_id = f"{key}~m1"
    parked = world.until(run_id, "outcome_unknown")
    later = world.script(pay, {"content": "later"}, name="t")
    began = time.monotonic()
    queued = send(world, key, "m2", later, timeout_s=1.0).json()
    assert (queued["state"], queued["position"]) == ("queued", 1)
    assert world.post(run_id, "status", timeout_s=1.0).status_code == 200
    waits = history(world, key)
    assert [message["state"] for message in waits] == ["running", "queued"]
    assert all(f"run {run_id} says" in message["reason"] for message in waits)
    world.stack.receiver.json("DELETE", "/behaviour/*")
    assert world.decide(run_id, parked["ledger"][0]["key"], "happened").status_code == 200
    assert time.monotonic() - began < 4
    until(world, key, "completed", "completed")


def test_behind_a_run_that_is_stuck_a_message_is_told_for_whom_it_waits(world: World) -> None:
    key = session(world)
    send(world, key, "m1", world.script({"hang": True}))
    world.wait(world.model_requests, "the call of the model")
    invocation = world.status(f"{key}~m1")["invocation_id"]
    assert world.stack.admin.call("PATCH", f"/invocations/{invocation}/pause").is_success
    assert world.wait(lambda: (s := status(world.stack, f"{key}~m1"))["state"] == "stuck" and s, "stuck")
    queued = send(world, key, "m2", world.script({"content": "next"}, name="t"), timeout_s=1.0).json()
    assert (queued["state"], queued["position"]) == ("queued", 1)
    assert f"run {key}~m1" in queued["reason"]
    assert history(world, key)[1]["reason"] == queued["reason"]
    # And the status of that run says what helps.
    assert status(world.stack, f"{key}~m1")["trouble"]["commands"]
    assert says(world.stack, "cli", "cancel", f"{key}~m1").returncode == 0
    until(world, key, "cancelled", "completed")


def test_two_hundred_messages_and_more_are_kept_to_their_number_and_answered_in_order(world: World) -> None:
    key, task = session(world), world.script({"content": "so be it"})
    for number in range(10):
        send(world, key, f"m{number}", task)
    until(world, key, *["completed"] * 10)
    # The rest is written as a session that has lasted for weeks has it.
    kept = [
        {"message_id": f"w{number}", "text": "x" * 500, "state": "completed", "reply": "y" * 500}
        for number in range(199)
    ]
    state = {"messages": [*kept, {"message_id": "last", "text": task, "state": "completed", "reply": "z"}]}
    body = {"object_key": key, "new_state": {"conversation": list(json.dumps(state).encode())}}
    assert world.stack.admin.call("POST", "/services/Session/state", body).is_success
    world.wait(lambda: len(history(world, key)) == 200, "the long history")
    began = time.monotonic()
    for number in range(5):
        assert send(world, key, f"n{number}", task).status_code == 200
    world.wait(lambda: history(world, key)[-1]["state"] == "completed", "the answers")
    assert time.monotonic() - began < 20
    said = world.stack.ingress.invoke("Session", key, "history", None, 5.0).json()
    assert (len(said["messages"]), said["dropped"]) == (200, 5)
    assert [message["message_id"] for message in said["messages"][-5:]] == [f"n{number}" for number in range(5)]


def test_a_killed_run_frees_its_session(world: World) -> None:
    key = session(world)
    world.behave("sms", lose_answer="after_commit", times=1)
    send(world, key, "m1", world.script(calls(call("send_sms", to="+491", text=world.tag)), {"content": "sent"}))
    parked = world.until(f"{key}~m1", "outcome_unknown")
    send(world, key, "m2", world.script({"content": "next"}, name="t"))
    world.kill_invocation(parked["invocation_id"])
    messages = until(world, key, "stuck", "completed")
    assert "did not end" in messages[0]["reason"] and messages[1]["reply"] == "next"


def test_a_failed_run_says_why_and_the_next_message_works(world: World) -> None:
    key = session(world)
    send(world, key, "m1", world.script({"status": 401, "body": {"error": {"message": "no"}}}))
    messages = until(world, key, "failed")
    assert "401" in messages[0]["reason"]
    send(world, key, "m2", world.script({"content": "fine"}, name="t"))
    assert until(world, key, "failed", "completed")[1]["reply"] == "fine"


def test_a_conversation_can_be_deleted_and_outlives_its_worker(world: World) -> None:
    key = session(world)
    send(world, key, "m1", world.script({"content": "hello"}))
    until(world, key, "completed")
    world.stack.workers[0].kill()
    world.stack.workers[0].start()
    assert states(world, key) == ["completed"]
    deleted = world.stack.ingress.invoke("Session", key, "delete", None, 5.0).json()
    assert (deleted["deleted"], history(world, key)) == (1, [])


def test_a_conversation_goes_on_after_everything_was_killed_between_two_messages(world: World) -> None:
    key = session(world)
    first, second = world.script({"content": "hello"}), world.script({"content": "still here"}, name="t")
    send(world, key, "m1", first)
    until(world, key, "completed")
    stack = world.stack
    everything = (stack.server, stack.receiver_process, stack.model_process, *stack.workers)
    for process in everything:
        process.kill()
    for process in everything:
        process.start()
    world.wait(lambda: states(world, key) == ["completed"], "the history")
    assert send(world, key, "m2", second).json()["run_id"] == f"{key}~m2"
    messages = until(world, key, "completed", "completed")
    assert [message["reply"] for message in messages] == ["hello", "still here"]
    rows = [row for row in stack.model.requests() if row["script"] == f"{world.tag}-t"]
    body = stack.model.json("GET", f"/requests/{rows[-1]['n']}")["body"]
    said = [message["content"] for message in body["messages"] if message["role"] != "system"]
    assert said == [first, "hello", second]
    # The first message again is the same run, also after that.
    assert send(world, key, "m1", first).json()["state"] == "completed"
    assert world.model_requests() == 1
