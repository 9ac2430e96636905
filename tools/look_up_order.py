"""Reads an order."""

from tools.effect import Effect
from tools.fields import Identifier
from tools.request import Request, get, part
from tools.tool import tool


@tool(effect=Effect.READ)
def look_up_order(order_id: Identifier) -> Request:
    """Look up an order: its customer, payment, amount and status.

    Args:
        order_id: The order's number.
    """
    return get(f"/orders/{part(order_id)}")
