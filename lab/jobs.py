"""What a run of the matrix is asked to do: one script for the model, and the one effect that is judged. Pure.

Rule: every string of a job holds `{tag}`, the mark of one trial, so that what was applied for it can be told from
everything else on the same receiver.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from mocks.rows import EffectRow


class Class(StrEnum):
    """What the receiver promises about a repeat."""

    READ = "read"
    SET = "set"
    KEYED = "keyed"
    ONCE_FOUND = "once, can be looked up"
    ONCE = "once"


def calls(name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {"tool_calls": [{"name": name, "arguments": dict(arguments)}]}


@dataclass(frozen=True, slots=True)
class Job:
    """`replies` are the model's, turn by turn. `effect` is what the receiver calls the effect that is judged, `others`
    what else the job applies. `sets` is the state that a SET leaves. `drifted` is what the model says in place of its
    first reply after it has changed its mind."""

    name: str
    effect: str
    kind: Class
    tool: str
    replies: tuple[Mapping[str, Any], ...]
    others: tuple[str, ...] = ()
    sets: Mapping[str, Any] = field(default_factory=dict)
    drifted: Mapping[str, Any] | None = None

    @property
    def model_calls(self) -> int:
        """How many there are when nothing goes wrong."""
        return len(self.replies)

    def task(self, tag: str) -> str:
        return f"lab job {self.name} for {tag}."

    def script(self) -> dict[str, Any]:
        """For `PUT /scripts/{name}` of the mock model."""
        return {"match": rf"lab job {self.name} for (?P<tag>\w+)\.", "replies": list(self.replies)}

    def drifted_script(self, tag: str) -> dict[str, Any]:
        """The script of one trial whose model has changed its mind."""
        return {"match": rf"lab job {self.name} for (?P<tag>{tag})\.", "replies": [self.drifted, *self.replies[1:]]}

    def cut_script(self, tag: str) -> dict[str, Any]:
        """The script of one trial whose model ends the connection in place of its first reply."""
        first = {"attempts": [{"cut": True}, self.replies[0]]}
        return {"match": rf"lab job {self.name} for (?P<tag>{tag})\.", "replies": [first, *self.replies[1:]]}

    def state(self, tag: str) -> dict[str, Any]:
        """What a SET must leave for this trial."""
        return {name: str(value).replace("{tag}", tag) for name, value in self.sets.items()}


def is_of(row: EffectRow, tag: str) -> bool:
    """Whether an effect was applied for this trial: its mark is in the body, or in the name of what was made."""
    return tag in row["id"] or any(isinstance(value, str) and tag in value for value in row["body"].values())


DONE = {"content": "Done for {tag}."}
CHARGE = {"customer_id": "cus_{tag}", "amount_cents": 4900, "currency": "EUR"}
TRANSFER = {"to_account": "acc_{tag}", "amount_cents": 4900, "currency": "EUR"}
TEXT = {"to": "+49170555", "text": "hello {tag}"}
FIELDS = {"tier": "gold", "by": "{tag}"}
RECORD = {"customer_id": "cus_{tag}", "fields": FIELDS}
RECEIPT = {"to": "{tag}@example.test", "subject": "Receipt", "body": "49.00 EUR"}

JOBS: Mapping[str, Job] = {
    job.name: job
    for job in (
        Job("order", "order", Class.READ, "look_up_order", (calls("look_up_order", {"order_id": "{tag}"}), DONE)),
        Job("crm", "customer", Class.SET, "update_crm", (calls("update_crm", RECORD), DONE), sets=FIELDS),
        # The version is the one that the record has when the trial begins.
        Job(
            "crm-version",
            "customer",
            Class.SET,
            "update_crm",
            (calls("update_crm", {**RECORD, "version": "1"}), DONE),
            sets=FIELDS,
        ),
        Job("charge", "charge", Class.KEYED, "charge_card", (calls("charge_card", CHARGE), DONE)),
        Job(
            "charge-other-amount",
            "charge",
            Class.KEYED,
            "charge_card",
            (calls("charge_card", CHARGE), DONE),
            drifted=calls("charge_card", {**CHARGE, "amount_cents": 5900}),
        ),
        Job(
            "charge-other-words",
            "charge",
            Class.KEYED,
            "charge_card",
            (calls("charge_card", {**CHARGE, "memo": "your order"}), DONE),
            drifted=calls("charge_card", {**CHARGE, "memo": "the order that you placed"}),
        ),
        Job("transfer", "transfer", Class.ONCE_FOUND, "transfer_money", (calls("transfer_money", TRANSFER), DONE)),
        Job(
            "transfer-again",
            "transfer",
            Class.ONCE_FOUND,
            "transfer_money",
            (calls("transfer_money", TRANSFER), calls("transfer_money", TRANSFER), DONE),
        ),
        Job("sms", "sms", Class.ONCE, "send_sms", (calls("send_sms", TEXT), DONE)),
        Job("sms-again", "sms", Class.ONCE, "send_sms", (calls("send_sms", TEXT), calls("send_sms", TEXT), DONE)),
        # A charge, then a receipt by mail: what the published experiment's agent does.
        Job(
            "receipt",
            "charge",
            Class.KEYED,
            "charge_card",
            (calls("charge_card", CHARGE), calls("send_email", RECEIPT), DONE),
            others=("email",),
        ),
    )
}
