"""Which decision counts: the questions about one intent and the answers to them. Pure.

Rule: a question is answered once and the first answer wins; an answer may come before its question. An approval is of
bytes: it does not count for others. One that nobody gives in time is denied.
Must not know: Restate, how the run that asks is woken.
"""

from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from services.messages import (
    CHOICES,
    FINAL,
    SCHEMA,
    Choice,
    DecideRequest,
    Intent,
    IntentState,
    Kept,
    Question,
    Ruling,
)

EXPIRY = "expiry"
"""Who decided where nobody did in time."""


class Slot(Kept):
    """One question: what is asked, since when (unix seconds), what wakes the run that asks, and the answer."""

    kind: str
    number: int
    question: Question | None = None
    asked_at: float | None = None
    awakeable: str | None = None
    ruling: Ruling | None = None


class Slots(Kept):
    """The questions about one intent, in the order in which they came up."""

    schema_number: int = Field(SCHEMA, le=SCHEMA)
    slots: tuple[Slot, ...] = ()

    def find(self, kind: str, number: int) -> Slot | None:
        return next((slot for slot in self.slots if (slot.kind, slot.number) == (kind, number)), None)

    def put(self, slot: Slot) -> "Slots":
        others = [other for other in self.slots if (other.kind, other.number) != (slot.kind, slot.number)]
        return Slots(slots=(*others, slot))


@dataclass(frozen=True, slots=True)
class Taken:
    """The decision counts. `wake` is what the asking run waits for, None where it has not asked yet."""

    slots: Slots
    ruling: Ruling
    wake: str | None


@dataclass(frozen=True, slots=True)
class Conflict:
    """The decision does not count; `status` is the HTTP status that fits."""

    sentence: str
    status: int = 409


def ask(slots: Slots, question: Question, awakeable: str, expires_s: float | None, at: float) -> tuple[Slots, Slot]:
    """Puts a question, or puts it again; the returned slot holds the ruling where there is one."""
    slot = slots.find(question.kind, question.number) or Slot(kind=question.kind, number=question.number)
    # Asked again under another name, the question is another pass's: its time starts anew.
    asked_at = slot.asked_at if slot.asked_at is not None and slot.awakeable == awakeable else at
    ruling = slot.ruling if slot.ruling is not None and fits(slot.ruling, question) else None
    slot = slot.model_copy(
        update={"question": question, "awakeable": awakeable, "asked_at": asked_at, "ruling": ruling}
    )
    expired = question.kind == "approval" and expires_s is not None and at >= asked_at + expires_s
    if slot.ruling is None and expired:
        note = f"nobody decided within {expires_s:g} s"
        ruling = Ruling(key=question.key, choice=Choice.DENY, who=EXPIRY, at=at, note=note)
        slot = slot.model_copy(update={"ruling": ruling})
    return slots.put(slot), slot


def ahead(intent: Intent, request: DecideRequest) -> DecideRequest | Conflict:
    """A decision on an intent whose question has not been put: the same with the digest of the bytes that it is about,
    where the question is about to come. One that would be recorded and never read is worse than none."""
    comes = {IntentState.WAITING: "approval", IntentState.UNKNOWN: "unknown"}.get(intent.state)
    kind = kind_of(request.decision)
    if comes == kind and intent.digest:
        if request.digest not in (None, intent.digest):
            return Conflict(other_bytes(intent.digest, request.digest))
        return request.model_copy(update={"digest": intent.digest})
    if intent.rulings:
        return Conflict(f"{intent.tool} was {intent.rulings[-1].decided()}.")
    way_out = "" if intent.state in FINAL else " `cancel` stops the run."
    return Conflict(f"{intent.tool} is {intent.state.value}; nobody waits for this decision on it.{way_out}")


def other_bytes(digest: str, given: str | None) -> str:
    return f"the bytes that would be sent have the digest {digest}, not {given}"


def kind_of(choice: Choice) -> Literal["approval", "unknown"]:
    """The kind of question that it answers."""
    return "approval" if choice in CHOICES["approval"] else "unknown"


def fits(ruling: Ruling, question: Question) -> bool:
    """A person who approved saw bytes; where those that would leave are others, the question is open again."""
    return ruling.choice is not Choice.APPROVE or ruling.digest in (None, question.digest)


def decide(slots: Slots, request: DecideRequest, who: str, at: float) -> Taken | Conflict:
    """Takes a decision for the question that was put last and is open. An approval may come before its question; what
    happened is decided with the evidence before one, so it may not."""
    kind = kind_of(request.decision)
    waiting = next((slot for slot in reversed(slots.slots) if slot.question is not None and slot.ruling is None), None)
    if waiting is not None and waiting.question is not None and waiting.kind != kind:
        choices = ", ".join(choice.value for choice in waiting.question.choices())
        return Conflict(f"this intent waits for one of: {choices}; {request.decision.value} does not fit", 422)
    of_kind = [slot for slot in slots.slots if slot.kind == kind]
    if kind == "unknown" and not of_kind:
        return Conflict(f"nobody has asked what became of this intent; {request.decision.value} does not fit")
    slot = waiting or (of_kind[-1] if of_kind else Slot(kind=kind, number=1))
    if slot.ruling is not None:
        return Conflict(slot.ruling.decided())
    if request.digest is not None and slot.question is not None and request.digest != slot.question.digest:
        return Conflict(other_bytes(slot.question.digest, request.digest))
    ruling = Ruling(
        key=request.key,
        choice=request.decision,
        who=who,
        at=at,
        digest=slot.question.digest if slot.question is not None else request.digest,
        receiver_id=request.receiver_id,
        note=request.note,
    )
    return Taken(slots.put(slot.model_copy(update={"ruling": ruling})), ruling, slot.awakeable)
