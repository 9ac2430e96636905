"""Charges a customer's card. The receiver applies a key once and remembers it for a day."""

from pydantic import JsonValue

from tools.effect import Effect
from tools.fields import Cents, Currency, Identifier, Line
from tools.lookup import find_by_key
from tools.request import Request, post
from tools.status import receiver_id
from tools.tool import tool


def refund(key: str, value: JsonValue, amount_cents: int, **_: object) -> Request:
    """Takes a charge back: a refund of the whole amount. Raises ValueError where the charge has no id."""
    if (payment_id := receiver_id(value)) is None:
        raise ValueError("the charge has no id, so it cannot be refunded")
    body: JsonValue = {"payment_id": payment_id, "amount_cents": amount_cents, "reference": key, "reason": "undone"}
    return post("/refunds", body)


@tool(
    effect=Effect.KEYED,
    identity=("customer_id", "amount_cents", "currency"),
    amount="amount_cents",
    currency="currency",
    find=find_by_key("/charges"),
    undo=refund,
    key_lifetime_s=86_400,
)
def charge_card(
    key: str, customer_id: Identifier, amount_cents: Cents, currency: Currency = "EUR", memo: Line = ""
) -> Request:
    """Charge a customer's card.

    Args:
        customer_id: The customer to charge.
        amount_cents: The amount in cents.
        currency: The currency's three letters.
        memo: What the customer reads on the statement.
    """
    return post(
        "/charges",
        {
            "customer_id": customer_id,
            "amount_cents": amount_cents,
            "currency": currency,
            "reference": key,
            "memo": memo,
        },
    )
