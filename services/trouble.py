"""Why a run does not go on, as Restate's tables show it, and what a person can do about it. Pure.

Rule: a run is stuck where its invocation is paused or gone, or where attempt after attempt fails and nothing is
recorded in between. One failed attempt is no trouble: a worker that is started again needs about a second.
Must not know: HTTP, SQL, what the run wants to do.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from services.messages import NEWER

STUCK_AFTER_S = 2.0
"""For so long attempts may fail before the run counts as stuck; a restart of a worker takes about half of it."""
ATTEMPT_S = 1.0
HANGING_ATTEMPT_S = 6.0
"""An attempt that has lasted longer than those that failed looks better, though nothing is recorded yet. One that is
refused ends at once. One at a frozen worker ends when its pings have gone unanswered, which takes five seconds at most,
and one that fails in the run's own code may have to read a long journal first."""
CUT = "broken pipe"
"""What Restate says of a connection that was there and went away."""
TEXT_CHARS_MAX = 400

UNREACHABLE_CODE, GONE_CODE, MISMATCH_CODE = "RT0010", "RT0011", "RT0016"
"""Restate's own codes; each is described in its documentation."""


class Cause(StrEnum):
    UNREACHABLE = "worker unreachable"
    MISMATCH = "journal mismatch"
    VERSION_GONE = "version gone"
    FAILING = "failing over and over"
    NEWER = "state of a newer version"
    PAUSED = "paused"
    ABSENT = "invocation gone"


class Way(StrEnum):
    """What helps. The commands for it are the command line's."""

    WAIT = "wait"
    """Nothing but mending the cause: Restate tries again by itself."""
    RESUME = "resume"
    LATEST = "latest"
    """Resume on the newest version that is registered."""
    AFRESH = "afresh"
    """Begin again on the run's ledger, with a new journal."""


@dataclass(frozen=True, slots=True)
class Invocation:
    """A row of `sys_invocation`. Times are unix seconds."""

    id: str
    service: str
    handler: str
    status: str
    created_at: float
    start_at: float | None = None
    """Where it is scheduled: for when."""
    tries: int = 0
    last_start_at: float | None = None
    failure: str | None = None
    code: str | None = None
    endpoint: str | None = None
    ended_with: str | None = None
    asks: str = ""
    """What a decision says that has not been taken yet: choice and key."""

    @property
    def live(self) -> bool:
        return self.status != "completed"

    @property
    def waits(self) -> bool:
        """It has not begun: it is scheduled, or another one has the run."""
        return self.status in ("pending", "scheduled")


@dataclass(frozen=True, slots=True)
class Failure:
    """A row of `sys_journal_events`: a failed attempt, or the pause that Restate made after the last one.

    `after` is the number of the newest journal entry at that time.
    """

    at: float
    after: int
    paused: bool
    code: str | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Trouble:
    """`since` (unix seconds) is the first failure since the run got on last; `paused`: Restate has stopped trying."""

    cause: Cause
    text: str
    invocation: str
    paused: bool = False
    since: float | None = None
    tries: int = 0
    endpoint: str | None = None
    after: int | None = None
    """Number of the journal entry after which it stands still, where that is known."""

    @property
    def heals(self) -> bool:
        """The run goes on by itself once a worker answers."""
        return self.cause is Cause.UNREACHABLE and not self.paused

    @property
    def way(self) -> Way:
        match self.cause:
            case Cause.MISMATCH:
                return Way.AFRESH
            case Cause.VERSION_GONE | Cause.NEWER:
                return Way.LATEST
            case Cause.PAUSED | Cause.ABSENT:
                return Way.RESUME
            case Cause.UNREACHABLE | Cause.FAILING:
                return Way.RESUME if self.paused else Way.WAIT
            case _:
                assert_never(self.cause)

    @property
    def remedy(self) -> str:
        """What to do, in words; the command that does it is the command line's."""
        where = self.endpoint or "its address"
        then = "then resume the run" if self.paused else "Restate tries again by itself"
        match self.cause:
            case Cause.UNREACHABLE:
                return f"start a worker at {where}; {then}"
            case Cause.FAILING:
                return f"mend the worker and serve it at {where} again; {then}"
            case Cause.MISMATCH:
                return (
                    f"the code at {where} is not the code that the run began with: serve that one there again, or let "
                    "the run begin again on its ledger with the present one; what is done is not repeated"
                )
            case Cause.VERSION_GONE:
                return (
                    "the version that the run began on is no longer registered: resume the run on the newest one, or, "
                    "where its code differs, let it begin again on its ledger; what is done is not repeated"
                )
            case Cause.NEWER:
                return (
                    f"serve that version or a later one at {where}, and it goes on by itself; or register it at an "
                    "address of its own and resume the run there"
                )
            case Cause.PAUSED:
                return "somebody has paused it: resume the run"
            case Cause.ABSENT:
                return "resume the run: it begins again on its ledger; what is done is not repeated"
            case _:
                assert_never(self.cause)


def trouble_of(invocation: Invocation, failures: Sequence[Failure], at: float) -> Trouble | None:
    """The trouble of a live invocation at `at` (unix seconds, by the server's clock), or None."""
    if invocation.status == "paused":
        pause = max((each for each in failures if each.paused), key=lambda each: each.at, default=None)
        if pause is None or pause.text is None:
            return Trouble(
                Cause.PAUSED,
                "paused by an operator",
                invocation.id,
                paused=True,
                since=pause.at if pause is not None else None,
                endpoint=invocation.endpoint,
                after=pause.after if pause is not None else None,
            )
        return Trouble(
            cause_of(pause.code, pause.text),
            shorten(pause.text),
            invocation.id,
            paused=True,
            since=pause.at,
            tries=invocation.tries,
            endpoint=invocation.endpoint,
            after=pause.after,
        )
    since = failing_since(failures)
    if not failing(invocation, at) or (since is not None and at - since < STUCK_AFTER_S):
        return None
    return Trouble(
        cause_of(invocation.code, invocation.failure),
        shorten(invocation.failure or ""),
        invocation.id,
        since=since,
        tries=invocation.tries,
        endpoint=invocation.endpoint,
        after=max((each.after for each in failures if not each.paused), default=None),
    )


def failing(invocation: Invocation, at: float) -> bool:
    """Its last attempt failed, and the present one, where there is one, has not lasted long enough to look better.

    Restate clears the failure when something new is recorded.
    """
    if invocation.failure is None:
        return False
    if invocation.status == "backing-off":
        return True
    refused = cause_of(invocation.code) in (Cause.UNREACHABLE, Cause.VERSION_GONE) and CUT not in invocation.failure
    longest_s = ATTEMPT_S if refused else HANGING_ATTEMPT_S
    return (
        invocation.status == "running"
        and invocation.last_start_at is not None
        and at - invocation.last_start_at < longest_s
    )


def failing_since(failures: Sequence[Failure]) -> float | None:
    """The first failure at the place in the journal where the newest one was."""
    attempts = [each for each in failures if not each.paused]
    place = max((each.after for each in attempts), default=None)
    return min((each.at for each in attempts if each.after == place), default=None)


def cause_of(code: str | None, text: str | None = None) -> Cause:
    if text is not None and NEWER in text:
        return Cause.NEWER
    known = {
        UNREACHABLE_CODE: Cause.UNREACHABLE,
        GONE_CODE: Cause.VERSION_GONE,
        MISMATCH_CODE: Cause.MISMATCH,
    }
    return known.get(code or "", Cause.FAILING)


def shorten(text: str) -> str:
    """What a person reads of a failure: no status in front, no traceback behind."""
    text = text.split("\nTraceback", 1)[0]
    if text.startswith("[") and "] " in text:
        text = text.split("] ", 1)[1]
    words = " ".join(text.split())
    return words if len(words) <= TEXT_CHARS_MAX else words[: TEXT_CHARS_MAX - 1] + "…"
