"""The tools that an agent has, and what wraps them.

Rule: the tuple is explicit. To add a tool, write one file, import it here and add one line to the tuple.
Must not know: Restate, services.
"""

from tools.charge_card import charge_card
from tools.code import NeverLeft, Refused
from tools.look_up_order import look_up_order
from tools.refund_payment import refund_payment
from tools.send_email import send_email
from tools.send_sms import send_sms
from tools.tool import Tool, registry
from tools.transfer_money import transfer_money
from tools.update_crm import update_crm

TOOLS: tuple[Tool, ...] = (
    look_up_order,
    update_crm,
    charge_card,
    refund_payment,
    send_email,
    transfer_money,
    send_sms,
)

__all__ = ["TOOLS", "NeverLeft", "Refused", "Tool", "registry"]
