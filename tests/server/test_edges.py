"""Replies of every shape through the whole stack: each is answered, counted and bounded, and nothing runs by guess.

The model is strict throughout: a history that is not well formed would be a 400, and the run would fail.
"""

from functools import partial
from typing import Any

import pytest

from tests.server.edge import Edge, served_with
from tests.server.world import call, calls

MAIL = {"to": "a@example.test", "subject": "s", "body": "hi"}
ORDER = call("look_up_order", order_id="5")


def raw(name: Any, arguments: Any = ..., **more: Any) -> dict[str, Any]:
    """A tool call whose arguments go out as they are; `...` leaves them out."""
    return {"name": name, **({} if arguments is ... else {"arguments": arguments}), **more}


def mail(edge: Edge) -> dict[str, Any]:
    return call("send_email", **{**MAIL, "body": edge.tag})


BROKEN = {
    "brace missing": '{"to":"a@example.test","body":"hi"',
    "null as text": "null",
    "list": "[]",
    "text": '"x"',
    "number": "5",
    "two megabytes": '{"to":"a@example.test","body":"' + "x" * 2_000_000 + "}",
    "two objects": '{"to":"a"}{"to":"b"}',
    "python": "{'to': 'a@example.test'}",
}


@pytest.mark.parametrize("arguments", BROKEN.values(), ids=BROKEN)
def test_arguments_that_are_no_object_cost_their_own_call_only(edge: Edge, arguments: str) -> None:
    task = edge.script(calls(raw("send_email", arguments), ORDER), calls(mail(edge)), {"content": "done"})
    ended = edge.run(edge.run_id(), task)
    assert (ended["state"], ended["turns"]) == ("completed", 3)
    assert len(edge.effects(ended, "email")) == 1
    bad, order, good = edge.told()
    assert bad.startswith("send_email: not run:") and len(bad) < 1_000
    assert "cut off" not in bad
    assert '"order_id":"5"' in order and "em_" in good


def test_the_third_reply_in_a_row_that_cannot_be_read_ends_the_run_and_a_crash_resets_nothing(edge: Edge) -> None:
    run_id, task = edge.run_id(), edge.script({**calls(raw("send_email", BROKEN["python"])), "delay_s": 0.5}, loop=True)
    edge.submit(run_id, task)
    edge.wait(lambda: len(edge.rows()) == 2, "the second request", run_id)
    edge.kill_worker()
    ended = edge.until(run_id, "failed")
    assert (ended["reason"], ended["turns"]) == ("model_output_invalid", 3)
    assert len(edge.rows()) == 4


@pytest.mark.parametrize("arguments", ["", "  ", None, ..., "null"], ids=["empty", "blank", "null", "absent", "text"])
def test_no_arguments_are_an_empty_object_where_a_tool_takes_none(edge: Edge, arguments: Any) -> None:
    task = edge.script(calls(raw("list_invoices", arguments)), {"content": "done"})
    assert edge.run(edge.run_id(), task)["state"] == "completed"
    (told,) = edge.told()
    assert '"order_id":"1"' in told
    (echoed,) = next(message for message in edge.sent() if message["role"] == "assistant")["tool_calls"]
    assert echoed["function"]["arguments"] == "{}"


@pytest.mark.parametrize("arguments", ["", "  ", None, ...], ids=["empty", "blank", "null", "absent"])
def test_no_arguments_are_a_sentence_that_names_the_fields_where_a_tool_needs_some(edge: Edge, arguments: Any) -> None:
    ended = edge.run(edge.run_id(), edge.script(calls(raw("send_email", arguments)), {"content": "done"}))
    (told,) = edge.told()
    assert all(field in told for field in MAIL)
    assert (ended["state"], ended["ledger"]) == ("completed", [])


@pytest.mark.parametrize("name", ["get_date", "", "Look_Up_Order", "look_up_order ", "lösche!", None])
def test_a_tool_that_is_not_there_is_an_answer_and_no_error(edge: Edge, name: Any) -> None:
    run_id, task = edge.run_id(), edge.script(calls(raw(name, "{}"), ORDER), {"content": "done"})
    assert edge.run(run_id, task)["state"] == "completed"
    none, order = edge.told()
    assert "no such tool; available: " in none and "look_up_order" in none
    assert '"order_id":"5"' in order
    assert edge.failed_attempts(run_id) == 0


def test_a_tool_that_was_removed_while_the_run_waited_is_not_there(edge: Edge) -> None:
    pay = call("charge_card", customer_id=edge.tag, amount_cents=100)
    run_id, task = edge.run_id(), edge.script(calls(pay), calls(ORDER), {"content": "done"})
    edge.submit(run_id, task, grant={"approve_above_cents": {"charge_card": -1}})
    key = edge.until(run_id, "waiting_approval")["questions"][0]["key"]
    edge.serve_with("look_up_order")
    assert edge.decide(run_id, key, "approve").status_code == 200
    ended = edge.until(run_id, "completed")
    assert len(edge.effects(ended, "charge")) == 1
    assert "no such tool" in edge.told()[-1]


def cut(finish: str, arguments: str, **more: Any) -> dict[str, Any]:
    return {**calls(raw("charge_card", arguments)), "finish_reason": finish, **more}


HALF = '{"customer_id": "c", "amount_cents": 1'
WHOLE = '{"customer_id": "c", "amount_cents": 10}'
CUT = {
    "length": cut("length", HALF),
    "relabelled": cut("tool_calls", HALF),
    "parses": cut("length", WHOLE),
    "other name": cut("MAX_TOKENS", WHOLE),
}


@pytest.mark.parametrize("reply", CUT.values(), ids=CUT)
def test_nothing_of_a_reply_that_was_cut_off_runs(edge: Edge, reply: dict[str, Any]) -> None:
    both = {**reply, "tool_calls": [ORDER, *reply["tool_calls"]]}
    ended = edge.run(edge.run_id(), edge.script(both, loop=True))
    assert (ended["state"], ended["reason"], ended["turns"]) == ("failed", "output_truncated", 3)
    assert ended["ledger"] == []
    assert len(edge.told()) == 4 and all("cut off" in told and "shorter" in told for told in edge.told())


FILTER = {"error": {"code": "content_filter", "message": "The prompt was filtered."}}
REFUSALS = {
    "refusal": {"message": {"role": "assistant", "content": None, "refusal": "I must not."}},
    "content filter": {"content": "I could tell", "finish_reason": "content_filter"},
    "status 400": {"status": 400, "body": FILTER},
    "beside a call": {**calls(raw("charge_card", WHOLE)), "extra": {"refusal": "I must not."}},
}


@pytest.mark.parametrize("reply", REFUSALS.values(), ids=REFUSALS)
def test_a_refusal_is_paid_once_and_the_session_goes_on(edge: Edge, reply: dict[str, Any]) -> None:
    edge.say("m1", edge.script(reply))
    first = edge.heard("m1")
    assert (first["state"], bool(first["reply"])) == ("refused", True)
    assert edge.status(first["run_id"])["ledger"] == []
    assert len(edge.rows()) == 1
    edge.say("m2", edge.script({"content": "welcome"}, name="t"))
    assert edge.heard("m2")["reply"] == "welcome"


THOUGHT = {"google": {"thought_signature": "c2lnbmF0dXJl/+=="}}
THINKING = {
    **calls({**ORDER, "extra_content": THOUGHT}),
    "extra": {"reasoning_content": "The order\nfirst, then {the rest} 😀", "content": ""},
}


def test_fields_that_must_come_back_come_back_after_a_crash_too(edge: Edge) -> None:
    edge.switch(require_fields=True)
    run_id, task = edge.run_id(), edge.script(THINKING, THINKING, {"content": "done"})
    order = edge.stack.receiver.gate("order", "applied")
    edge.submit(run_id, task)
    assert order.wait_held(10)
    edge.kill_worker()
    order.release()
    assert edge.until(run_id, "completed", "failed")["state"] == "completed"
    first = next(message for message in edge.sent() if message["role"] == "assistant")
    assert first["reasoning_content"] == THINKING["extra"]["reasoning_content"]
    assert first["tool_calls"][0]["extra_content"] == THOUGHT


def test_reasoning_without_a_word_is_no_success(edge: Edge) -> None:
    ended = edge.run(edge.run_id(), edge.script({"content": "", "extra": {"reasoning_content": "hm"}}, loop=True))
    assert (ended["state"], ended["reason"], ended["turns"]) == ("failed", "model_output_invalid", 3)


def test_the_same_call_for_ever_ends_at_the_limit_though_the_worker_is_killed_again_and_again(edge: Edge) -> None:
    run_id, task = edge.run_id(), edge.script({**calls(ORDER), "delay_s": 0.3}, loop=True)
    edge.submit(run_id, task, limits={"turns": 7})
    for turn in (3, 6):
        edge.wait(partial(lambda at: len(edge.rows()) >= at, turn), f"turn {turn}", run_id)
        edge.kill_worker()
    ended = edge.until(run_id, "failed")
    assert (ended["reason"], ended["turns"], ended["calls"]) == ("max_turns", 7, 7)
    assert 7 <= len(edge.rows()) <= 9
    assert edge.run(run_id, task, limits={"turns": 7})["replayed"] is True


def test_the_same_payment_for_ever_is_made_once(edge: Edge) -> None:
    pay = calls(call("charge_card", customer_id=edge.tag, amount_cents=100))
    run_id, task = edge.run_id(), edge.script(pay, loop=True)
    edge.submit(run_id, task, limits={"turns": 6})
    question = edge.until(run_id, "waiting_approval")["questions"][0]
    assert "asked for before" in question["text"]
    edge.decide(run_id, question["key"], "deny")
    ended = edge.until(run_id, "failed")
    assert (ended["reason"], ended["turns"]) == ("max_turns", 6)
    assert len(edge.effects(ended, "charge")) == 1


# With other settings


@served_with(model_max_output_tokens="64")
def test_a_reply_that_used_all_its_tokens_changes_nothing(edge: Edge) -> None:
    usage = {"prompt_tokens": 9, "completion_tokens": 64, "total_tokens": 73}
    full = {**calls(ORDER, raw("charge_card", WHOLE)), "finish_reason": "tool_calls", "usage": usage}
    ended = edge.run(edge.run_id(), edge.script(full, {"content": "done"}))
    order, charge = edge.told()
    assert (ended["state"], ended["ledger"]) == ("completed", [])
    assert '"order_id":"5"' in order and "may be cut off" in charge


@pytest.mark.parametrize(
    ("edge", "state", "reason"),
    [({}, "failed", "bad_request"), ({"model_keep_unknown": "false"}, "completed", "done")],
    indirect=["edge"],
    ids=["kept", "left out"],
)
def test_unknown_fields_stay_away_from_a_provider_that_refuses_them(edge: Edge, state: str, reason: str) -> None:
    edge.switch(reject_unknown_fields=True)
    ended = edge.run(edge.run_id(), edge.script(THINKING, {"content": "done"}))
    assert (ended["state"], ended["reason"]) == (state, reason)


ECHOES = (
    {**calls(ORDER), "content": "I look it up."},
    {**calls(call("look_up_order", order_id="6")), "content": None},
    {**calls(call("look_up_order", order_id="7")), "content": ""},
    # A reply that says nothing is not sent back, so the next request is the same.
    {"attempts": [{"content": ""}, {"content": "done"}]},
)


@pytest.mark.parametrize(
    ("edge", "taken", "refused"),
    [
        ({"model_echo_empty": "null"}, ["reject_empty"], "reject_null"),
        ({"model_echo_empty": "empty"}, ["reject_null"], "reject_empty"),
        ({"model_echo_empty": "omit"}, ["reject_null", "reject_empty"], None),
    ],
    indirect=["edge"],
    ids=["null", "empty", "omit"],
)
def test_empty_content_goes_back_as_the_provider_takes_it_or_costs_one_request(
    edge: Edge, taken: list[str], refused: str | None
) -> None:
    for name in taken:
        edge.switch(**{name: True})
        ended = edge.run(edge.run_id(), edge.script(*ECHOES, name=name))
        assert (ended["state"], ended["answer"]) == ("completed", "done"), name
        kept = [message for message in edge.sent(name) if message["role"] == "assistant"]
        assert kept[0]["content"] == "I look it up."
        assert all(message.get("tool_calls") for message in kept)
    if refused is not None:
        edge.switch(**{refused: True})
        before = len(edge.stack.model.requests())
        ended = edge.run(edge.run_id(), edge.script(*ECHOES[1:]))
        assert (ended["state"], ended["reason"], bool(ended["detail"])) == ("failed", "bad_request", True)
        assert [row["status"] for row in edge.stack.model.requests()[before:]] == [200, 400]
