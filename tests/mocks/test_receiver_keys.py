"""The promise of the keyed endpoints, over HTTP."""

import asyncio
import hashlib
import time
from collections import Counter
from typing import Any

import httpx
import pytest

from tests.mocks.process import MockProcess
from tests.mocks.sending import (
    CHARGE,
    KEYED,
    REPLAYED,
    SMS,
    TRANSFER,
    all_at_once,
    behave,
    code,
    effects,
    post,
    requests,
)


@pytest.mark.parametrize("effect,path,body", KEYED)
def test_the_same_request_again_is_answered_from_the_record(
    receiver: MockProcess, key: str, effect: str, path: str, body: dict[str, Any]
) -> None:
    first, again = post(receiver, key, body, path), post(receiver, key, body, path)
    assert (first.status_code, again.status_code) == (201, 201)
    assert REPLAYED not in first.headers
    assert again.headers[REPLAYED] == "true"
    assert first.content == again.content
    assert first.json() == {"id": first.json()["id"], **body}
    [applied] = effects(receiver, key)
    assert applied["effect"] == effect
    assert applied["id"] == first.json()["id"]
    assert applied["body"] == body
    assert applied["reference"] == body["reference"]


def test_the_log_says_which_request_applied_and_with_which_bytes(receiver: MockProcess, key: str) -> None:
    raw = b'{"customer_id": "c",  "amount_cents": 1, "currency": "EUR"}'
    for _ in range(2):
        receiver.client.post("/charges", content=raw, headers={"Idempotency-Key": key})
    rows = requests(receiver, key)
    assert [row["applied"] for row in rows] == [True, False]
    assert [row["status"] for row in rows] == [201, 201]
    assert {row["digest"] for row in rows} == {hashlib.sha256(raw).hexdigest()}
    assert {(row["method"], row["path"], row["effect"]) for row in rows} == {("POST", "/charges", "charge")}
    assert rows[0]["n"] < rows[1]["n"]
    assert rows[0]["at"] <= rows[1]["at"]


def test_a_key_names_one_request(receiver: MockProcess, key: str) -> None:
    post(receiver, key)
    other_body = post(receiver, key, {**CHARGE, "memo": "coffee"})
    other_endpoint = post(receiver, key, KEYED[1][2], "/refunds")
    for refused in (other_body, other_endpoint):
        assert (refused.status_code, code(refused)) == (422, "idempotency_key_reused")
    assert len(effects(receiver, key)) == 1


def test_without_a_key_each_request_is_applied(receiver: MockProcess) -> None:
    before = len(receiver.rows("/effects"))
    answers = [post(receiver, None) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [201, 201]
    assert answers[0].json()["id"] != answers[1].json()["id"]
    assert len(receiver.rows("/effects")) == before + 2


@pytest.mark.parametrize("path,body", [("/transfers", TRANSFER), ("/sms", SMS)])
def test_endpoints_that_promise_nothing_apply_each_request(
    receiver: MockProcess, key: str, path: str, body: dict[str, Any]
) -> None:
    answers = [post(receiver, key, body, path) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [201, 201]
    assert len(effects(receiver, key)) == 2
    assert all(REPLAYED not in answer.headers for answer in answers)


@pytest.mark.parametrize(
    "raw",
    [b"", b"not json", b"[]", b'"x"', b"{}", b'{"customer_id": "c", "amount_cents": "1", "currency": "EUR"}',
     b'{"customer_id": "c", "amount_cents": true, "currency": "EUR"}',
     b'{"customer_id": "c", "amount_cents": NaN, "currency": "EUR"}',
     b'{"customer_id": "c", "amount_cents": 1, "currency": "EUR", "memo": 5}', b'\xff{"customer_id": "c"}'],
)  # fmt: skip
def test_a_request_that_cannot_be_read_applies_nothing_and_leaves_the_key_free(
    receiver: MockProcess, key: str, raw: bytes
) -> None:
    refused = receiver.client.post("/charges", content=raw, headers={"Idempotency-Key": key})
    assert (refused.status_code, code(refused)) == (400, "invalid_request")
    assert effects(receiver, key) == []
    assert post(receiver, key).status_code == 201


def test_a_key_longer_than_receivers_allow_is_refused(receiver: MockProcess) -> None:
    assert post(receiver, "k" * 255).status_code == 201
    assert post(receiver, "k" * 256).status_code == 400


def test_a_request_in_flight_is_told_apart_by_its_code(receiver: MockProcess, key: str) -> None:
    behave(receiver, "charge", slow_ms=300, times=1)
    with pytest.raises(httpx.ReadTimeout):
        post(receiver, key, timeout_s=0.05)
    busy = post(receiver, key)
    assert (busy.status_code, code(busy), busy.headers["Retry-After"]) == (409, "idempotency_in_flight", "1")
    deadline_s = time.monotonic() + 5
    while post(receiver, key).status_code == 409 and time.monotonic() < deadline_s:
        time.sleep(0.02)
    assert post(receiver, key).headers[REPLAYED] == "true"
    assert len(effects(receiver, key)) == 1


async def test_two_at_once_on_one_key_a_hundred_times(receiver: MockProcess, key: str) -> None:
    """While the first is worked on the second is told so; whatever the order, one effect per key."""
    behave(receiver, "charge", slow_ms=20)
    keys = [f"{key}-{n}" for n in range(100)]
    for start in range(0, 100, 20):
        batch = keys[start : start + 20]
        answers = await all_at_once(receiver, [k for k in batch for _ in range(2)])
        statuses = Counter(answer.status_code for answer in answers if isinstance(answer, httpx.Response))
        assert statuses[201] >= 20
        assert statuses[201] + statuses[409] == 40
    counted = Counter(row["key"] for row in receiver.rows("/effects"))
    assert [counted[k] for k in keys] == [1] * 100


async def test_a_hundred_at_once_on_one_key_get_one_answer(receiver: MockProcess, key: str) -> None:
    """Without a pause the first commits before the second looks, and both are answered from one record."""
    answers = await all_at_once(receiver, [key] * 100)
    assert {a.status_code for a in answers if isinstance(a, httpx.Response)} <= {201, 409}
    assert len({a.json()["id"] for a in answers if isinstance(a, httpx.Response) and a.status_code == 201}) == 1
    assert len(effects(receiver, key)) == 1
    assert sum(row["applied"] for row in requests(receiver, key)) == 1


@pytest.mark.parametrize("effect,path,body", KEYED)
def test_look_up_by_key_and_by_reference(
    receiver: MockProcess, key: str, effect: str, path: str, body: dict[str, Any]
) -> None:
    made = post(receiver, key, {**body, "reference": f"ref-{key}"}, path).json()
    assert receiver.client.get(path, params={"key": key}).json() == {"data": [made]}
    assert receiver.client.get(path, params={"reference": f"ref-{key}"}).json() == {"data": [made]}
    assert receiver.client.get(path, params={"key": "nobody"}).json() == {"data": []}
    row = receiver.rows(effect=f"find_{effect}")[-3]
    assert (row["key"], row["reference"], row["applied"], row["method"]) == (key, None, False, "GET")


def test_look_ups_that_the_api_does_not_have(receiver: MockProcess, key: str) -> None:
    made = post(receiver, None, {**TRANSFER, "reference": key}, "/transfers").json()
    assert receiver.client.get("/transfers", params={"reference": key}).json() == {"data": [made]}
    assert receiver.client.get("/transfers", params={"key": key}).status_code == 400
    assert receiver.client.get("/charges").status_code == 400
    no_look_up = receiver.client.get("/sms", params={"reference": key})
    assert (no_look_up.status_code, code(no_look_up)) == (404, "not_found")


async def test_a_claim_older_than_its_limit_is_taken_over_and_its_first_owner_applies_nothing(
    receiver: MockProcess, key: str
) -> None:
    behave(receiver, "charge", slow_ms=400, times=1)
    first = asyncio.create_task(all_at_once(receiver, [key]))
    await asyncio.sleep(0.2)
    behave(receiver, "charge", claim_limit_s=0.05)
    assert (await asyncio.to_thread(post, receiver, key)).status_code == 201
    [late] = await first
    assert isinstance(late, httpx.Response)
    assert late.status_code == 409
    assert len(effects(receiver, key)) == 1
    assert post(receiver, key).headers[REPLAYED] == "true"
