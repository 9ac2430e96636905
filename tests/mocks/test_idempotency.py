"""The decision about a keyed request, as a table."""

import pytest

from mocks.answer import Answer
from mocks.idempotency import Decision, Fresh, InFlight, KeyRecord, Replay, Reused, decide

ANSWER = Answer(201, b"{}")
NOW = 1000.0


def record(since: float, answer: Answer | None = ANSWER, fingerprint: str = "charge:a") -> KeyRecord:
    return KeyRecord(fingerprint, owner=1, since=since, answer=answer)


@pytest.mark.parametrize(
    "kept,lifetime_s,limit_s,expected",
    [
        (None, None, None, Fresh()),
        (record(NOW), None, None, Replay(ANSWER)),
        (record(0), None, None, Replay(ANSWER)),
        (record(NOW, fingerprint="charge:b"), None, None, Reused()),
        (record(NOW, fingerprint="refund:a"), None, None, Reused()),
        (record(NOW, answer=None), None, None, InFlight()),
        (record(0, answer=None), None, None, InFlight()),
        (record(NOW, answer=None, fingerprint="charge:b"), None, None, Reused()),
        (record(NOW - 4.9), 5, None, Replay(ANSWER)),
        (record(NOW - 5), 5, None, Fresh()),
        (record(NOW - 5, fingerprint="charge:b"), 5, None, Fresh()),
        (record(NOW - 5, answer=None), 5, None, InFlight()),
        (record(NOW - 4.9, answer=None), None, 5, InFlight()),
        (record(NOW - 5, answer=None), None, 5, Fresh()),
        (record(NOW - 5), None, 5, Replay(ANSWER)),
    ],
)
def test_the_record_decides(
    kept: KeyRecord | None, lifetime_s: float | None, limit_s: float | None, expected: Decision
) -> None:
    assert decide(kept, "charge:a", NOW, lifetime_s, limit_s) == expected
