"""The seven tools against the mock receiver, as a process of its own."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from pydantic import JsonValue

from tools import TOOLS, registry
from tools.effect import Effect
from tools.outcome import Answer, Done, Doubt, InFlight, NotFound, NotSent, Rejected, Unknown
from tools.tool import BadArguments, Repeat, Tool
from tools.wire import Wire

BY_NAME = registry(TOOLS)
GOOD: dict[str, dict[str, JsonValue]] = {
    "look_up_order": {"order_id": "7"},
    "update_crm": {"customer_id": "cus_7", "fields": {"refunded": True}},
    "charge_card": {"customer_id": "cus_7", "amount_cents": 500},
    "refund_payment": {"payment_id": "pay_7", "amount_cents": 500, "reason": "broken"},
    "send_email": {"to": "customer-7@example.test", "subject": "Refund", "body": "Done."},
    "transfer_money": {"to_account": "acc_7", "amount_cents": 500},
    "send_sms": {"to": "+490007", "text": "Done."},
}
SHIPPED = tuple(BY_NAME[name] for name in GOOD)
"""The tools that come with the project; somebody may have added others."""
EFFECTS = {"charge_card": "charge", "refund_payment": "refund", "send_email": "email", "transfer_money": "transfer"}


@asynccontextmanager
async def behaviour(url: str, effect: str, **fields: Any) -> AsyncIterator[httpx.AsyncClient]:
    """The receiver behaves like this inside the block."""
    async with httpx.AsyncClient(base_url=url, trust_env=False) as control:
        (await control.put(f"/behaviour/{effect}", json=fields)).raise_for_status()
        try:
            yield control
        finally:
            await control.delete(f"/behaviour/{effect}")


async def rows(url: str, kind: str, key: str) -> list[dict[str, Any]]:
    async with httpx.AsyncClient(base_url=url, trust_env=False) as control:
        answer = (await control.get(f"/{kind}")).json()
    listed = answer if isinstance(answer, list) else next(iter(answer.values()))
    return [row for row in listed if key in (row["key"], row["reference"])]


def checked(tool: Tool, **changes: JsonValue) -> dict[str, JsonValue]:
    arguments = tool.check({**GOOD[tool.name], **changes})
    assert isinstance(arguments, dict), arguments
    return arguments


async def send(wire: Wire, tool: Tool, key: str, **changes: JsonValue) -> Answer:
    return await tool.send(wire, key, tool.prepare(key, checked(tool, **changes)))


def test_each_that_comes_along_says_what_its_receiver_promises() -> None:
    assert {tool.name: tool.effect for tool in SHIPPED} == {
        "look_up_order": Effect.READ,
        "update_crm": Effect.SET,
        "charge_card": Effect.KEYED,
        "refund_payment": Effect.KEYED,
        "send_email": Effect.KEYED,
        "transfer_money": Effect.ONCE,
        "send_sms": Effect.ONCE,
    }
    assert [tool.name for tool in SHIPPED if tool.find] == [
        "update_crm",
        "charge_card",
        "refund_payment",
        "send_email",
        "transfer_money",
    ]
    assert [tool.name for tool in SHIPPED if tool.undo] == ["charge_card"]
    assert [tool.name for tool in SHIPPED if tool.amount] == ["charge_card", "refund_payment", "transfer_money"]
    assert all(tool.repeat is Repeat.ASK for tool in SHIPPED if tool.amount)


@pytest.mark.parametrize("tool", SHIPPED, ids=lambda tool: tool.name)
def test_the_model_never_sees_a_key(tool: Tool) -> None:
    properties = tool.schema["properties"]
    assert isinstance(properties, dict)
    assert "key" not in str(list(properties)).lower()
    assert set(GOOD[tool.name]) <= set(properties)


@pytest.mark.parametrize("tool", SHIPPED, ids=lambda tool: tool.name)
async def test_each_is_done_once_and_found(tool: Tool, wire: Wire, url: str) -> None:
    key = f"once-{tool.name}"
    got = await send(wire, tool, key)
    assert isinstance(got, Done), got
    if tool.find is not None:
        found = await tool.look_up(wire, key, checked(tool))
        assert isinstance(found, Done)
        assert found.receiver_id == got.receiver_id
    if tool.name in EFFECTS:
        [row] = await rows(url, "effects", key)
        assert row["id"] == got.receiver_id


@pytest.mark.parametrize("name", sorted(EFFECTS))
async def test_what_was_not_sent_is_not_found(name: str, wire: Wire) -> None:
    assert isinstance(await BY_NAME[name].look_up(wire, "never", checked(BY_NAME[name])), NotFound)


@pytest.mark.parametrize("name", ["charge_card", "refund_payment", "send_email"])
async def test_a_lost_answer_is_a_doubt_and_the_same_bytes_again_are_one_effect(
    name: str, wire: Wire, url: str
) -> None:
    tool, key = BY_NAME[name], f"lost-{name}"
    async with behaviour(url, EFFECTS[name], lose_answer="after_commit", times=1):
        first = await send(wire, tool, key)
    assert isinstance(first, Unknown)
    assert isinstance(await send(wire, tool, key), Done)
    assert len(await rows(url, "effects", key)) == 1
    requests = await rows(url, "requests", key)
    assert len({row["digest"] for row in requests if row["method"] == "POST"}) == 1


async def test_a_lost_transfer_is_found_by_its_reference(wire: Wire, url: str) -> None:
    transfer = BY_NAME["transfer_money"]
    async with behaviour(url, "transfer", lose_answer="after_commit", times=1):
        assert isinstance(await send(wire, transfer, "lost-transfer"), Unknown)
    assert isinstance(await transfer.look_up(wire, "lost-transfer", checked(transfer)), Done)
    async with behaviour(url, "transfer", lose_answer="before_commit", times=1):
        assert isinstance(await send(wire, transfer, "lost-before"), Unknown)
    assert isinstance(await transfer.look_up(wire, "lost-before", checked(transfer)), NotFound)


async def test_a_request_under_way_is_in_flight(wire: Wire, url: str) -> None:
    charge = BY_NAME["charge_card"]
    async with behaviour(url, "charge", slow_ms=800, times=1):
        first = asyncio.ensure_future(send(wire, charge, "slow"))
        await asyncio.sleep(0.3)
        got = await send(wire, charge, "slow")
        assert isinstance(got, InFlight), got
        assert got.retry_after_s == 1
        assert isinstance(await first, Done)


async def test_a_stored_error_is_told_from_a_passing_one_and_found(wire: Wire, url: str) -> None:
    charge = BY_NAME["charge_card"]
    async with behaviour(url, "charge", fail={"status": 500, "when": "after_commit", "store": True}, times=1):
        first = await send(wire, charge, "stored")
    assert isinstance(first, Unknown)
    assert first.doubt is Doubt.SERVER_ERROR
    again = await send(wire, charge, "stored")
    assert isinstance(again, Unknown)
    assert again.doubt is Doubt.STORED_ERROR
    assert isinstance(await charge.look_up(wire, "stored", checked(charge)), Done)


async def test_another_body_under_the_same_key_is_our_bug(wire: Wire) -> None:
    charge = BY_NAME["charge_card"]
    await send(wire, charge, "reused")
    got = await send(wire, charge, "reused", amount_cents=501)
    assert isinstance(got, Unknown)
    assert got.doubt is Doubt.KEY_REUSED


async def test_a_refusal_is_told_in_the_receivers_words(wire: Wire, url: str) -> None:
    async with behaviour(
        url, "charge", refuse={"status": 402, "code": "card_declined", "message": "no money"}, times=1
    ):
        got = await send(wire, BY_NAME["charge_card"], "declined")
    assert isinstance(got, Rejected)
    assert (got.status, got.reason) == (402, "no money (HTTP 402 card_declined)")


async def test_an_order_that_is_missing_is_rejected(wire: Wire) -> None:
    got = await send(wire, BY_NAME["look_up_order"], "", order_id="missing_1")
    assert isinstance(got, Rejected)
    assert got.status == 404


async def test_too_many_requests_were_not_looked_at(wire: Wire, url: str) -> None:
    answer = {"status": 429, "headers": {"Retry-After": "2"}, "body": {"error": {"code": "slow", "message": "slow"}}}
    async with behaviour(url, "charge", answer=answer, times=1):
        got = await send(wire, BY_NAME["charge_card"], "busy")
    assert isinstance(got, NotSent)
    assert got.retry_after_s == 2


async def test_a_stale_version_is_refused_and_our_own_write_is_recognised(wire: Wire, url: str) -> None:
    crm = BY_NAME["update_crm"]
    customer: dict[str, JsonValue] = {"customer_id": "cus_v", "fields": {"a": 1}}
    created = await send(wire, crm, "v1", **customer)
    assert isinstance(created, Done)
    async with behaviour(url, "customer", lose_answer="after_commit", times=1):
        assert isinstance(await send(wire, crm, "v2", **customer, version="1"), Unknown)
    again = await send(wire, crm, "v2", **customer, version="1")
    assert isinstance(again, Rejected)
    assert crm.needs_look_up(again)
    assert isinstance(await crm.look_up(wire, "v2", checked(crm, **customer, version="1")), Done)
    assert isinstance(await crm.look_up(wire, "v1", checked(crm, **customer, version="1")), NotFound)


async def test_a_charge_is_undone_by_a_refund_with_its_own_key(wire: Wire, url: str) -> None:
    charge = BY_NAME["charge_card"]
    made = await send(wire, charge, "charged")
    assert isinstance(made, Done)
    assert charge.undo is not None
    request = charge.undo("undone", made.value, **checked(charge))
    for _ in range(2):
        assert isinstance(await charge.send_undo(wire, "undone", request), Done)
    [row] = await rows(url, "effects", "undone")
    assert (row["effect"], row["body"]["payment_id"], row["body"]["amount_cents"]) == ("refund", made.receiver_id, 500)


def test_a_charge_without_an_id_cannot_be_undone() -> None:
    charge = BY_NAME["charge_card"]
    assert charge.undo is not None
    with pytest.raises(ValueError, match="no id"):
        charge.undo("undone", None, **checked(charge))


def test_a_memo_worded_differently_is_the_same_action() -> None:
    charge = BY_NAME["charge_card"]
    assert charge.identify(checked(charge, memo="a")) == charge.identify(checked(charge, memo="b"))
    assert charge.identify(checked(charge)) != charge.identify(checked(charge, amount_cents=501))


@pytest.mark.parametrize(
    "name, changes, field",
    [
        ("look_up_order", {"order_id": "../admin"}, "order_id"),
        ("look_up_order", {"order_id": ""}, "order_id"),
        ("look_up_order", {"order_id": ".."}, "order_id"),
        ("look_up_order", {"order_id": "a/b"}, "order_id"),
        ("look_up_order", {"order_id": "1\n"}, "order_id"),
        ("update_crm", {"version": '1"'}, "version"),
        ("update_crm", {"version": "1\r\nx: y"}, "version"),
        ("update_crm", {"fields": {}}, "fields"),
        ("update_crm", {"fields": "a"}, "fields"),
        ("charge_card", {"amount_cents": 0}, "amount_cents"),
        ("charge_card", {"amount_cents": -5}, "amount_cents"),
        ("charge_card", {"amount_cents": "500"}, "amount_cents"),
        ("charge_card", {"amount_cents": 10**12}, "amount_cents"),
        ("charge_card", {"currency": "euro"}, "currency"),
        ("refund_payment", {"amount_cents": 5.5}, "amount_cents"),
        ("send_email", {"to": "a@example.test, b@example.test"}, "to"),
        ("send_email", {"to": "a@example.test\nbcc: c@example.test"}, "to"),
        ("transfer_money", {"to_account": None}, "to_account"),
        ("send_sms", {"to": "0x17"}, "to"),
        ("send_sms", {"text": ""}, "text"),
    ],
)
def test_bad_arguments_cost_no_request(name: str, changes: dict[str, JsonValue], field: str) -> None:
    got = BY_NAME[name].check({**GOOD[name], **changes})
    assert isinstance(got, BadArguments), got
    assert got.reason.startswith(field)
