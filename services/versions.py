"""What is registered and what a worker serves, side by side, and what stands in the way of replacing one by the other.
Pure.

Rule: an address is one version. A run stays on the deployment that it began on, so other code at the same address
reaches runs that it did not begin.
Must not know: HTTP, SQL.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

UNMARKED = "unmarked"
PENDING = "`python -m services.cli pending`"


@dataclass(frozen=True, slots=True)
class Offer:
    """What an address serves: the digest of its code, None where it does not say, its handlers with their kinds
    (`Agent/run`: `Exclusive`), and the time-outs of each service as Restate writes them (`45s and 2m 15s`)."""

    code: str | None
    handlers: Mapping[str, str]
    timeouts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Deployment:
    id: str
    uri: str
    offer: Offer
    created_at: str
    newest_of: tuple[str, ...] = ()
    """Services whose new calls go to it."""


@dataclass(frozen=True, slots=True)
class Open:
    """Calls of one handler in one state that have not ended; `deployment` is None where they are bound to none yet."""

    deployment: str | None
    target: str
    status: str
    count: int


@dataclass(frozen=True, slots=True)
class Change:
    """From what is registered to what is served."""

    before: str | None
    after: str | None
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    @property
    def same(self) -> bool:
        return self.before == self.after and not self.added and not self.removed

    def sentence(self) -> str:
        parts = []
        if self.before != self.after:
            parts.append(f"other code ({self.before or UNMARKED} is registered, {self.after or UNMARKED} is served)")
        if self.added:
            parts.append(f"added handlers {', '.join(self.added)}")
        if self.removed:
            parts.append(f"removed handlers {', '.join(self.removed)}")
        return "; ".join(parts) or "no difference"


def change(registered: Offer, served: Offer) -> Change:
    old, new = set(registered.handlers.items()), set(served.handlers.items())
    return Change(registered.code, served.code, names(new - old), names(old - new))


def other_timeouts(registered: Offer, served: Offer) -> str:
    """The services whose time-outs are set otherwise than they are known, in words; empty where none is."""
    changed = {name: (registered.timeouts.get(name), told) for name, told in served.timeouts.items()}
    return ", ".join(
        f"{name} from {old} to {new}" for name, (old, new) in sorted(changed.items()) if old not in (None, new)
    )


def names(handlers: set[tuple[str, str]]) -> tuple[str, ...]:
    return tuple(sorted(name for name, _ in handlers))


def lost(fleet: Sequence[Deployment], served: Offer) -> tuple[str, ...]:
    """Handlers that callers can reach now and could not any more: those of the newest deployments."""
    newest = {
        name for deployment in fleet for name in deployment.offer.handlers if name.split("/")[0] in deployment.newest_of
    }
    return tuple(sorted(newest - set(served.handlers)))


def same_address(left: str, right: str) -> bool:
    return left.rstrip("/") == right.rstrip("/")


def in_use_instead(fleet: Sequence[Deployment], deployment: Deployment) -> tuple[str, ...]:
    """Other addresses to which new calls go; empty where none does."""
    return tuple(each.uri for each in fleet if each.newest_of and each.id != deployment.id)


def bound_to(calls: Sequence[Open], deployment: str) -> tuple[Open, ...]:
    """Calls that only this deployment can carry on."""
    return tuple(each for each in calls if each.deployment == deployment)


def coming(calls: Sequence[Open], services: Sequence[str]) -> tuple[Open, ...]:
    """Calls of these services that wait and have no deployment yet. A run that has ended sends itself a call for after
    its retention; whichever version is the newest then carries it out, so nobody need wait for it."""
    return tuple(
        each
        for each in calls
        if each.deployment is None and each.target.split("/")[0] in services and each.target != "Agent/bury"
    )


def total(calls: Sequence[Open]) -> int:
    return sum(each.count for each in calls)


def counts(calls: Sequence[Open]) -> str:
    """In words: 3 Agent/run suspended, 1 Turn/carry suspended."""
    rows = sorted(calls, key=lambda each: (each.target, each.status))
    return ", ".join(f"{each.count} {each.target} {each.status}" for each in rows) or "none"


@dataclass(frozen=True, slots=True)
class Drain:
    """Whether a deployment may be switched off."""

    deployment: Deployment
    bound: tuple[Open, ...]
    waiting: tuple[Open, ...]
    runs: tuple[str, ...] = ()
    """The first of the runs that are bound to it, each with its state."""

    @property
    def free(self) -> bool:
        return not self.bound and not self.deployment.newest_of

    def sentence(self) -> str:
        name = f"{self.deployment.id} at {self.deployment.uri}"
        if self.free:
            return f"{name} may be switched off: no call depends on it."
        reasons = []
        if self.bound:
            reasons.append(f"open on it: {counts(self.bound)}")
        if self.runs:
            more = " (the oldest of them)" if len(self.runs) < total(self.bound) else ""
            reasons.append(f"runs on it: {', '.join(self.runs)}{more}; {PENDING} says what those that wait are asked")
        if self.deployment.newest_of:
            reasons.append(f"new calls of {', '.join(self.deployment.newest_of)} go to it")
        if self.waiting:
            reasons.append(f"on their way to it: {counts(self.waiting)}")
        return f"{name} is still needed: {'; '.join(reasons)}."


def drain(deployment: Deployment, calls: Sequence[Open], runs: Sequence[str] = ()) -> Drain:
    bound = tuple(each for each in bound_to(calls, deployment.id) if each.target != "Agent/bury")
    return Drain(deployment, bound, coming(calls, deployment.newest_of), tuple(runs))
