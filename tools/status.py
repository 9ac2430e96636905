"""What a status means for an intent: the single status table.

Rule: Rejected only where the receiver says that nothing happened and that it would refuse the same request again;
NotSent only where it turned the request away before looking at it. Whatever is neither is Unknown. A redirect is never
followed: the request may have been acted on where it went first.
Must not know: the HTTP client, keys, effect classes, any tool.
"""

from collections.abc import Callable

from pydantic import JsonValue

from tools.outcome import Answer, Done, Doubt, InFlight, NotSent, Rejected, Unknown
from tools.plain import MISTAKES, describe
from tools.reply import Problem, Reply, problem, retry_after_s
from tools.words import identifier

# The receiver is still busy with the first request under this key. A bare 409 may as well be a plain refusal.
IN_FLIGHT = frozenset({"idempotency_in_flight", "idempotency_key_in_use"})
# This key came with another body. Stripe says so with a 400 of this type; its 409 of this type means "in use".
KEY_REUSED = "idempotency_key_reused"
KEY_ERROR_TYPE = "idempotency_error"
# A 429 that no waiting within a run's budget will turn into a success.
EXHAUSTED = frozenset({"insufficient_quota", "quota_exceeded"})

# Turned away at the door, before anybody looks at a key; 412 speaks of a version, which our own earlier request may
# have moved on.
AT_THE_DOOR = frozenset({401, 403, 404, 405, 406, 407, 410, 411, 412, 413, 414, 415, 417, 421, 426, 428, 431, 451})

Judge = Callable[[Reply], Answer]


def answer(reply: Reply, judge: Judge | None) -> Answer:
    """The answer that this reply is. `judge` reads a 2xx; without one a 2xx is Done."""
    match reply.status // 100:
        case 2:
            return _success(reply, judge)
        case 4:
            return _refusal(reply, problem(reply))
        case 5 if reply.replayed:
            return Unknown(f"{_words(reply)}; that is the stored answer to this key", Doubt.STORED_ERROR)
        case 3:
            return Unknown(f"{_words(reply)}; redirects are not followed", Doubt.SERVER_ERROR)
        case _:
            return Unknown(_words(reply), Doubt.SERVER_ERROR)


def only_of_itself(answer: Rejected) -> bool:
    """The refusal is of this request and says nothing about an earlier one with the same key, which may have been
    applied."""
    return answer.status in AT_THE_DOOR


def _refusal(reply: Reply, trouble: Problem) -> Answer:
    names = {trouble.code, trouble.type}
    match reply.status:
        case 408 | 425:
            return Unknown(_words(reply), Doubt.SERVER_ERROR)
        case 400 | 409 | 422 if KEY_REUSED in names:
            return Unknown(_words(reply), Doubt.KEY_REUSED)
        case 400 | 422 if KEY_ERROR_TYPE in names:
            return Unknown(_words(reply), Doubt.KEY_REUSED)
        case 409 if names & IN_FLIGHT or KEY_ERROR_TYPE in names:
            return InFlight(_words(reply), retry_after_s(reply.headers))
        case 412:
            return Rejected(f"{_words(reply)}: it has changed since that version; read it again", 412, reply.body)
        case 429:
            return NotSent(_words(reply), retry_after_s(reply.headers), last=bool(names & EXHAUSTED))
        case _:
            return Rejected(_words(reply), reply.status, reply.body)


def _success(reply: Reply, judge: Judge | None) -> Answer:
    if judge is None:
        return Done(reply.body, receiver_id(reply.body))
    try:
        judged: object = judge(reply)
    except MISTAKES as error:  # a tool author's code: its failure must not undo what a 2xx says
        return Unknown(f"the tool could not judge the answer (HTTP {reply.status}), {describe(error)}", Doubt.JUDGED)
    if not isinstance(judged, Answer):
        return Unknown(f"the tool's judge gave no answer but {type(judged).__name__}", Doubt.JUDGED)
    return judged


def receiver_id(body: JsonValue) -> str | None:
    """The receiver's name for the effect: the `id` in its answer, where there is one.

    One that is no printable line, or too long for an id, is none.
    """
    return identifier(body.get("id")) if isinstance(body, dict) else None


def _words(reply: Reply) -> str:
    trouble = problem(reply)
    code = f" {trouble.code}" if trouble.code else ""
    return f"{trouble.message or 'the receiver gave no reason'} (HTTP {reply.status}{code})"
