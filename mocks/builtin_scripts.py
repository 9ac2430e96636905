"""The scripts that are always there, one per effect class, and one for the tool that the README adds. Pure data.

Rule: arguments that hold a number are written as text, since a group's value is text.
"""

from mocks.script import Script

NOT_REFUNDED = "Order {order} was not refunded, as far as I know. {told}"

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
            ],
            "otherwise": NOT_REFUNDED,
        },
        {
            "content": "Order {order} is refunded: 49.00 EUR. "
            "The customer record is updated and the customer was told.",
            "otherwise": "The refund of order {order} is not settled in all parts. {told}",
        },
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
        {
            "content": "Customer {customer} was charged {cents} cents.",
            "otherwise": "Customer {customer} was not charged, as far as I know. {told}",
        },
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
        {
            "content": "{cents} cents were transferred to {account}.",
            "otherwise": "The transfer to {account} is not done, as far as I know. {told}",
        },
    ],
}

PAYOUT = {
    "match": r"(?i)pay out (?P<cents>\d+) to (?P<account>\w+)",
    "replies": [
        {"tool_calls": [{"name": "pay_out", "arguments": '{"account": "{account}", "amount_cents": {cents}}'}]},
        {
            "content": "{cents} cents were paid out to {account}.",
            "otherwise": "Nothing was paid out to {account}, as far as I know. {told}",
        },
    ],
}

SMS = {
    "match": r"(?i)text (?P<phone>\+?\d+)",
    "replies": [
        {"tool_calls": [{"name": "send_sms", "arguments": {"to": "{phone}", "text": "Your order is on its way."}}]},
        {
            "content": "A text was sent to {phone}.",
            "otherwise": "The text to {phone} was not sent, as far as I know. {told}",
        },
    ],
}

_ALL = (("refund", REFUND), ("charge", CHARGE), ("transfer", TRANSFER), ("sms", SMS), ("payout", PAYOUT))
BUILTIN_SCRIPTS: tuple[tuple[str, Script], ...] = tuple((name, Script.model_validate(script)) for name, script in _ALL)
