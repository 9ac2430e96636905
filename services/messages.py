"""The vocabulary between the service and whoever calls it: requests, the run's end, the row of the ledger, the states.

Rule: pure data. What comes from outside is a pydantic model that refuses unknown fields; what is kept is a frozen
value.
Must not know: Restate, HTTP, how anything here is done.
"""

import hashlib
from collections.abc import Mapping
from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from tools.plain import Plain
from tools.request import canonical

SCHEMA = 1
"""Number of the layout of everything kept in a run's state."""
NEWER = "written by a newer version"
"""How the sentence about a row with a higher number begins."""

TASK_CHARS_MAX = 64_000
"""A task is a text that a person or a program wrote, not a document store."""


class RunState(StrEnum):
    RUNNING = "running"
    WAITING_APPROVAL = "waiting_approval"
    WAITING_UNTIL = "waiting_until"
    OUTCOME_UNKNOWN = "outcome_unknown"
    COMPLETED = "completed"
    FAILED = "failed"
    REFUSED = "refused"
    CANCELLED = "cancelled"
    STUCK = "stuck"
    """Seen from outside only: failing over and over, paused, its worker or its version gone."""


ENDED = frozenset({RunState.COMPLETED, RunState.FAILED, RunState.REFUSED, RunState.CANCELLED})


class IntentState(StrEnum):
    PROPOSED = "proposed"
    WAITING = "waiting"
    DENIED = "denied"
    ARMED = "armed"
    NOT_SENT = "not_sent"
    GIVEN_UP = "given_up"
    DONE = "done"
    REJECTED = "rejected"
    UNKNOWN = "unknown"


FINAL = frozenset({IntentState.DONE, IntentState.REJECTED, IntentState.DENIED, IntentState.GIVEN_UP})
MAY_HAVE_HAPPENED = frozenset({IntentState.ARMED, IntentState.UNKNOWN, IntentState.GIVEN_UP})


class Choice(StrEnum):
    APPROVE = "approve"
    DENY = "deny"
    HAPPENED = "happened"
    DID_NOT_HAPPEN = "did_not_happen"
    GIVE_UP = "give_up"


CHOICES: Mapping[Literal["approval", "unknown"], tuple[Choice, ...]] = {
    "approval": (Choice.APPROVE, Choice.DENY),
    "unknown": (Choice.HAPPENED, Choice.DID_NOT_HAPPEN, Choice.GIVE_UP),
}


class Kept(BaseModel):
    """Base of what is kept in state or answered: frozen, and tolerant of fields that newer code wrote."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Asked(BaseModel):
    """Base of what a caller sends: frozen, and an unknown field is an error that names it."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Grant(Asked):
    """What a run may do. Checked in code before any approval and any effect; the model cannot widen it.

    The operator's stands in the settings. A request's narrows it, field by field: what it leaves out is the operator's.
    """

    tools: tuple[str, ...] | None = Field(
        None, description="Names of the tools it may use; all where absent. A request's are of the operator's."
    )
    each_cents: int | None = Field(
        None, ge=0, description="The most that one effect may move; the lower of the request's and the operator's."
    )
    total_cents: int | None = Field(
        None,
        ge=0,
        description="The most that all effects may move, over all passes; Done, Unknown and in flight count. The lower"
        " of the two.",
    )
    currency: str | None = Field(
        None,
        description="The only currency that may be moved; with another than the operator's, nothing may be. What moves"
        " money and does not say its currency is refused.",
    )
    approve_above_cents: dict[str, int] = Field(
        default_factory=dict,
        description="Per tool, the amount above which a person must approve; -1 means always. Holds beside the"
        " operator's.",
    )


class LimitsAsked(Asked):
    """Limits that one run asks for; it may tighten what the settings allow, never widen it."""

    turns: int | None = Field(None, ge=1)
    calls: int | None = Field(None, ge=1)
    tokens: int | None = Field(None, ge=1)
    cost_cents: float | None = Field(None, gt=0)
    wall_s: float | None = Field(None, gt=0)


class Said(Asked):
    """One message of a conversation before the task."""

    role: Literal["user", "assistant"]
    text: str = Field(max_length=TASK_CHARS_MAX)
    message: dict[str, JsonValue] | None = Field(
        None, description="Of the assistant: `message` of the run's answer, so that the model gets its own fields back."
    )


EARLIER_MAX = 200
"""Messages of before that a request may bring along; what the model is shown is trimmed further by size."""


class RunRequest(Asked):
    """The body of `run` and `submit`."""

    task: str = Field(min_length=1, max_length=TASK_CHARS_MAX, description="What the agent shall do, in words.")
    again: int | None = Field(
        None,
        ge=2,
        description="Run an ended run again on the same ledger: the number of the pass wanted, last plus one.",
    )
    grant: Grant | None = Field(None, description="What the run may do, within what the operator has set.")
    limits: LimitsAsked | None = None
    earlier: tuple[Said, ...] = Field((), max_length=EARLIER_MAX, description="What was said before, oldest first.")
    unknown: Literal["park", "tell"] | None = Field(
        None, description="What happens to an Unknown: the run waits for a person (park), or the model is told (tell)."
    )

    def digest(self) -> str:
        """SHA-256 (hex) of what makes two requests the same task; `again` is not part of it."""
        return digest(self.model_dump(mode="json", exclude={"again"}, exclude_none=True, exclude_defaults=True))


class DecideRequest(Asked):
    """The body of `decide`: a decision on one intent, named by its key."""

    key: str = Field(min_length=1, max_length=100)
    decision: Choice
    digest: str | None = Field(None, description="Digest of the bytes that the person saw; refused where it differs.")
    receiver_id: str | None = Field(
        None, max_length=255, description="With `happened`: the receiver's id of the effect."
    )
    note: str = Field("", max_length=2000)


class CancelRequest(Asked):
    """The body of `cancel`."""

    undo: bool = Field(False, description="Undo what all passes have done, last first, where the tool can.")


class Ruling(Kept):
    """A decision as it is recorded: by whom, when (unix seconds). `digest` is that of the bytes that it was about."""

    key: str
    choice: Choice
    who: str
    at: float
    digest: str | None = None
    receiver_id: str | None = None
    note: str = ""

    def sentence(self) -> str:
        return f"{self.choice.value} by {self.who}"

    def decided(self) -> str:
        """What whoever comes later is told."""
        return f"decided already: {self.sentence()} at {self.at:.0f} (unix seconds)"


class Question(Kept):
    """What a person is asked about one intent. `number` counts the questions of one kind about the same intent."""

    key: str
    kind: Literal["approval", "unknown"]
    number: int = 1
    text: str
    digest: str
    evidence: tuple[str, ...] = ()
    warning: str = ""

    def choices(self) -> tuple[Choice, ...]:
        return CHOICES[self.kind]


class Intent(Kept):
    """One row of the ledger. Times are unix seconds.

    `request` holds the bytes until the outcome is final, then only their digest and size stay, and `result`, the text
    that the model saw. `value` is the answer, for an undo, unless it was left out."""

    schema_number: int = Field(SCHEMA, le=SCHEMA)
    key: str
    tool: str
    effect: str
    identity: dict[str, Plain]
    occurrence: int
    arguments: dict[str, Plain]
    pass_number: int
    turn: int
    index: int
    state: IntentState
    digest: str
    size_bytes: int
    request: dict[str, Plain] | None = None
    amount_cents: int | None = None
    currency: str | None = None
    attempts: int = 0
    armed_at: float | None = None
    """When it may first have left; the age of the key counts from here."""
    sealed_at: float | None = None
    """The last seal; None while one is under way. No request leaves later than the send deadline after it."""
    settled_at: float | None = None
    receiver_id: str | None = None
    value: Plain = None
    value_left_out: bool = False
    result: str | None = None
    reason: str | None = None
    alarm: bool = False
    undoes: str | None = None
    rulings: tuple[Ruling, ...] = ()

    def approved(self) -> bool:
        return any(ruling.choice is Choice.APPROVE for ruling in self.rulings)


class Used(Kept):
    """What a run has used so far, counted from its journal."""

    turns: int = 0
    calls: int = 0
    tokens: int = 0
    cost_cents: float = 0.0


class RunEnd(Kept):
    """How a pass of a run ended. `state` is one of completed, failed, refused, cancelled; `reason` a fixed name,
    `detail` a sentence about what to do. `at` is unix seconds."""

    schema_number: int = Field(SCHEMA, le=SCHEMA)
    digest: str
    state: RunState
    reason: str
    detail: str = ""
    answer: str | None = None
    message: dict[str, Plain] | None = None
    """The reply that the answer is from, where it has fields beyond its text."""
    pass_number: int
    used: Used
    refused: tuple[str, ...] = ()
    """Sentences about calls that the grant did not cover, the newest last."""
    at: float
    kind: Literal["end"] = "end"


class Begun(Kept):
    """Written when a run starts: enough to say that it is there, and to find its invocation."""

    schema_number: int = Field(SCHEMA, le=SCHEMA)
    digest: str
    task: str
    invocation: str


class RunRow(Kept):
    """The run's own small row: where it stands and what it waits for. `since` is unix seconds."""

    schema_number: int = Field(SCHEMA, le=SCHEMA)
    digest: str
    pass_number: int
    state: RunState
    reason: str = ""
    since: float
    until: float | None = None
    used: Used = Used()
    left: dict[str, float] = Field(default_factory=dict)
    refused: tuple[str, ...] = ()
    """As for the end."""
    questions: tuple[Question, ...] = ()


class Tombstone(Kept):
    """What stays of a run after its retention."""

    schema_number: int = Field(SCHEMA, le=SCHEMA)
    digest: str
    state: RunState
    ended_at: float
    kind: Literal["tombstone"] = "tombstone"


def digest(value: JsonValue) -> str:
    """SHA-256 (hex) of the canonical JSON of `value`."""
    return hashlib.sha256(canonical(value)).hexdigest()
