"""Following one run until it ends, waits for a person, or does not go on.

Rule: a run that is stuck is followed for a while, since most troubles are a worker that is just being replaced; one
that no time heals ends it at once. Restate itself may be away as long.
Must not know: HTTP, how anything is shown.
"""

from collections.abc import Callable, Iterator

from services.messages import RunEnd, RunState
from services.overview import Overview
from services.restate_api import Unanswered
from services.trouble import Cause

PATIENCE_S = 30.0
"""Longer than a worker or a server takes to come back, shorter than a person wants to look at nothing."""
LASTING = frozenset({Cause.MISMATCH, Cause.VERSION_GONE, Cause.PAUSED, Cause.ABSENT})


def follow(
    look: Callable[[], Overview],
    clock: Callable[[], float],
    pause: Callable[[], None],
    *,
    pass_number: int = 1,
    within_s: float | None = None,
) -> Iterator[Overview]:
    """The run at first and after each change; the last one is where following ended.

    An end of a pass before `pass_number` is not the end. Raises what `look` raises, Unanswered only when it lasts.
    """
    started = clock()
    bad_since: float | None = None
    before: Overview | None = None
    while True:
        now = clock()
        over = within_s is not None and now - started >= within_s
        try:
            seen = look()
        except Unanswered:
            bad_since = now if bad_since is None else bad_since
            if over or now - bad_since >= PATIENCE_S:
                raise
            pause()
            continue
        bad_since = (now if bad_since is None else bad_since) if seen.state is RunState.STUCK else None
        if before is None or shape(seen) != shape(before):
            yield seen
        before = seen
        if over or done(seen, pass_number) or (bad_since is not None and now - bad_since >= PATIENCE_S):
            return
        pause()


def done(seen: Overview, pass_number: int) -> bool:
    end = seen.record.ended
    if end is not None:
        return not isinstance(end, RunEnd) or end.pass_number >= pass_number
    if seen.trouble is not None and (seen.trouble.paused or seen.trouble.cause in LASTING):
        return True
    return seen.waits_for_people


def shape(seen: Overview) -> tuple[object, ...]:
    """What a person would see of it, without what changes by itself."""
    kinds = tuple((each.question, each.since) for each in seen.questions)
    cause = None if seen.trouble is None else (seen.trouble.cause, seen.trouble.paused)
    return seen.state, seen.reason, seen.record, kinds, cause, seen.cancelling
