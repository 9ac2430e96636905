"""What a status means for an intent: the single status table.

Rule: Rejected only where the receiver says that nothing happened and the same request would be refused again; NotSent only
where it turned the request away before looking at it. Everything that is neither is Unknown. A redirect is never followed:
the request may have been acted on where it went first.
Must not know: the HTTP client, keys, effect classes, any tool.
"""

from collections.abc import Callable

from tools.outcome import Answer, Done, Doubt, InFlight, NotSent, Rejected, Unknown
from tools.plain import describe
from tools.reply import Problem, Reply, problem, retry_after_s

# The receiver is still busy with the first request under this key. Only the code says so: a 409 alone may be a plain refusal.
IN_FLIGHT_CODES = frozenset({"idempotency_in_flight", "idempotency_key_in_use"})
# This key came with another body.
REUSED_CODES = frozenset({"idempotency_key_reused", "idempotency_error"})
# A 429 that no waiting within a run's budget will turn into a success.
EXHAUSTED_CODES = frozenset({"insufficient_quota", "quota_exceeded"})

Judge = Callable[[Reply], Answer]


def answer(reply: Reply, judge: Judge | None) -> Answer:
    """The answer that this reply is."""
    trouble = problem(reply)
    words = _words(reply, trouble)
    names = {trouble.code, trouble.type}
    match reply.status:
        case status if 200 <= status <= 299:
            return judged(reply, judge)
        case 408 | 425:
            return Unknown(words, Doubt.SERVER_ERROR)
        case 409 if names & IN_FLIGHT_CODES:
            return InFlight(words, retry_after_s(reply.headers))
        case 400 | 409 | 422 if names & REUSED_CODES:
            return Unknown(words, Doubt.KEY_REUSED)
        case 412:
            return Rejected(_stale(trouble), reply.status, reply.body)
        case 429:
            return NotSent(words, retry_after_s(reply.headers), last=bool(names & EXHAUSTED_CODES))
        case status if 400 <= status <= 499:
            return Rejected(words, reply.status, reply.body)
        case status if 300 <= status <= 399:
            return Unknown(f"{words}; redirects are not followed", Doubt.SERVER_ERROR)
        case status if 500 <= status <= 599 and reply.replayed:
            return Unknown(f"{words}; it is the stored answer to this key", Doubt.STORED_ERROR)
        case _:
            return Unknown(words, Doubt.SERVER_ERROR)


def judged(reply: Reply, judge: Judge | None) -> Answer:
    """A 2xx: what the tool's judge says, or Done. A judge that fails leaves it open: the effect may well have happened."""
    if judge is None:
        return Done(reply.body, receiver_id(reply.body))
    try:
        return judge(reply)
    except Exception as error:  # a judge is a tool author's code; its failure must not undo the knowledge of a 2xx
        return Unknown(f"the tool could not judge the answer {reply.status}: {describe(error)}", Doubt.JUDGED)


def receiver_id(body: object) -> str | None:
    """The receiver's name for the effect: the `id` in the body, where there is one."""
    match body:
        case {"id": str(name)} if name:
            return name
        case {"id": int(number)} if not isinstance(number, bool):
            return str(number)
    return None


def _words(reply: Reply, trouble: Problem) -> str:
    code = f" {trouble.code}" if trouble.code else ""
    return f"{trouble.message or 'the receiver gave no reason'} (HTTP {reply.status}{code})"


def _stale(trouble: Problem) -> str:
    said = f" The receiver says: {trouble.message}" if trouble.message else ""
    return f"somebody else has changed it since that version was read; read it again and decide anew.{said}"
