"""The receiver killed at every point where it holds something, and restarted over the same file."""

import asyncio
from collections import Counter

import httpx
import pytest

from tests.mocks.process import ANSWER_S_MAX, MockProcess
from tests.mocks.sending import CHARGE, REPLAYED, all_at_once, behave, code, effects, post, requests


def lost(mock: MockProcess, key: str, timeout_s: float = 0.2) -> None:
    """A request whose caller gives up."""
    with pytest.raises(httpx.TransportError):
        post(mock, key, timeout_s=timeout_s)


def test_killed_between_claim_and_commit_the_key_is_free_again(fresh_receiver: MockProcess, key: str) -> None:
    behave(fresh_receiver, "charge", slow_ms=60_000, times=1)
    lost(fresh_receiver, key)
    assert code(post(fresh_receiver, key)) == "idempotency_in_flight"
    fresh_receiver.restart()
    assert effects(fresh_receiver, key) == []
    answer = post(fresh_receiver, key)
    assert answer.status_code == 201
    assert REPLAYED not in answer.headers
    assert len(effects(fresh_receiver, key)) == 1
    first = requests(fresh_receiver, key)[0]
    assert (first["applied"], first["status"]) == (False, None)


def test_killed_between_commit_and_answer_the_answer_is_kept(fresh_receiver: MockProcess, key: str) -> None:
    gate = fresh_receiver.arm("charge", "applied")
    lost(fresh_receiver, key)
    assert fresh_receiver.held(gate) == 1
    fresh_receiver.restart()
    [applied] = effects(fresh_receiver, key)
    answer = post(fresh_receiver, key)
    assert (answer.status_code, answer.headers[REPLAYED], answer.json()["id"]) == (201, "true", applied["id"])
    assert len(effects(fresh_receiver, key)) == 1
    assert [(r["applied"], r["status"]) for r in requests(fresh_receiver, key)] == [(True, None), (False, 201)]


def test_killed_during_the_answer_the_answer_is_kept(fresh_receiver: MockProcess, key: str) -> None:
    behave(fresh_receiver, "charge", trickle_bytes_per_s=20, times=1)
    with httpx.stream("POST", fresh_receiver.url + "/charges", json=CHARGE, headers={"Idempotency-Key": key}) as answer:
        assert answer.status_code == 201
        fresh_receiver.kill()
        with pytest.raises(httpx.TransportError):
            answer.read()
    fresh_receiver.start()
    assert post(fresh_receiver, key).headers[REPLAYED] == "true"
    assert len(effects(fresh_receiver, key)) == 1


def test_killed_before_anything_the_request_is_in_the_log(fresh_receiver: MockProcess, key: str) -> None:
    gate = fresh_receiver.arm("charge", "arrived")
    lost(fresh_receiver, key)
    assert fresh_receiver.held(gate) == 1
    fresh_receiver.restart()
    assert [(r["applied"], r["status"]) for r in requests(fresh_receiver, key)] == [(False, None)]
    assert post(fresh_receiver, key).status_code == 201


def test_killed_twice_on_one_key_there_is_one_effect(fresh_receiver: MockProcess, key: str) -> None:
    for _ in range(2):
        behave(fresh_receiver, "charge", slow_ms=60_000, times=1)
        lost(fresh_receiver, key)
        fresh_receiver.restart()
    fresh_receiver.arm("charge", "applied")
    lost(fresh_receiver, key)
    fresh_receiver.restart()
    assert post(fresh_receiver, key).headers[REPLAYED] == "true"
    assert len(effects(fresh_receiver, key)) == 1


async def load_until_killed(mock: MockProcess, keys: list[str], kill_after: int) -> dict[str, httpx.Response]:
    """Eight senders go through the keys; the receiver is killed in the middle. What was answered, by key."""
    answered: dict[str, httpx.Response] = {}
    waiting = iter(keys)
    enough = asyncio.Event()

    async def send() -> None:
        async with httpx.AsyncClient(base_url=mock.url, verify=False) as client:
            for key in waiting:
                answered[key] = await client.post("/charges", json=CHARGE, headers={"Idempotency-Key": key})
                if len(answered) >= kill_after:
                    enough.set()

    senders = [asyncio.create_task(send()) for _ in range(8)]
    await asyncio.wait_for(enough.wait(), ANSWER_S_MAX)
    mock.process.kill()
    ends = await asyncio.gather(*senders, return_exceptions=True)
    assert all(isinstance(end, httpx.TransportError) for end in ends), "the kill did not land under load"
    return answered


async def test_killed_under_load_no_answer_is_a_lie_and_no_effect_comes_twice(
    fresh_receiver: MockProcess, key: str
) -> None:
    """Whoever was answered finds the same object again; whoever was not is applied once by a repetition."""
    for round_number, kill_after in enumerate((1, 9, 30)):
        keys = [f"{key}-{round_number}-{n}" for n in range(80)]
        answered = await load_until_killed(fresh_receiver, keys, kill_after)
        fresh_receiver.restart()
        again = dict(zip(keys, await all_at_once(fresh_receiver, keys), strict=True))
        assert {a.status_code for a in again.values() if isinstance(a, httpx.Response)} == {201}
        for sent, answer in answered.items():
            repeated = again[sent]
            assert isinstance(repeated, httpx.Response)
            assert repeated.content == answer.content
            assert repeated.headers[REPLAYED] == "true"
        counted = Counter(row["key"] for row in fresh_receiver.rows("/effects"))
        assert [counted[k] for k in keys] == [1] * len(keys)


def test_rows_and_numbers_go_on_after_a_restart(fresh_receiver: MockProcess, key: str) -> None:
    first = post(fresh_receiver, key).json()
    fresh_receiver.restart()
    second = post(fresh_receiver, f"{key}-b").json()
    assert first["id"] != second["id"]
    assert [row["n"] for row in fresh_receiver.rows("/effects")] == [1, 2]
    assert [row["n"] for row in fresh_receiver.rows(after=1)] == [2]
