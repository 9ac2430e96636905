"""Transfers money through an API that promises nothing about repeats, but can be asked by reference."""

from tools.effect import Effect
from tools.fields import Cents, Currency, Identifier
from tools.lookup import find_by_reference
from tools.request import Request, post
from tools.tool import tool


@tool(effect=Effect.ONCE, amount="amount_cents", currency="currency", find=find_by_reference("/transfers"))
def transfer_money(key: str, to_account: Identifier, amount_cents: Cents, currency: Currency = "EUR") -> Request:
    """Transfer money to an account.

    Args:
        to_account: The receiving account.
        amount_cents: The amount in cents.
        currency: The currency's three letters.
    """
    return post(
        "/transfers",
        {"to_account": to_account, "amount_cents": amount_cents, "currency": currency, "reference": key},
    )
