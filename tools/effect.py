"""Effect classes, and the one table that turns a class into behaviour.

Rule: nothing else in the project branches on the class; it asks the policy. What the receiver promises for each class:

READ   nothing changes.
SET    repeating leaves the same state while nobody else has written since (PUT, upsert, an id that the client chose).
KEYED  the same key is applied once and answered from the receiver's record, for a stated lifetime.
ONCE   nothing at all.
Must not know: HTTP, Restate, any particular tool.
"""

from dataclasses import dataclass
from enum import StrEnum


class Effect(StrEnum):
    READ = "read"
    SET = "set"
    KEYED = "keyed"
    ONCE = "once"


@dataclass(frozen=True, slots=True)
class Policy:
    """How an intent of one class is treated."""

    changes: bool
    """It changes something outside: it gets a key, is sealed before it leaves and is kept in the ledger."""
    repeats_after_crash: bool
    """A step that a crash cut off runs again. Otherwise the intent is Unknown."""
    repeats_on_doubt: bool
    """A doubtful answer is followed by another send of the same bytes. Otherwise the intent is Unknown at once."""
    within_lifetime: bool
    """A repeat is safe only while the receiver remembers the key."""
    within_deadline: bool
    """A repeat after doubt is safe only within the send deadline: somebody else may have written since."""
    alone: bool
    """Calls of this class in one turn go one after the other, so that a crash leaves one of them in doubt, not all."""


POLICIES: dict[Effect, Policy] = {
    Effect.READ: Policy(
        changes=False,
        repeats_after_crash=True,
        repeats_on_doubt=True,
        within_lifetime=False,
        within_deadline=False,
        alone=False,
    ),
    Effect.SET: Policy(
        changes=True,
        repeats_after_crash=True,
        repeats_on_doubt=True,
        within_lifetime=False,
        within_deadline=True,
        alone=False,
    ),
    Effect.KEYED: Policy(
        changes=True,
        repeats_after_crash=True,
        repeats_on_doubt=True,
        within_lifetime=True,
        within_deadline=False,
        alone=False,
    ),
    Effect.ONCE: Policy(
        changes=True,
        repeats_after_crash=False,
        repeats_on_doubt=False,
        within_lifetime=False,
        within_deadline=False,
        alone=True,
    ),
}
