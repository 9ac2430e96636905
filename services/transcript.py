"""What was said in a run, as data: the entries that the decision core counts and the history is made from.

Rule: entries come from journalled values only and are never changed. A transcript that is built again from the same
journal is equal, so every count survives a crash.
Must not know: Restate, the wire format of a request, what is decided.
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property, reduce
from typing import Literal, TypeVar

from services.ids import Ids
from services.reason import Limit
from services.reply import Reading, read
from tools.plain import Plain


class Cut(StrEnum):
    """Whether a reply was cut off, as far as the provider told."""

    NO = "no"
    MAYBE = "maybe"
    """It says that the reply is whole, and as many tokens came as were allowed."""
    YES = "yes"


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one reply. `estimated`: the provider did not tell, so sizes were taken (4 bytes to a token)."""

    tokens_in: int = 0
    tokens_out: int = 0
    estimated: bool = False


@dataclass(frozen=True, slots=True)
class Told:
    """A text that is put to the model: the task, a user's message, or instructions. `at` is unix seconds, 0 unknown."""

    text: str
    role: Literal["user", "system"] = "user"
    at: float = 0.0
    kind: Literal["told"] = "told"


@dataclass(frozen=True)
class Replied:
    """One reply of the model: the assistant message as it came (cleaned text, nothing else changed). Turns count from
    1."""

    turn: int
    raw: dict[str, Plain]
    finish_reason: str | None = None
    usage: Usage = Usage()
    cut: Cut = Cut.NO
    filtered: bool = False
    """The provider says that its filter stopped the reply."""
    at: float = 0.0
    kind: Literal["replied"] = "replied"

    @cached_property
    def reading(self) -> Reading:
        """What the message says. Every decision and every request looks at it, so it is read once."""
        return read(self.raw)


@dataclass(frozen=True, slots=True)
class Answered:
    """The results of a turn's calls: one text for each, in the order of the calls."""

    turn: int
    texts: tuple[str, ...]
    at: float = 0.0
    kind: Literal["answered"] = "answered"


@dataclass(frozen=True, slots=True)
class Extended:
    """A person allowed more: `by` is added to the limit of this name."""

    limit: Limit
    by: float
    kind: Literal["extended"] = "extended"


@dataclass(frozen=True, slots=True)
class Waited:
    """The run stood still for a person. This time is not counted as the run's own."""

    seconds: float
    kind: Literal["waited"] = "waited"


@dataclass(frozen=True, slots=True)
class Shortened:
    """The provider said that the conversation was too long: from here on its messages have at most this many bytes."""

    to_bytes: int
    kind: Literal["shortened"] = "shortened"


Entry = Told | Replied | Answered | Extended | Waited | Shortened
E = TypeVar("E", Told, Replied, Answered, Extended, Waited, Shortened)


@dataclass(frozen=True, slots=True)
class Tally:
    """What the entries of a run amount to. It is kept beside them, so that a turn costs the same however long the run
    is."""

    turns: int = 0
    """Replies of the model so far, bad ones included."""
    calls: int = 0
    """Calls that have been answered."""
    usage: Usage = Usage()
    """Tokens of all replies together."""
    first_at: float = 0.0
    last_at: float = 0.0
    waited_s: float = 0.0

    @property
    def wall_s(self) -> float:
        """Seconds from the first time stamp to the last, without the waits for people."""
        return max(0.0, self.last_at - self.first_at - self.waited_s)

    def plus(self, entry: Entry) -> "Tally":
        match entry:
            case Replied(usage=more):
                whole = Usage(
                    self.usage.tokens_in + more.tokens_in,
                    self.usage.tokens_out + more.tokens_out,
                    self.usage.estimated or more.estimated,
                )
                return Tally(self.turns + 1, self.calls, whole, *self._span(entry.at), self.waited_s)
            case Answered(texts=texts):
                return Tally(self.turns, self.calls + len(texts), self.usage, *self._span(entry.at), self.waited_s)
            case Told():
                return Tally(self.turns, self.calls, self.usage, *self._span(entry.at), self.waited_s)
            case Waited(seconds):
                return replace(self, waited_s=self.waited_s + seconds)
            case Extended() | Shortened():
                return self

    def _span(self, at: float) -> tuple[float, float]:
        """From the first time stamp to the last; 0 is none."""
        return (min(self.first_at or at, at), max(self.last_at, at)) if at > 0 else (self.first_at, self.last_at)


@dataclass(frozen=True)
class Transcript:
    """All entries of a run, in order. `earlier` are entries of a session's earlier runs: the model sees them, nothing
    counts them."""

    entries: tuple[Entry, ...] = ()
    earlier: tuple[Entry, ...] = ()

    def add(self, *entries: Entry) -> "Transcript":
        grown = Transcript((*self.entries, *entries), self.earlier)
        # What follows from the entries is not made anew: the cached properties below are handed on, grown as well.
        grown.__dict__["tally"] = reduce(Tally.plus, entries, self.tally)
        grown.__dict__["ids"] = reduce(named, entries, self.ids)
        return grown

    @cached_property
    def tally(self) -> Tally:
        return reduce(Tally.plus, self.entries, Tally())

    @cached_property
    def ids(self) -> Ids:
        """The ids of all calls, those of earlier runs first."""
        return reduce(named, (*self.earlier, *self.entries), Ids())

    @property
    def last(self) -> Told | Replied | Answered | None:
        """The newest entry that is part of the conversation."""
        for entry in reversed(self.entries):
            if isinstance(entry, Told | Replied | Answered):
                return entry
        return None

    def of(self, kind: type[E]) -> tuple[E, ...]:
        """The entries of one kind, in order."""
        return tuple(entry for entry in self.entries if isinstance(entry, kind))


def named(ids: Ids, entry: Entry) -> Ids:
    return ids.plus(entry.raw) if isinstance(entry, Replied) else ids
