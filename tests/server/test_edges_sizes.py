"""Sizes and texts through the whole stack: what is too large is cut and says so, what is not well formed is cleaned
once, and the next message of the session works."""

import base64
import json
from typing import Any

import pytest

from tests.server.edge import Edge, served_with
from tests.server.world import call, calls

DONE = {"content": "done"}


def order(number: int = 5) -> dict[str, Any]:
    return calls(call("look_up_order", order_id=str(number)))


def answer(edge: Edge, raw: bytes) -> None:
    """From here on an order is these bytes."""
    edge.behave("order", answer={"body_base64": base64.b64encode(raw).decode()})


def test_a_result_of_five_megabytes_is_cut_and_says_how_to_ask_for_less(edge: Edge) -> None:
    answer(edge, json.dumps({"items": ["x" * 99] * 50_000}).encode())
    ended = edge.run(edge.run_id(), edge.script(order(), DONE))
    (told,) = edge.told()
    assert ended["state"] == "completed"
    assert len(told.encode()) <= 32_000
    assert "bytes in all; ask for less" in told


def test_a_result_is_not_cut_inside_a_character(edge: Edge) -> None:
    answer(edge, json.dumps({"text": "😀" * 20_000}, ensure_ascii=False).encode())
    edge.run(edge.run_id(), edge.script(order(), DONE))
    (told,) = edge.told()
    assert "�" not in told and "😀… [cut here" in told


def test_a_conversation_that_is_too_long_is_shortened_once_and_goes_on(edge: Edge) -> None:
    answer(edge, json.dumps({"text": "y" * 20_000}).encode())
    edge.switch(max_request_bytes=70_000)
    before = len(edge.stack.model.requests())
    # A script counts the replies that it sees again, so it can come to no end where some are left out.
    ended = edge.run(edge.run_id(), edge.script(order(), loop=True), limits={"turns": 10})
    assert (ended["reason"], ended["turns"]) == ("max_turns", 10)
    rows = edge.stack.model.requests()[before:]
    assert [row["status"] for row in rows].count(400) == 1
    assert max(row["bytes"] for row in rows if row["status"] == 200) <= 70_000
    assert "left out here to keep it short" in next(each for each in edge.sent() if each["role"] == "user")["content"]


def test_a_conversation_that_never_fits_costs_two_requests_and_the_session_goes_on(edge: Edge) -> None:
    edge.switch(max_request_bytes=500)
    before = len(edge.stack.model.requests())
    edge.say("m1", edge.script(DONE))
    failed = edge.heard("m1")
    assert failed["state"] == "failed" and "also after it was shortened" in failed["reason"]
    assert [row["status"] for row in edge.stack.model.requests()[before:]] == [400, 400]
    edge.switch()
    edge.say("m2", edge.script(DONE, name="t"))
    assert edge.heard("m2")["state"] == "completed"


HUGE = 2**80
POISON = {
    "lone surrogate": (rb'{"note": "a \ud83d b"}', "a \ufffd b"),
    "surrogates the wrong way": (rb'{"note": "\ude00\ud83d"}', "\ufffd\ufffd"),
    "pair": (rb'{"note": "\ud83d\ude00"}', "😀"),
    "NUL": (rb'{"note": "a\u0000b"}', "a"),
    "not a character": ('{"note": "a\ufffeb"}'.encode(), "a"),
    "right to left": ('{"note": "a\u202eb\u200f"}'.encode(), "a"),
    "NaN": (b'{"n": NaN, "i": Infinity, "m": -Infinity}', '"n"'),
    "too large for a float": (b'{"e": 1e400}', '"e"'),
    "huge integer": (f'{{"b": {HUGE}, "c": {"9" * 5_000}}}'.encode(), str(HUGE)),
    "no UTF-8": (b'{"note": "a\xff\xfeb\xc3"}', "a\ufffd"),
    "no UTF-8 and no JSON": (b"\x80\x81 plain \xf0\x9f", "plain"),
    "deep": (b"[" * 100_000, "["),
}


@pytest.mark.parametrize(("raw", "shown"), POISON.values(), ids=POISON)
def test_what_a_receiver_says_is_cleaned_once_and_the_next_message_works(edge: Edge, raw: bytes, shown: str) -> None:
    answer(edge, raw)
    edge.say("m1", edge.script(order(), DONE))
    assert edge.heard("m1")["state"] == "completed"
    (told,) = edge.told()
    assert shown in told
    assert not any(0xD800 <= ord(letter) <= 0xDFFF for letter in told) and "\x00" not in told
    edge.say("m2", edge.script(DONE, name="t"))
    assert edge.heard("m2")["state"] == "completed"


def test_a_replay_says_the_same_in_the_same_bytes(edge: Edge) -> None:
    answer(edge, b'{"note": "\xff \\ud83d", "n": NaN, "more": "' + b"\xf0\x9f\x98\x80" * 20_000 + b'"}')
    run_id, task = edge.run_id(), edge.script(order(), {**DONE, "delay_s": 1})
    edge.submit(run_id, task)
    edge.wait(lambda: len(edge.rows()) == 2, "the second request", run_id)
    edge.kill_worker()
    edge.until(run_id, "completed")
    _, first, again = edge.rows()
    assert first["digest"] == again["digest"]


TEXT = "a \ud83d b \x00 c \ufffe \u202e 😀"
CLEAN = "a \ufffd b "


def test_arguments_are_cleaned_before_they_are_approved_and_what_was_approved_is_sent(edge: Edge) -> None:
    mail = {"to": "a@b.test", "subject": TEXT, "body": TEXT}
    fields = f'{{"n": NaN, "i": Infinity, "e": 1e400, "b": {HUGE}, "t": {json.dumps(TEXT)}}}'
    crm = {"name": "update_crm", "arguments": f'{{"customer_id": "{edge.tag}", "fields": {fields}}}'}
    task = edge.script(calls({"name": "send_email", "arguments": json.dumps(mail)}, crm), DONE)
    edge.say("m1", task)
    run_id = f"{edge.tag}~m1"
    ended = edge.until(run_id, "completed", "failed")
    assert ended["state"] == "completed", edge.told()
    sent = {row["effect"]: row for row in edge.effects(ended)}
    for row in ended["ledger"]:
        assert row["state"] == "done", edge.told()
    mailed = sent["email"]["body"]
    assert mailed["subject"] == ended["ledger"][0]["arguments"]["subject"]
    assert mailed["subject"].startswith(CLEAN)
    assert sent["customer"]["body"]["b"] == str(HUGE)
    edge.say("m2", edge.script(DONE, name="t"))
    assert edge.heard("m2")["state"] == "completed"


def test_what_was_approved_is_what_is_sent_byte_for_byte(edge: Edge) -> None:
    arguments = {"to": "a@b.test", "subject": TEXT, "body": edge.tag}
    run_id, task = edge.run_id(), edge.script(calls({"name": "send_email", "arguments": json.dumps(arguments)}), DONE)
    edge.submit(run_id, task, grant={"approve_above_cents": {"send_email": -1}})
    (question,) = edge.until(run_id, "waiting_approval")["questions"]
    edge.kill_worker()
    assert edge.decide(run_id, question["key"], "approve", digest=question["digest"]).status_code == 200
    ended = edge.until(run_id, "completed")
    assert ended["ledger"][0]["digest"] == question["digest"]
    (row,) = edge.requests(ended, "email")
    (effect,) = edge.effects(ended, "email")
    assert row["applied"] and effect["body"]["subject"] == ended["ledger"][0]["arguments"]["subject"]


@pytest.mark.long
@served_with(max_tokens="100000000", max_calls="1000", history_bytes="20000000")
def test_a_run_whose_ledger_is_full_ends_and_can_still_be_shown_and_forgotten(edge: Edge) -> None:
    """More than a message of Restate takes would jam every later call to the run."""
    run_id, body = edge.run_id(), "x" * 45_000
    mails = [
        calls(*(call("send_email", to="a@b.test", subject=f"{turn}-{at}", body=body) for at in range(32)))
        for turn in range(9)
    ]
    ended = edge.run(run_id, edge.script(*mails, DONE))
    assert (ended["state"], ended["reason"]) == ("failed", "ledger_full"), ended["detail"]
    assert "use a new run id" in ended["detail"]
    sent = [row["state"] for row in ended["ledger"]]
    assert sent == ["done"] * len(sent) and 32 < len(sent) < 288
    assert edge.post(run_id, "status").json()["reason"] == "ledger_full"
    assert edge.post(run_id, "forget").status_code == 200
