"""The model over HTTP: scripts and switches put while it runs, what repeated requests get, faults, and restarts."""

import asyncio
import time
from typing import Any

import httpx
import pytest
from openai import AsyncOpenAI

from tests.mocks.process import MockProcess


def chat(mock: MockProcess, *messages: Any, timeout_s: float = 5.0) -> httpx.Response:
    """One request; a string is a user message."""
    listed = [{"role": "user", "content": m} if isinstance(m, str) else m for m in messages]
    body = {"model": "mock-model", "messages": listed}
    return mock.client.post("/v1/chat/completions", json=body, timeout=timeout_s)


def put_script(mock: MockProcess, name: str, *replies: Any, match: str | None = None) -> None:
    """A script that matches its own name."""
    body = {"match": match or name, "replies": list(replies)}
    mock.client.put(f"/scripts/{name}", json=body).raise_for_status()


def switch(mock: MockProcess, **switches: Any) -> None:
    """Set the switches; all others are off."""
    mock.client.put("/switches", json=switches).raise_for_status()


def content(answer: httpx.Response) -> Any:
    """The text of a completion."""
    return answer.raise_for_status().json()["choices"][0]["message"]["content"]


async def test_the_real_client_can_talk_to_it(model: MockProcess) -> None:
    async with AsyncOpenAI(base_url=f"{model.url}/v1", api_key="sk-secret", max_retries=0) as client:
        completion = await client.chat.completions.create(
            model="mock-model", messages=[{"role": "user", "content": "Refund order 17"}]
        )
        assert [m.id async for m in client.models.list()] == ["mock-model"]
    [call] = completion.choices[0].message.tool_calls or []
    assert call.type == "function"
    assert call.function.name == "look_up_order"
    row = model.client.get(f"/requests/{model.rows()[-1]['n']}").json()
    assert row["body"]["messages"] == [{"role": "user", "content": "Refund order 17"}]
    assert {name.lower(): value for name, value in row["headers"].items()}["authorization"] == "***"
    assert "sk-secret" not in str(row)


def test_the_same_request_gets_the_same_bytes(model: MockProcess) -> None:
    answers = [chat(model, "transfer 5 to DE1") for _ in range(3)]
    assert len({answer.content for answer in answers}) == 1


def test_the_log_has_a_row_per_request(model: MockProcess) -> None:
    chat(model, "text +49 now", {"role": "assistant", "content": "x"})
    chat(model, "who knows what this is")
    model.client.post("/v1/chat/completions", content=b"{")
    first, second, third = model.rows()[-3:]
    assert (first["script"], first["turn"], first["status"], first["messages"]) == ("sms", 1, 200, 2)
    assert (second["script"], second["turn"], second["status"]) == (None, 0, 200)
    assert (third["script"], third["status"], third["messages"], third["bytes"]) == (None, 400, None, 1)
    assert model.rows(after=second["n"]) == [third]
    assert model.client.get("/requests/999999").status_code == 404


def test_a_script_put_later_is_tried_first_and_can_be_dropped(model: MockProcess) -> None:
    put_script(model, "earlier", {"content": "earlier"}, match="precedence")
    put_script(model, "later", {"content": "later"}, match="precedence")
    assert content(chat(model, "precedence")) == "later"
    put_script(model, "earlier", {"content": "now later"}, match="precedence")
    assert content(chat(model, "precedence")) == "now later"
    model.client.delete("/scripts/earlier").raise_for_status()
    assert content(chat(model, "precedence")) == "later"
    assert {"name": "refund", "match": r"(?i)refund order (?P<order>\w+)"} in model.client.get("/scripts").json()


def test_a_wrong_script_or_switch_is_refused_with_a_reason(model: MockProcess) -> None:
    wrong = model.client.put("/scripts/x", json={"match": "(", "replies": [{}]})
    assert wrong.status_code == 400
    assert "regular expression" in wrong.json()["error"]["message"]
    assert model.client.put("/scripts/x", content=b"{").status_code == 400
    assert model.client.put("/switches", json={"strikt": True}).status_code == 400


@pytest.mark.parametrize(
    "raw",
    [b"", b"[]", b"{}", b'{"messages": 5}', b'{"messages": [], "n": NaN}', b"\xff", b'{"messages": [], "stream":true}'],
)  # fmt: skip
def test_a_request_that_is_none_is_refused(model: MockProcess, raw: bytes) -> None:
    refused = model.client.post("/v1/chat/completions", content=raw)
    assert refused.status_code == 400
    assert refused.json()["error"]["type"] == "invalid_request_error"


def test_strict_refuses_until_it_is_off(model: MockProcess) -> None:
    assistant = {"role": "assistant", "content": "x"}
    switch(model, strict=True)
    assert chat(model, "text 5", assistant).status_code == 400
    assert chat(model, "text 5").status_code == 200
    assert model.client.get("/switches").json() == {"strict": True}
    switch(model)
    assert chat(model, "text 5", assistant).status_code == 200


def test_a_lone_surrogate_can_be_sent_and_is_refused_when_it_comes_back(model: MockProcess) -> None:
    body = b'{"match": "poison", "replies": [{"content": "\\ud83d"}]}'
    model.client.put("/scripts/poison", content=body).raise_for_status()
    assert rb"\ud83d" in chat(model, "poison").content
    switch(model, strict=True)
    raw = rb'{"messages": [{"role": "user", "content": "\ud83d"}]}'
    assert model.client.post("/v1/chat/completions", content=raw).status_code == 400


def test_attempts_are_counted_per_identical_request(model: MockProcess) -> None:
    attempts = [{"status": 429, "headers": {"Retry-After": "2"}}, {"cut": True}, {"content": "at last"}]
    put_script(model, "attempts", {"attempts": attempts})
    first = chat(model, "attempts")
    assert (first.status_code, first.headers["Retry-After"]) == (429, "2")
    with pytest.raises(httpx.RemoteProtocolError):
        chat(model, "attempts")
    assert content(chat(model, "attempts")) == "at last"
    assert content(chat(model, "attempts")) == "at last"
    assert chat(model, "attempts", "attempts").status_code == 429
    assert [row["status"] for row in model.rows() if row["script"] == "attempts"] == [429, None, 200, 200, 429]


def test_drift_answers_a_repetition_differently_only_when_it_is_on(model: MockProcess) -> None:
    put_script(model, "drifting", {"content": "first", "drift": [{"content": "second"}, {"content": "third"}]})
    assert [content(chat(model, "drifting off")) for _ in range(2)] == ["first", "first"]
    switch(model, drift=True)
    assert [content(chat(model, "drifting on")) for _ in range(4)] == ["first", "second", "third", "third"]


def test_an_outage_meets_every_request_as_often_as_it_was_told(model: MockProcess) -> None:
    quota = {"status": 429, "body": {"error": {"code": "insufficient_quota"}}, "times": 2}
    switch(model, strict=True, status=quota)
    assert [chat(model, "text 5").status_code for _ in range(3)] == [429, 429, 200]
    assert model.client.get("/switches").json() == {"strict": True}


def test_hang_delay_and_trickle(model: MockProcess) -> None:
    put_script(model, "hanging", {"hang": True})
    with pytest.raises(httpx.ReadTimeout):
        chat(model, "hanging", timeout_s=0.2)
    put_script(model, "delayed", {"content": "x", "delay_s": 0.3})
    started = time.monotonic()
    assert content(chat(model, "delayed")) == "x"
    assert time.monotonic() - started >= 0.3
    put_script(model, "trickling", {"content": "y" * 200, "trickle_bytes_per_s": 1000})
    started = time.monotonic()
    answer = chat(model, "trickling", timeout_s=0.25)
    assert time.monotonic() - started >= len(answer.content) / 1000


def test_a_history_of_megabytes_is_taken_and_refused_by_the_switch_only(model: MockProcess) -> None:
    big = "text 5 " + "x" * 5_000_000
    assert chat(model, big).status_code == 200
    switch(model, max_request_bytes=1_000_000)
    assert chat(model, big).json()["error"]["code"] == "context_length_exceeded"


async def test_a_gate_holds_a_chat_before_and_after_its_reply_is_chosen(model: MockProcess) -> None:
    for point, script in (("arrived", None), ("applied", "sms")):
        gate = model.arm("chat", point)
        under_way = asyncio.create_task(asyncio.to_thread(chat, model, "text 5"))
        assert await asyncio.to_thread(model.held, gate) == 1
        row = model.rows()[-1]
        assert (row["script"], row["status"]) == (script, None)
        model.release(gate)
        assert (await under_way).status_code == 200
        assert model.rows()[-1]["status"] == 200


def test_scripts_switches_and_counts_survive_a_restart(fresh_model: MockProcess) -> None:
    attempts = [{"content": "one"}, {"content": "two"}, {"content": "three"}]
    put_script(fresh_model, "kept", {"attempts": attempts})
    switch(fresh_model, strict=True, status={"status": 503, "times": 2})
    assert chat(fresh_model, "kept").status_code == 503
    fresh_model.restart()
    assert chat(fresh_model, "kept").status_code == 503
    assert content(chat(fresh_model, "kept")) == "one"
    fresh_model.restart()
    assert content(chat(fresh_model, "kept")) == "two"
    assert fresh_model.client.get("/switches").json() == {"strict": True}
    assert [row["n"] for row in fresh_model.rows()] == [1, 2, 3, 4]
