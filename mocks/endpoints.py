"""The receiver's business endpoints as a table: what each promises, requires and makes. Pure.

Rule: a new endpoint is a new row here. It must not know the store or aiohttp.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

# Longer keys are cut off or refused by real receivers.
KEY_CHARS_MAX = 255


class Promise(Enum):
    """What the receiver promises about a repeated request."""

    READ = "read"
    SET = "set"
    KEYED = "keyed"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """`prefix` begins the ids of the objects made; `required` and `optional` are the body's fields and their types."""

    effect: str
    path: str
    promise: Promise
    prefix: str = ""
    required: Mapping[str, type] = field(default_factory=dict)
    optional: Mapping[str, type] = field(default_factory=dict)
    found_by: tuple[str, ...] = ()


REFERENCE: Mapping[str, type] = {"reference": str}

CREATING = (
    Endpoint(
        effect="charge",
        path="/charges",
        promise=Promise.KEYED,
        prefix="ch",
        required={"customer_id": str, "amount_cents": int, "currency": str},
        optional={**REFERENCE, "memo": str},
        found_by=("key", "reference"),
    ),
    Endpoint(
        effect="refund",
        path="/refunds",
        promise=Promise.KEYED,
        prefix="re",
        required={"payment_id": str, "amount_cents": int},
        optional={**REFERENCE, "reason": str},
        found_by=("key", "reference"),
    ),
    Endpoint(
        effect="payout",
        path="/payouts",
        promise=Promise.KEYED,
        prefix="po",
        required={"account": str, "amount_cents": int},
        optional=REFERENCE,
        found_by=("key", "reference"),
    ),
    Endpoint(
        effect="email",
        path="/emails",
        promise=Promise.KEYED,
        prefix="em",
        required={"to": str, "subject": str, "body": str},
        optional=REFERENCE,
        found_by=("key", "reference"),
    ),
    Endpoint(
        effect="transfer",
        path="/transfers",
        promise=Promise.NOTHING,
        prefix="tr",
        required={"to_account": str, "amount_cents": int, "currency": str},
        optional=REFERENCE,
        found_by=("reference",),
    ),
    Endpoint(
        effect="sms",
        path="/sms",
        promise=Promise.NOTHING,
        prefix="sms",
        required={"to": str, "text": str},
    ),
)
ORDER = Endpoint(effect="order", path="/orders/{id}", promise=Promise.READ)
CUSTOMER = Endpoint(effect="customer", path="/customers/{id}", promise=Promise.SET, prefix="cus")
READ_CUSTOMER = Endpoint(effect="customer", path="/customers/{id}", promise=Promise.READ)


def finding(endpoint: Endpoint) -> Endpoint:
    """The look-up that belongs to a creating endpoint."""
    return Endpoint(f"find_{endpoint.effect}", endpoint.path, Promise.READ, found_by=endpoint.found_by)


EFFECTS = frozenset(
    [e.effect for e in CREATING] + [finding(e).effect for e in CREATING] + [ORDER.effect, CUSTOMER.effect]
)


def what_is_wrong(endpoint: Endpoint, body: dict[str, Any] | None, key: str | None) -> str | None:
    """A sentence that says why the request cannot be executed, or None."""
    if key is not None and not 0 < len(key) <= KEY_CHARS_MAX:
        return f"Idempotency-Key has 1 to {KEY_CHARS_MAX} characters"
    if body is None:
        return "the body is not a JSON object"
    for name, kind in endpoint.required.items():
        if name not in body:
            return f"the field {name} is missing"
        if not _is(body[name], kind):
            return f"the field {name} is not of type {kind.__name__}"
    for name, kind in endpoint.optional.items():
        if body.get(name) is not None and not _is(body[name], kind):
            return f"the field {name} is not of type {kind.__name__}"
    return None


def reference_of(body: dict[str, Any] | None) -> str | None:
    """The body's reference where it has one that is a string."""
    reference = (body or {}).get("reference")
    return reference if isinstance(reference, str) else None


def order(order_id: str) -> dict[str, Any] | None:
    """The order of this id; all ids exist except those that start with `missing`. Money in cents."""
    if order_id.startswith("missing"):
        return None
    return {
        "order_id": order_id,
        "customer_id": f"cus_{order_id}",
        "email": f"customer-{order_id}@example.test",
        "phone": f"+49000{order_id}",
        "payment_id": f"pay_{order_id}",
        "amount_cents": 4900,
        "currency": "EUR",
        "status": "delivered",
    }


def _is(value: object, kind: type) -> bool:
    return isinstance(value, kind) and not (kind is int and isinstance(value, bool))
