"""The scripts that are always there, one per effect class. Pure data.

Rule: arguments that hold a number are written as text, since a group's value is text.
"""

from mocks.script import Script

REFUND = {
    "match": r"(?i)refund order (?P<order>\w+)",
    "replies": [
        {"tool_calls": [{"name": "look_up_order", "arguments": {"order_id": "{order}"}}]},
        {
            "tool_calls": [
                {
                    "name": "refund_payment",
                    "arguments": {
                        "payment_id": "pay_{order}",
                        "amount_cents": 4900,
                        "reason": "refund of order {order}",
                    },
                }
            ]
        },
        {
            "tool_calls": [
                {
                    "name": "update_crm",
                    "arguments": {
                        "customer_id": "cus_{order}",
                        "fields": {"refunded": True, "refunded_order": "{order}", "refunded_cents": 4900},
                    },
                },
                {
                    "name": "send_email",
                    "arguments": {
                        "to": "customer-{order}@example.test",
                        "subject": "Your refund for order {order}",
                        "body": "We have refunded 49.00 EUR for order {order}.",
                    },
                },
            ]
        },
        {"content": "Order {order} is refunded: 49.00 EUR. The customer record is updated and the customer was told."},
    ],
}

CHARGE = {
    "match": r"(?i)charge customer (?P<customer>\w+) (?P<cents>\d+)",
    "replies": [
        {
            "tool_calls": [
                {
                    "name": "charge_card",
                    "arguments": '{"customer_id": "{customer}", "amount_cents": {cents}, "currency": "EUR"}',
                }
            ]
        },
        {"content": "Customer {customer} was charged {cents} cents."},
    ],
}

TRANSFER = {
    "match": r"(?i)transfer (?P<cents>\d+) to (?P<account>\w+)",
    "replies": [
        {
            "tool_calls": [
                {
                    "name": "transfer_money",
                    "arguments": '{"to_account": "{account}", "amount_cents": {cents}, "currency": "EUR"}',
                }
            ]
        },
        {"content": "{cents} cents were transferred to {account}."},
    ],
}

SMS = {
    "match": r"(?i)text (?P<phone>\+?\d+)",
    "replies": [
        {"tool_calls": [{"name": "send_sms", "arguments": {"to": "{phone}", "text": "Your order is on its way."}}]},
        {"content": "A text was sent to {phone}."},
    ],
}

BUILTIN_SCRIPTS: tuple[tuple[str, Script], ...] = tuple(
    (name, Script.model_validate(script))
    for name, script in (("refund", REFUND), ("charge", CHARGE), ("transfer", TRANSFER), ("sms", SMS))
)
