"""What a run of the benchmark is asked to do, and what the ledger must show when it has ended. Pure.

Rule: the task alone says everything, so that model and receiver need no setting up. The tag tells runs apart; it is in
every effect.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

REPLY_BYTES = 2_000
"""Of each reply of a long run: what a model writes when it explains itself."""
TASK = re.compile(r"bench (?P<kind>job|long) ?(?P<turns>\d*) for (?P<tag>\w+)\.")
TAG = re.compile(rb'cus_(\w+)"|"(\w+)@example\.test"')
_TALK = ("I have looked at the order and at what was paid for it. " * (REPLY_BYTES // 56 + 1))[:REPLY_BYTES]

Message = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Job:
    """`turns` is how many of the model's replies ask for an effect; one more ends the run."""

    kind: str
    turns: int

    @property
    def effects(self) -> tuple[str, ...]:
        """What the receiver must have applied, once each turn."""
        return ("charge", "email") if self.kind == "job" else ("email",) * self.turns

    @property
    def steps(self) -> int:
        """Calls of model and receiver."""
        return 2 * self.turns + 1

    def task(self, tag: str) -> str:
        return f"bench job for {tag}." if self.kind == "job" else f"bench long {self.turns} for {tag}."


SHORT = Job("job", 2)
"""Three model calls, a charge and a mail."""


def long(turns: int) -> Job:
    """As many turns, each with a reply of 2 KB and a mail."""
    return Job("long", turns)


def asked(task: str) -> tuple[Job, str] | None:
    """The job and the tag that a task names; None where it names none."""
    found = TASK.search(task)
    if found is None:
        return None
    return (SHORT if found["kind"] == "job" else long(int(found["turns"]))), found["tag"]


def reply(job: Job, tag: str, turn: int) -> Message:
    """The model's message number `turn`, from 0."""
    if turn >= job.turns:
        return {"role": "assistant", "content": f"Done for {tag}."}
    if job.kind == "job" and turn == 0:
        name, content = "charge_card", None
        given: dict[str, Any] = {"customer_id": f"cus_{tag}", "amount_cents": 4900, "currency": "EUR"}
    else:
        name, content = "send_email", None if job.kind == "job" else _TALK
        given = {"to": f"{tag}@example.test", "subject": f"Receipt {turn}", "body": "49.00 EUR"}
    return {"role": "assistant", "content": content, "tool_calls": [_call(name, given, turn)]}


def _call(name: str, given: Mapping[str, Any], turn: int) -> dict[str, Any]:
    return {
        "id": f"call_{turn}",
        "type": "function",
        "function": {"name": name, "arguments": json.dumps(given)},
    }


def tag_in(body: bytes) -> str:
    """The tag of the run that an effect is for; empty where there is none."""
    found = TAG.search(body)
    return (found[1] or found[2]).decode() if found else ""
