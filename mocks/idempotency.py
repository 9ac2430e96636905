"""What to do with a request that carries an idempotency key. Pure: record in, decision out.

Rule: a key names one request for good (until its lifetime is over): the same again is answered from the record, another
one is refused, and while the first is being worked on there is no answer yet. It must not know the store or HTTP.
"""

from dataclasses import dataclass

from mocks.answer import Answer


@dataclass(frozen=True, slots=True)
class KeyRecord:
    """What is kept for a key. `fingerprint` names the request (endpoint and body digest); no answer means claimed.

    `owner` is the request that claimed the key; `since` the time of the claim in unix seconds.
    """

    fingerprint: str
    owner: int
    since: float
    answer: Answer | None


@dataclass(frozen=True, slots=True)
class Fresh:
    """Nobody holds the key: claim it and execute."""


@dataclass(frozen=True, slots=True)
class Replay:
    """The request was answered before: give the stored answer."""

    answer: Answer


@dataclass(frozen=True, slots=True)
class InFlight:
    """The first request with this key is still being processed."""


@dataclass(frozen=True, slots=True)
class Reused:
    """The key belongs to another request."""


Decision = Fresh | Replay | InFlight | Reused


def decide(
    record: KeyRecord | None,
    fingerprint: str,
    now: float,
    key_lifetime_s: float | None = None,
    claim_limit_s: float | None = None,
) -> Decision:
    """Decide from the key's record.

    Both limits count from the claim, None is no limit: `key_lifetime_s` where there is an answer, `claim_limit_s`
    where there is none yet. Past its limit a record counts as absent: real receivers, too, execute a forgotten key
    again.
    """
    if record is None:
        return Fresh()
    limit_s = claim_limit_s if record.answer is None else key_lifetime_s
    if limit_s is not None and now - record.since >= limit_s:
        return Fresh()
    if record.fingerprint != fingerprint:
        return Reused()
    if record.answer is None:
        return InFlight()
    return Replay(record.answer)
