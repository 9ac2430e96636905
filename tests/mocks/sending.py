"""Bodies and senders that the receiver's tests share."""

import asyncio
from typing import Any

import httpx

from tests.mocks.process import ANSWER_S_MAX, MockProcess

CHARGE = {"customer_id": "cus_1", "amount_cents": 4900, "currency": "EUR", "reference": "ref-1", "memo": "tea"}
REFUND = {"payment_id": "pay_1", "amount_cents": 4900, "reference": "ref-1", "reason": "broken"}
EMAIL = {"to": "a@example.test", "subject": "hello", "body": "world", "reference": "ref-1"}
TRANSFER = {"to_account": "DE1", "amount_cents": 4900, "currency": "EUR", "reference": "ref-1"}
SMS = {"to": "+49", "text": "hello"}
PAYOUT = {"account": "acc_1", "amount_cents": 4900, "reference": "ref-1"}
KEYED = (
    ("charge", "/charges", CHARGE),
    ("refund", "/refunds", REFUND),
    ("email", "/emails", EMAIL),
    ("payout", "/payouts", PAYOUT),
)

REPLAYED = "Idempotency-Replayed"


def post(
    mock: MockProcess, key: str | None, body: Any = CHARGE, path: str = "/charges", timeout_s: float = ANSWER_S_MAX
) -> httpx.Response:
    """One request; raises httpx.TransportError where no answer came."""
    headers = {} if key is None else {"Idempotency-Key": key}
    return mock.client.post(path, json=body, headers=headers, timeout=timeout_s)


def behave(mock: MockProcess, effect: str, **fields: Any) -> None:
    """Set a behaviour."""
    mock.client.put(f"/behaviour/{effect}", json=fields).raise_for_status()


def code(answer: httpx.Response) -> str:
    """The code of an error."""
    return str(answer.json()["error"]["code"])


def effects(mock: MockProcess, key: str) -> list[dict[str, Any]]:
    """The effects applied under this key."""
    return [row for row in mock.rows("/effects") if row["key"] == key]


def requests(mock: MockProcess, key: str) -> list[dict[str, Any]]:
    """The requests that carried this key, look-ups left out."""
    return [row for row in mock.rows() if row["key"] == key and not row["effect"].startswith("find_")]


async def all_at_once(mock: MockProcess, keys: list[str]) -> list[httpx.Response | httpx.TransportError]:
    """One charge per entry, each on its own connection, all under way at the same time."""
    limits = httpx.Limits(max_connections=len(keys))
    async with httpx.AsyncClient(base_url=mock.url, timeout=ANSWER_S_MAX, limits=limits, verify=False) as client:

        async def send(key: str) -> httpx.Response | httpx.TransportError:
            try:
                return await client.post("/charges", json=CHARGE, headers={"Idempotency-Key": key})
            except httpx.TransportError as error:
                return error

        return await asyncio.gather(*[send(key) for key in keys])
