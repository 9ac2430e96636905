"""The words between `progress` and those who obey it: what happened to a call, what is next for it, how far it has
come.

Rule: closed sets of frozen values, matched exhaustively.
Must not know: how anything is decided or done.
"""

from dataclasses import dataclass, field, replace
from typing import Literal

from services.calls import Call
from services.messages import Intent, IntentState, Question, Ruling
from tools.effect import POLICIES, Policy
from tools.outcome import Answer, Found, Rejected, Unknown
from tools.plain import Plain
from tools.tool import Tool


@dataclass(frozen=True, slots=True)
class Caps:
    """What the settings add to a tool's declaration."""

    unknown: Literal["park", "tell"] = "park"
    key_lifetime_s: float | None = None
    result_bytes: int = 32_000
    """Of a call's text that the model is told."""

    def lifetime_s(self, tool: Tool) -> float | None:
        stated = [value for value in (self.key_lifetime_s, tool.key_lifetime_s) if value is not None]
        return min(stated) if stated else None

    def safe_age_s(self, tool: Tool) -> float | None:
        """How old a key may be and still be sent: its lifetime less the time that a request may be under way."""
        lifetime = self.lifetime_s(tool)
        return None if lifetime is None else lifetime - min(tool.send_deadline_s, lifetime / 2)


# What happened


@dataclass(frozen=True, slots=True)
class Prepared:
    """The bytes of one intent as the seal fixed them, or the sentence why the tool could not make them."""

    request: dict[str, Plain] | None
    digest: str = ""
    size_bytes: int = 0
    failed: str | None = None


@dataclass(frozen=True, slots=True)
class SealedAt:
    prepared: Prepared
    at: float
    seal: str
    """Name of the seal's step: an effect that may leave only once leaves only in the attempt that ran it."""


@dataclass(frozen=True, slots=True)
class Answered:
    answer: Answer
    at: float


@dataclass(frozen=True, slots=True)
class LookedUp:
    found: Found
    at: float


@dataclass(frozen=True, slots=True)
class Nudged:
    """Nobody has answered the question yet; where the receiver can be asked, ask it again."""

    question: Question


Event = SealedAt | Answered | LookedUp | Nudged | Ruling


# What is next


@dataclass(frozen=True, slots=True)
class Seal:
    """Fix the bytes and make the row durable, with `state` in it."""

    state: IntentState


@dataclass(frozen=True, slots=True)
class Send:
    pass


@dataclass(frozen=True, slots=True)
class LookUp:
    pass


@dataclass(frozen=True, slots=True)
class Wait:
    seconds: float
    then: "Seal | Send | LookUp"
    reason: str


@dataclass(frozen=True, slots=True)
class Ask:
    question: Question


@dataclass(frozen=True, slots=True)
class Settled:
    """The call is answered: `text` is what the model is told."""

    text: str


@dataclass(frozen=True, slots=True)
class Follow:
    """Settled when the call that holds `key` is, with the same text."""

    key: str


Move = Seal | Send | LookUp | Wait | Ask | Settled | Follow


@dataclass(frozen=True, slots=True)
class Progress:
    """One call on its way. `intent` is None for a call that changes nothing."""

    call: Call
    tool: Tool | None
    intent: Intent | None
    caps: Caps
    arguments: dict[str, Plain] = field(default_factory=dict)
    seal: str | None = None
    sealed_at: float = 0.0
    sends: int = 0
    look_ups: int = 0
    waited_s: float = 0.0
    doubt: Unknown | None = None
    """The last doubtful answer; while there is one, "not sent" no longer proves that nothing happened."""
    refused: Rejected | None = None
    """A refusal that is believed only when the look-up does not find the effect."""
    barred: str | None = None
    """Why it may not be sent again: the grant of this pass does not cover what an earlier one has begun."""
    because: str = ""
    evidence: tuple[str, ...] = ()

    @property
    def does(self) -> Tool:
        """The tool, of a call that is not answered right away."""
        assert self.tool is not None
        return self.tool

    @property
    def row(self) -> Intent:
        """The intent, of a call that changes something."""
        assert self.intent is not None
        return self.intent

    @property
    def policy(self) -> Policy:
        return POLICIES[self.does.effect]

    def with_intent(self, **changes: object) -> "Progress":
        return replace(self, intent=self.row.model_copy(update=changes))
