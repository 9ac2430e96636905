"""Refunds a payment. The receiver applies a key once and remembers it for a day. A refund cannot be undone."""

from tools.effect import Effect
from tools.fields import Cents, Identifier, Line
from tools.lookup import find_by_key
from tools.request import Request, post
from tools.tool import tool


@tool(
    effect=Effect.KEYED,
    identity=("payment_id", "amount_cents"),
    amount="amount_cents",
    find=find_by_key("/refunds"),
    key_lifetime_s=86_400,
)
def refund_payment(key: str, payment_id: Identifier, amount_cents: Cents, reason: Line = "") -> Request:
    """Refund a payment, in part or in whole.

    Args:
        payment_id: The payment to refund.
        amount_cents: The amount in cents.
        reason: Why it is refunded.
    """
    return post(
        "/refunds", {"payment_id": payment_id, "amount_cents": amount_cents, "reference": key, "reason": reason}
    )
