"""Each switchable behaviour, over HTTP: what the caller sees, what was applied, what the same key gets afterwards."""

import time
from typing import Any

import httpx
import pytest

from tests.mocks.process import MockProcess
from tests.mocks.sending import REPLAYED, TRANSFER, behave, code, effects, post, requests


def outcome(mock: MockProcess, key: str) -> str:
    """One attempt in a word: its status, `+` where it was replayed, `cut` or `timeout`."""
    try:
        answer = post(mock, key, timeout_s=0.5)
    except httpx.RemoteProtocolError:
        return "cut"
    except httpx.ReadTimeout:
        return "timeout"
    return f"{answer.status_code}{'+' if REPLAYED in answer.headers else ''}"


@pytest.mark.parametrize(
    "fields,attempts,applied",
    [
        ({"ignore_keys": True}, ["201", "201"], 2),
        ({"lose_answer": "before_commit", "times": 1}, ["cut", "201", "201+"], 1),
        ({"lose_answer": "after_commit", "times": 1}, ["cut", "201+"], 1),
        ({"lose_answer": "after_commit"}, ["cut", "cut"], 1),
        ({"lose_answer": "after_commit", "ignore_keys": True}, ["cut", "cut"], 2),
        ({"fail": {"status": 500, "when": "before_commit"}, "times": 1}, ["500", "201"], 1),
        ({"fail": {"status": 503, "when": "before_commit"}}, ["503", "503"], 0),
        ({"fail": {"status": 500, "when": "before_commit", "store": True}, "times": 1}, ["500", "500+", "500+"], 0),
        ({"fail": {"status": 500, "when": "after_commit"}, "times": 1}, ["500", "201+"], 1),
        ({"fail": {"status": 500, "when": "after_commit"}}, ["500", "500"], 1),
        ({"fail": {"status": 500, "when": "after_commit", "store": True}, "times": 1}, ["500", "500+"], 1),
        ({"refuse": {"status": 402, "code": "card_declined", "message": "no"}, "times": 1}, ["402", "402+"], 0),
        ({"refuse": {"store": False}, "times": 1}, ["402", "201"], 1),
        ({"refuse": {}, "lose_answer": "after_commit", "times": 1}, ["cut", "402+"], 0),
        ({"answer": {"status": 429}, "times": 2}, ["429", "429", "201"], 1),
        ({"answer_after": {"status": 502}, "times": 1}, ["502", "201+"], 1),
        ({"hang": True, "times": 1}, ["timeout", "201"], 1),
        ({"slow_ms": 1500, "times": 1}, ["timeout", "409"], 0),
        ({"slow_after_ms": 1500, "times": 1}, ["timeout", "201+"], 1),
        ({"lose_answer": "before_commit", "slow_ms": 10, "times": 1}, ["cut", "201"], 1),
        ({"key_lifetime_s": 0.001}, ["201", "201"], 2),
        ({"key_lifetime_s": 60}, ["201", "201+"], 1),
    ],
)
def test_what_the_same_key_gets(
    receiver: MockProcess, key: str, fields: dict[str, Any], attempts: list[str], applied: int
) -> None:
    """Some of these receivers keep their promise about keys, others break it."""
    behave(receiver, "charge", **fields)
    assert [outcome(receiver, key) for _ in attempts] == attempts
    assert len(effects(receiver, key)) == applied
    assert sum(row["applied"] for row in requests(receiver, key)) == applied


def test_an_error_that_was_stored_hides_an_effect_that_a_look_up_finds(receiver: MockProcess, key: str) -> None:
    behave(receiver, "charge", fail={"status": 500, "when": "after_commit", "store": True}, times=1)
    assert post(receiver, key).status_code == 500
    assert code(post(receiver, key)) == "internal_error"
    assert len(receiver.client.get("/charges", params={"key": key}).json()["data"]) == 1


def test_a_raw_answer_is_sent_as_written(receiver: MockProcess, key: str) -> None:
    behave(receiver, "charge", answer={"status": 418, "headers": {"X-Odd": "yes"}, "body_base64": "//4A"}, times=1)
    answer = post(receiver, key)
    assert (answer.status_code, answer.content, answer.headers["X-Odd"]) == (418, b"\xff\xfe\x00", "yes")
    behave(receiver, "charge", answer_after={"status": 201, "body": "<html>"}, times=1)
    assert post(receiver, key).text == "<html>"


def test_no_status_is_logged_where_no_answer_left(receiver: MockProcess, key: str) -> None:
    behave(receiver, "charge", lose_answer="after_commit", times=1)
    assert outcome(receiver, key) == "cut"
    assert [(row["applied"], row["status"]) for row in requests(receiver, key)] == [(True, None)]


def test_a_trickle_is_slower_than_any_read_timeout_notices(receiver: MockProcess, key: str) -> None:
    behave(receiver, "charge", trickle_bytes_per_s=400, times=1)
    started = time.monotonic()
    answer = post(receiver, key, timeout_s=0.4)
    assert answer.json()["amount_cents"] == 4900
    assert time.monotonic() - started >= len(answer.content) / 400 * 0.8


def test_an_effect_s_own_behaviour_goes_before_the_one_for_all(receiver: MockProcess, key: str) -> None:
    behave(receiver, "*", answer={"status": 503})
    behave(receiver, "charge", times=1)
    assert post(receiver, key).status_code == 201
    assert post(receiver, key).status_code == 503
    assert post(receiver, None, TRANSFER, "/transfers").status_code == 503
    assert receiver.client.get("/orders/1").status_code == 503
    assert receiver.client.get("/health").status_code == 200
    receiver.client.delete("/behaviour/*")
    assert receiver.client.get("/orders/1").status_code == 200


def test_what_is_set_can_be_read(receiver: MockProcess) -> None:
    behave(receiver, "charge", slow_ms=5, times=2)
    assert receiver.client.get("/behaviour").json() == {"charge": {"slow_ms": 5, "times": 2}}


def test_wrong_behaviours_are_refused_with_a_reason(receiver: MockProcess) -> None:
    unknown = receiver.client.put("/behaviour/charges", json={})
    assert unknown.status_code == 404
    assert "find_charge" in unknown.json()["error"]["message"]
    assert receiver.client.put("/behaviour/charge", json={"slow": 1}).status_code == 400
    assert receiver.client.put("/behaviour/charge", content=b"{").status_code == 400


def test_behaviours_survive_a_restart_and_their_count_goes_on(fresh_receiver: MockProcess, key: str) -> None:
    behave(fresh_receiver, "charge", answer={"status": 429}, times=2)
    assert post(fresh_receiver, key).status_code == 429
    fresh_receiver.restart()
    assert post(fresh_receiver, key).status_code == 429
    fresh_receiver.restart()
    assert post(fresh_receiver, key).status_code == 201
