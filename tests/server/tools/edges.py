"""Tools for the tests of edges: without arguments, with attempts and deadlines of their own, with mistakes inside."""

import os

import httpx

from tools import Tool
from tools.effect import Effect
from tools.request import Request, get, post
from tools.tool import tool

QUICK_S = 1.0


@tool(effect=Effect.READ)
def list_invoices() -> Request:
    """All open invoices."""
    return get("/orders/1")


def paid(key: str, who: str) -> Request:
    return post("/charges", {"customer_id": who, "amount_cents": 100, "currency": "EUR", "reference": key, "memo": ""})


@tool(effect=Effect.KEYED, key_lifetime_s=3600, attempts=0)
def pay_0(key: str, who: str) -> Request:
    """Pay."""
    return paid(key, who)


@tool(effect=Effect.KEYED, key_lifetime_s=3600, attempts=1)
def pay_1(key: str, who: str) -> Request:
    """Pay."""
    return paid(key, who)


@tool(effect=Effect.KEYED, key_lifetime_s=3600, attempts=2)
def pay_2(key: str, who: str) -> Request:
    """Pay."""
    return paid(key, who)


@tool(effect=Effect.KEYED, key_lifetime_s=3600, send_deadline_s=QUICK_S)
def pay_quick(key: str, who: str) -> Request:
    """Pay, within a second."""
    return paid(key, who)


@tool(effect=Effect.READ, send_deadline_s=2)
def mistaken_read(who: str) -> str:
    """Asks the receiver and then fails, always."""
    asked(who)
    raise ValueError("the weather is wrong")


@tool(effect=Effect.KEYED, key_lifetime_s=3600, send_deadline_s=2)
def mistaken_write(key: str, who: str) -> str:
    """Asks the receiver and then fails, always."""
    asked(f"{key}-{who}")
    raise ValueError("the weather is wrong")


def asked(what: str) -> None:
    """A row at the receiver, so that it is there that calls are counted."""
    httpx.get(f"{os.environ['PAWL_RECEIVER_URL']}/orders/{what}", timeout=5, trust_env=False)


EDGES: tuple[Tool, ...] = (list_invoices, pay_0, pay_1, pay_2, pay_quick, mistaken_read, mistaken_write)
