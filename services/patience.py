"""How long to go on after a failed request to the model, and how long to wait. Pure.

Rule: `attempts` configured means that many requests, counted from journalled failures; all waits together keep to one
budget. The one trimmed request after "context too long" comes on top: it is another request.
Must not know: Restate, HTTP; who waits.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from services.answer import Action, ModelFailed
from services.provider import Provider
from services.reason import Reason


@dataclass(frozen=True, slots=True)
class Retry:
    """Ask again after `wait_s` seconds; with `trim_to_bytes`, after the history was shortened to that (`Shortened`)."""

    wait_s: float
    trim_to_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Fail:
    reason: Reason
    detail: str


def plan(earlier: Sequence[ModelFailed], failed: ModelFailed, provider: Provider, jitter: float = 0.0) -> Retry | Fail:
    """What to do about a failure, given the earlier failures of this same turn, oldest first.

    `jitter` (0 to 1, from the run's own seeded source) shortens our back-off by up to half, so that runs that failed
    together do not come back together. A wait that the server names is never shortened.
    """
    if failed.action is Action.FAIL:
        return Fail(failed.reason, failed.detail)
    if failed.action is Action.TRIM:
        if any(before.action is Action.TRIM for before in earlier):
            return Fail(Reason.CONTEXT_TOO_LONG, f"also after it was shortened: {failed.detail}")
        return Retry(0.0, trim_to_bytes=_shorter_bytes(failed))
    requests = [before for before in (*earlier, failed) if before.action is not Action.TRIM]
    if len(requests) >= max(1, provider.attempts):
        return Fail(failed.reason, f"after {len(requests)} requests: {failed.detail}")
    wait_s = _wait_s(failed, len(requests), provider, jitter)
    waited_s = sum(_wait_s(before, number, provider, 0.0) for number, before in enumerate(requests[:-1], start=1))
    if waited_s + wait_s > provider.wait_budget_s:
        reason = Reason.RATE_LIMITED if failed.action is Action.WAIT else failed.reason
        left_s = max(0.0, provider.wait_budget_s - waited_s)
        return Fail(
            reason, f"the next request would have to wait {wait_s:.0f} s, {left_s:.0f} s are left: {failed.detail}"
        )
    return Retry(wait_s)


def _shorter_bytes(failed: ModelFailed) -> int:
    """Half of what was sent; less where the server's words name two sizes of which ours was more than twice the other.

    "maximum context length is 8192 tokens, your messages have 40000" is such a sentence. Half at least, so that the
    next turns fit too.
    """
    numbers = [int(digits) for digits in re.findall(r"\d{4,9}", failed.detail.replace(",", ""))]
    share = 0.8 * min(numbers) / max(numbers) if len(numbers) > 1 else 0.5
    return int(failed.history_bytes * min(0.5, share))


def _wait_s(failed: ModelFailed, number: int, provider: Provider, jitter: float) -> float:
    """The wait after the request of this number, from 1."""
    if failed.retry_after_s is not None and failed.retry_after_s > 0:
        return failed.retry_after_s
    # 2**20 is far beyond any longest wait; without the bound the power itself would grow without end.
    backoff_s = min(provider.backoff_max_s, provider.backoff_s * 2.0 ** min(number - 1, 20))
    return backoff_s * (1 - min(max(jitter, 0.0), 1.0) / 2)
