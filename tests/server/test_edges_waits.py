"""A provider or a receiver that limits, refuses, fails or hangs: how many requests that costs, when they leave, and
how it ends. Requests are counted at the other end."""

import time
from email.utils import formatdate
from itertools import pairwise
from typing import Any

import pytest

from tests.server.edge import Edge, served_with
from tests.server.world import call, calls

DONE = {"content": "done"}


def error(status: int, code: str | None = None, message: str = "no", **headers: str) -> dict[str, Any]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return {"status": status, "headers": named, "body": {"error": {"code": code, "message": message}}}


def then(*attempts: dict[str, Any]) -> dict[str, Any]:
    """The first reply of a script: these, one for each identical request."""
    return {"attempts": list(attempts)}


def gaps(edge: Edge, name: str = "s") -> list[float]:
    """Seconds between the model's requests for a script."""
    at = [row["at"] for row in edge.rows(name)]
    return [later - earlier for earlier, later in pairwise(at)]


def in_seconds(seconds: float) -> str:
    return formatdate(time.time() + seconds, usegmt=True)


WAITS = {
    "seconds": ({"retry_after": "2"}, 2.0),
    "a date": ({"retry_after": "in 3 s"}, 1.5),
    "milliseconds": ({"retry_after_ms": "1500"}, 1.5),
    "milliseconds first": ({"retry_after_ms": "1500", "retry_after": "1"}, 1.5),
}


@pytest.mark.parametrize(("headers", "least_s"), WAITS.values(), ids=WAITS)
def test_no_request_leaves_before_the_time_that_the_provider_names(
    edge: Edge, headers: dict[str, str], least_s: float
) -> None:
    named = {name: in_seconds(3) if "in" in value else value for name, value in headers.items()}
    run_id, task = edge.run_id(), edge.script(then(error(429, **named), DONE))
    edge.submit(run_id, task)
    waiting = edge.until(run_id, "waiting_until")
    assert waiting["until"] > time.time() and "429" in waiting["reason"]
    edge.until(run_id, "completed")
    (gap,) = gaps(edge)
    assert gap >= least_s


@pytest.mark.parametrize("value", ["-1", "abc", "0", "", "1e3", in_seconds(-60)])
def test_a_wait_that_makes_no_sense_is_the_ordinary_one(edge: Edge, value: str) -> None:
    edge.run(edge.run_id(), edge.script(then(error(429, retry_after=value), DONE)), timeout_s=5)
    (gap,) = gaps(edge)
    assert 0.05 <= gap < 3


def test_the_wait_outlives_the_worker(edge: Edge) -> None:
    run_id, task = edge.run_id(), edge.script(then(error(429, retry_after="4"), DONE))
    edge.submit(run_id, task)
    edge.until(run_id, "waiting_until")
    edge.kill_worker()
    assert edge.until(run_id, "completed", wait_s=15)["turns"] == 1
    (gap,) = gaps(edge)
    assert gap >= 4


def test_a_wait_beyond_the_budget_ends_the_run_at_once(edge: Edge) -> None:
    ended = edge.run(edge.run_id(), edge.script(error(429, retry_after="20000")), timeout_s=5)
    assert (ended["state"], ended["reason"], len(edge.rows())) == ("failed", "rate_limited", 1)
    assert "20000 s" in ended["detail"] and "14400 s are left" in ended["detail"]


FINAL = {
    "no money": (error(429, "insufficient_quota", retry_after="30"), "quota_exhausted"),
    "402": (error(402), "quota_exhausted"),
    "401": (error(401, "invalid_api_key"), "unauthorised"),
    "403": (error(403), "unauthorised"),
    "404": (error(404, "model_not_found"), "model_not_found"),
    "400": (error(400, "invalid_value", "tools[0] is wrong"), "bad_request"),
    "422": (error(422), "bad_request"),
    "redirect": ({"status": 307, "headers": {"location": "http://127.0.0.1:9/v1"}, "body": ""}, "bad_request"),
    "stream": ({"status": 200, "headers": {"content-type": "text/event-stream"}, "body": "data: {}\n\n"}, "streamed"),
}


@pytest.mark.parametrize(("reply", "reason"), FINAL.values(), ids=FINAL)
def test_what_cannot_succeed_costs_one_request_and_the_run_id_is_free(
    edge: Edge, reply: dict[str, Any], reason: str
) -> None:
    run_id, task = edge.run_id(), edge.script(then(reply, DONE))
    began = time.monotonic()
    ended = edge.run(run_id, task, timeout_s=5)
    assert (ended["state"], ended["reason"], len(edge.rows())) == ("failed", reason, 1)
    assert ended["detail"] and time.monotonic() - began < 3
    again = edge.run(run_id, task, again=2, timeout_s=5)
    assert (again["state"], again["pass"]) == ("completed", 2)


FAILING = {
    "500": {"status": 500},
    "503 and a wait": error(503, retry_after_ms="50"),
    "529": error(529, "overloaded_error"),
    "408": error(408),
    "cut": {"cut": True},
    "no answer": {"status": 200, "body": {"choices": []}},
    "error inside": {"status": 200, "body": {"error": {"message": "overloaded", "code": 503}}},
    "no JSON": {"status": 200, "body": "<html>"},
    "limited": error(429),
}


@pytest.mark.parametrize("reply", FAILING.values(), ids=FAILING)
def test_n_attempts_are_n_requests_to_the_model(edge: Edge, reply: dict[str, Any]) -> None:
    ended = edge.run(edge.run_id(), edge.script(reply), timeout_s=15)
    assert (ended["state"], len(edge.rows())) == ("failed", 3)
    assert ended["reason"] in ("model_unavailable", "no_answer", "rate_limited")
    assert "after 3 requests" in ended["detail"]


def test_a_model_that_nobody_serves_is_asked_three_times(edge: Edge) -> None:
    task = edge.script(DONE)
    edge.stack.model_process.kill()
    ended = edge.run(edge.run_id(), task, timeout_s=15)
    assert (ended["reason"], "after 3 requests" in ended["detail"]) == ("model_unavailable", True)
    assert "Connect" in ended["detail"]


def test_a_crash_adds_one_request_at_most(edge: Edge) -> None:
    run_id, task = edge.run_id(), edge.script({"status": 500, "delay_s": 0.4})
    edge.submit(run_id, task)
    edge.wait(lambda: len(edge.rows()) == 2, "the second request", run_id)
    edge.kill_worker()
    ended = edge.until(run_id, "failed")
    assert "after 3 requests" in ended["detail"]
    assert len(edge.rows()) == 4


ARGUMENTS: dict[str, dict[str, Any]] = {
    "charge_card": {"amount_cents": 100, "customer_id": "c"},
    "update_crm": {"customer_id": "c", "fields": {"a": 1}},
}


def pay(edge: Edge, name: str) -> str:
    """A task that makes one call of this tool."""
    return edge.script(calls(call(name, **ARGUMENTS.get(name, {"who": edge.tag}))), DONE, name=name)


ATTEMPTS = {"pay_0": 1, "pay_1": 1, "pay_2": 2, "pay_quick": 3, "charge_card": 3, "update_crm": 2}
"""A write whose answers are in doubt is looked up before its attempts are used up."""


@pytest.mark.long
@pytest.mark.parametrize("behaviour", [{"fail": {"status": 500}}, {"lose_answer": "before_commit"}])
def test_n_attempts_are_n_requests_to_the_receiver(edge: Edge, behaviour: dict[str, Any]) -> None:
    edge.behave("*", **behaviour)
    runs = {name: edge.run_id(name) for name in ATTEMPTS}
    for name, run_id in runs.items():
        edge.submit(run_id, pay(edge, name))
    asked = {name: edge.until(run_id, "outcome_unknown") for name, run_id in runs.items()}
    sent = {name: [row for row in edge.requests(run) if row["method"] != "GET"] for name, run in asked.items()}
    assert {name: len(rows) for name, rows in sent.items()} == ATTEMPTS
    assert all(len({row["digest"] for row in rows}) == 1 for rows in sent.values())
    edge.stack.receiver.json("DELETE", "/behaviour/*")
    for name, run_id in runs.items():
        assert edge.decide(run_id, asked[name]["questions"][0]["key"], "did_not_happen").status_code == 200
        assert len(edge.effects(edge.until(run_id, "completed"))) == 1, name


def test_a_receiver_that_nobody_serves_did_nothing_and_the_model_is_told(edge: Edge) -> None:
    task = pay(edge, "pay_quick")
    edge.stack.receiver_process.kill()
    ended = edge.run(edge.run_id(), task, timeout_s=15)
    (row,) = ended["ledger"]
    assert (ended["state"], row["state"], row["attempts"]) == ("completed", "not_sent", 3)
    assert "could not be reached and did nothing" in edge.told("pay_quick")[0]


SLOW: dict[str, dict[str, Any]] = {
    "hangs": {"hang": True},
    "trickles": {"content": "x" * 2_000, "trickle_bytes_per_s": 200},
    "late": {"content": "late", "delay_s": 2.5},
    "an error that trickles": {**error(500, message="y" * 2_000), "trickle_bytes_per_s": 200},
}


@served_with(model_deadline_s="1.5")
def test_a_model_that_does_not_answer_in_time_is_asked_again_and_never_beside_itself(edge: Edge) -> None:
    runs = {name: edge.run_id() for name in SLOW}
    for name, run_id in runs.items():
        edge.submit(run_id, edge.script(then(SLOW[name], DONE), name=name))
    edge.say("never", edge.script({"hang": True}, name="never"))
    for name, run_id in runs.items():
        assert edge.until(run_id, "completed", "failed")["state"] == "completed", name
        (gap,) = gaps(edge, name)
        assert gap >= 1.5, name
    never = edge.heard("never")
    assert (never["state"], len(edge.rows("never"))) == ("failed", 3)
    assert "no whole answer within 1.5 s" in never["reason"]
    assert min(gaps(edge, "never")) >= 1.5
    edge.say("next", edge.script(DONE, name="next"))
    assert edge.heard("next")["reply"] == "done"


SLUGGISH = {
    "hangs": {"hang": True},
    "trickles": {"trickle_bytes_per_s": 20},
    "late": {"slow_after_ms": 1_800},
    "late to apply": {"slow_ms": 1_800},
}


@pytest.mark.parametrize("behaviour", SLUGGISH.values(), ids=SLUGGISH)
def test_a_receiver_that_does_not_answer_in_time_is_asked_again_with_the_same_bytes(
    edge: Edge, behaviour: dict[str, Any]
) -> None:
    edge.behave("charge", **behaviour, times=1)
    ended = edge.run(edge.run_id(), pay(edge, "pay_quick"))
    rows = edge.requests(ended)
    assert (ended["state"], len(edge.effects(ended)), len({row["digest"] for row in rows})) == ("completed", 1, 1)
    assert rows[1]["at"] - rows[0]["at"] >= 1


@pytest.mark.parametrize(
    ("edge", "requests"),
    [
        ({"model_attempts": "0"}, 1),
        pytest.param({"model_attempts": "1"}, 1, marks=pytest.mark.long),
        pytest.param({"model_attempts": "2"}, 2, marks=pytest.mark.long),
    ],
    indirect=["edge"],
    ids=["none", "one", "two"],
)
def test_attempts_of_none_one_and_two_at_the_model(edge: Edge, requests: int) -> None:
    ended = edge.run(edge.run_id(), edge.script({"status": 500}), timeout_s=10)
    assert (ended["reason"], len(edge.rows())) == ("model_unavailable", requests)


@pytest.mark.long
@served_with(inactivity_s="10")
def test_a_run_that_waits_for_hours_holds_no_worker_and_can_be_cancelled(edge: Edge) -> None:
    run_id = edge.run_id()
    invocation = edge.submit(run_id, edge.script(then(error(429, retry_after="7200"), DONE)))
    waiting = edge.until(run_id, "waiting_until")
    assert 7_000 < waiting["until"] - time.time() <= 7_200

    def held() -> str:
        (row,) = edge.stack.admin.query(f"SELECT status FROM sys_invocation WHERE id = '{invocation}'")
        return str(row["status"])

    edge.wait(lambda: held() == "suspended", "no attempt is held", run_id, wait_s=20)
    assert edge.status(run_id)["state"] == "waiting_until"
    assert edge.post(run_id, "cancel", {}).status_code == 200
    assert edge.until(run_id, "cancelled")["state"] == "cancelled"
    assert len(edge.rows()) == 1
