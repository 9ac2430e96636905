"""When another send is safe, when a look-up is believed, and how long to wait. Pure.

Rule: every bound counts from times that are recorded, so a crash moves none of them.
Must not know: which move follows.
"""

from services.moves import Progress

BACKOFF_FIRST_S = 0.5
BACKOFF_FACTOR = 4.0
BACKOFF_MAX_S = 5.0
"""Between tries of one call: the first is quick enough for a blip, and three tries outlast a receiver's restart."""
SEND_WITHIN = 0.8
"""The part of a send deadline in which another send under the same seal still makes sense; the rest is for its way
out."""


def open_until(progress: Progress) -> float:
    """Until then another send under the same seal makes sense (unix seconds)."""
    return progress.sealed_at + SEND_WITHIN * progress.does.send_deadline_s


def believed_from(progress: Progress) -> float:
    """From then on no request can be under way or unsettled any more, so "not found" counts (unix seconds)."""
    return progress.sealed_at + progress.does.send_deadline_s + progress.does.settle_s


def can_look_up(progress: Progress) -> bool:
    """Where a key came with other bytes, what is found under it need not be this effect: a person looks."""
    return progress.does.find is not None and not progress.row.alarm


def in_time(progress: Progress, at: float) -> bool:
    """A repeat after doubt that has to be within the send deadline still is. No new seal is made for it."""
    if progress.intent is None or not progress.policy.within_deadline:
        return True
    return progress.seal is not None and at <= open_until(progress)


def too_old(progress: Progress, at: float) -> bool:
    """The receiver may have forgotten the key: a send could be applied a second time."""
    if progress.intent is None or progress.tool is None or not progress.policy.within_lifetime:
        return False
    age = progress.caps.safe_age_s(progress.does)
    return age is not None and at - (progress.row.armed_at or at) > age


def backoff_s(tries: int) -> float:
    return float(min(BACKOFF_MAX_S, BACKOFF_FIRST_S * BACKOFF_FACTOR ** max(0, tries - 1)))
