"""How far one call has come, and what is next for it: from what happened to the next move. Pure.

Rule: the effect class decides through its policy, in `doubtful` and `not_found`; nothing else looks at it. Attempts are
counted from answers that are in the journal: N attempts are N answers.

    Go ──► seal ──► send ──► Done, Rejected ──► settled
                     │ ▲
       not sent,     │ │ wait, and again while attempts are left
       in flight,    ▼ │
       doubt ──────► … ┴──► look up ──► Done, Rejected ──► settled
                              │ ▲ wait while it is too early to believe "not found"
                              ▼ │
                     ask a person ──► it happened, did not happen (seal, send again), give up
Must not know: Restate, HTTP, where a row is kept.
"""

from dataclasses import replace
from typing import Literal, assert_never

from pydantic import JsonValue

from services.calls import Call
from services.ending import settle, text_of
from services.ledger import AskFirst, Beyond, Go, Plan, Read, Resolve, Same, Say
from services.margins import BACKOFF_FIRST_S, backoff_s, believed_from, can_look_up, in_time, open_until, too_old
from services.messages import CHOICES, Choice, IntentState, Question, Ruling
from services.moves import (
    Answered,
    Ask,
    Caps,
    Event,
    Follow,
    LookedUp,
    LookUp,
    Move,
    Nudged,
    Progress,
    Seal,
    SealedAt,
    Send,
    Settled,
    Wait,
)
from services.phrases import denied_text, unknown_text
from tools.outcome import Answer, Done, Doubt, Found, InFlight, NotFound, NotSent, Pending, Rejected, Unknown
from tools.status import only_of_itself

IN_FLIGHT_MAX_S = 60.0
"""How long a receiver may go on saying that it still works on the key, or that it has not finished, before a
person is asked."""
ASKED_WAIT_MAX_S = 4 * 3600.0
"""The longest that a receiver that turned a request away may make the run wait for the next: hours, not days."""
RECALL = "A request that is still under way cannot be recalled: did_not_happen sends another."
LOOK_UPS_MAX = 5
"""A look-up that gets no answer is tried so often; then a person decides without it."""


def begin(call: Call, plan: Plan, caps: Caps, at: float) -> tuple[Progress, Move]:
    """The first move of a call that was planned. `at` is the newest time that is recorded, in unix seconds."""
    match plan:
        case Beyond(text, tool, intent) if tool is not None and intent is not None:
            return settle(Progress(call, tool, intent, caps), text, at, state=IntentState.NOT_SENT, reason=text)
        case Say(text) | Beyond(text):
            return Progress(call, None, None, caps), Settled(text)
        case Same(key):
            return Progress(call, None, None, caps), Follow(key)
        case Read(tool, arguments):
            return Progress(call, tool, None, caps, arguments), Send()
        case Go(tool, intent):
            return Progress(call, tool, intent, caps, intent.arguments), Seal(IntentState.ARMED)
        case AskFirst(tool, intent, because):
            return Progress(call, tool, intent, caps, intent.arguments, because=because), Seal(IntentState.WAITING)
        case Resolve(tool, intent, because, barred):
            doubt = Unknown(because, Doubt.CRASHED)
            # Where the last seal is not in the row, it was under way: it was not later than this pass began.
            sealed_at = intent.sealed_at if intent.sealed_at is not None else at
            progress = Progress(
                call, tool, intent, caps, intent.arguments, sealed_at=sealed_at, doubt=doubt, barred=barred
            )
            if progress.policy.within_lifetime and intent.state is not IntentState.UNKNOWN and barred is None:
                return progress, Seal(IntentState.ARMED)
            return look_or_ask(progress, because)
        case _:
            assert_never(plan)


def advance(progress: Progress, event: Event) -> tuple[Progress, Move]:
    """The next move after something happened."""
    match event:
        case SealedAt():
            return sealed(progress, event)
        case Answered(answer, at):
            return answered(progress, answer, at)
        case LookedUp(found, at):
            return looked_up(replace(progress, look_ups=progress.look_ups + 1), found, at)
        case Nudged(question):
            return progress, LookUp() if question.kind == "unknown" and can_look_up(progress) else Ask(question)
        case Ruling():
            return ruled(progress, event)
        case _:
            assert_never(event)


def sealed(progress: Progress, event: SealedAt) -> tuple[Progress, Move]:
    if event.prepared.failed is not None:
        words = f"{progress.does.name} failed before anything was sent: {event.prepared.failed}"
        return settle(progress, words, event.at, state=IntentState.NOT_SENT, reason=event.prepared.failed)
    made = {
        "request": event.prepared.request,
        "digest": event.prepared.digest,
        "size_bytes": event.prepared.size_bytes,
    }
    if progress.row.state is IntentState.WAITING:
        return ask(progress.with_intent(**made), "approval", progress.because)
    # Without a doubt nothing of an earlier seal has left, so the receiver has not seen the key yet.
    first = progress.row.armed_at if progress.doubt is not None and progress.row.armed_at is not None else event.at
    intent = progress.row.model_copy(update={**made, "armed_at": first, "sealed_at": event.at})
    progress = replace(progress, intent=intent, seal=event.seal, sealed_at=event.at)
    if too_old(progress, event.at):
        return look_or_ask(progress, "the receiver may have forgotten the key by now")
    return progress, Send()


def answered(progress: Progress, answer: Answer, at: float) -> tuple[Progress, Move]:
    intent = progress.intent
    if intent is not None:
        intent = intent.model_copy(update={"attempts": intent.attempts + 1})
    progress = replace(progress, intent=intent, sends=progress.sends + 1)
    match answer:
        case Rejected() if progress.intent is not None and progress.does.needs_look_up(answer):
            # The refusal may be of a repeat of what we did ourselves: the receiver is asked before it is believed.
            return replace(progress, refused=answer), LookUp()
        case Rejected(reason) if progress.intent is not None and progress.doubt is not None and only_of_itself(answer):
            words = f"{reason}; that says nothing about the request before"
            return doubtful(progress, Unknown(words, Doubt.SERVER_ERROR), at)
        case Done() | Rejected():
            return final(progress, answer, at)
        case NotSent():
            return not_sent(progress, answer, at)
        case InFlight(reason, retry_after_s):
            seconds = max(BACKOFF_FIRST_S, retry_after_s or backoff_s(progress.sends))
            if progress.waited_s + seconds > IN_FLIGHT_MAX_S:
                return doubtful(progress, Unknown(f"{reason}, for {IN_FLIGHT_MAX_S:.0f} s", Doubt.STORED_ERROR), at)
            waiting = replace(progress, waited_s=progress.waited_s + seconds, sends=progress.sends - 1)
            return again(replace(waiting, doubt=Unknown(reason)), at, seconds, reason)
        case Pending(reason, retry_after_s):
            if progress.intent is None:
                return doubtful(progress, Unknown(reason, Doubt.JUDGED), at)
            return pending(progress, reason, retry_after_s)
        case Unknown():
            return doubtful(progress, answer, at)
        case _:
            assert_never(answer)


def final(progress: Progress, answer: Done | Rejected, at: float) -> tuple[Progress, Move]:
    match answer:
        case Done(value, receiver_id):
            done = IntentState.DONE
            return settle(progress, text_of(value), at, state=done, receiver_id=receiver_id, value=value)
        case Rejected(reason):
            words = f"{progress.does.name} was rejected: {reason}"
            return settle(progress, words, at, state=IntentState.REJECTED, reason=reason)
        case _:
            assert_never(answer)


def not_sent(progress: Progress, answer: NotSent, at: float) -> tuple[Progress, Move]:
    seconds = answer.retry_after_s if answer.retry_after_s is not None else backoff_s(progress.sends)
    more = progress.sends < progress.does.attempts and not answer.last and seconds <= ASKED_WAIT_MAX_S
    if more and (progress.doubt is None or in_time(progress, at + seconds)):
        return again(progress, at, seconds, answer.reason)
    if progress.doubt is not None and progress.intent is not None:
        return look_or_ask(progress, progress.doubt.reason)
    words = f"{progress.does.name} could not be reached and did nothing: {answer.reason}"
    return settle(progress, words, at, state=IntentState.NOT_SENT, reason=answer.reason)


def doubtful(progress: Progress, answer: Unknown, at: float) -> tuple[Progress, Move]:
    """A doubtful answer: again, where the class allows and the doubt is of a kind that another send can end."""
    tool, policy = progress.does, progress.policy
    progress = replace(progress, doubt=answer, evidence=(*progress.evidence, answer.reason))
    if answer.doubt is Doubt.KEY_REUSED and progress.intent is not None:
        progress = progress.with_intent(alarm=True)
    can_help = answer.doubt not in (Doubt.KEY_REUSED, Doubt.STORED_ERROR)
    seconds = backoff_s(progress.sends)
    if (
        policy.repeats_on_doubt
        and can_help
        and in_time(progress, at + seconds)
        and progress.sends < tool.attempts
        and not too_old(progress, at)
    ):
        return again(progress, at, seconds, answer.reason)
    if progress.intent is None:
        return settle(progress, f"{tool.name} got no usable answer: {answer.reason}", at)
    return look_or_ask(progress, answer.reason)


def again(progress: Progress, at: float, seconds: float, reason: str) -> tuple[Progress, Move]:
    """Another send after a wait; sealed anew where the send deadline will be over, or where each send needs its
    own seal."""
    if progress.intent is None:
        return progress, Wait(seconds, Send(), reason)
    same_seal = at + seconds <= open_until(progress) and not progress.policy.alone
    return progress, Wait(seconds, Send() if same_seal else Seal(IntentState.ARMED), reason)


def pending(progress: Progress, reason: str, retry_after_s: float | None) -> tuple[Progress, Move]:
    seconds = max(BACKOFF_FIRST_S, retry_after_s or backoff_s(progress.look_ups + 1))
    progress = replace(progress, doubt=Unknown(reason, Doubt.JUDGED))
    if progress.does.find is None or progress.waited_s + seconds > IN_FLIGHT_MAX_S:
        return ask(progress, "unknown", reason)
    return replace(progress, waited_s=progress.waited_s + seconds), Wait(seconds, LookUp(), reason)


def looked_up(progress: Progress, found: Found, at: float) -> tuple[Progress, Move]:
    match found:
        case Done() | Rejected():
            return final(progress, found, at)
        case Pending(reason, retry_after_s):
            return pending(progress, reason, retry_after_s)
        case NotFound() if progress.refused is not None:
            return final(progress, progress.refused, at)
        case NotFound(reason):
            return not_found(progress, reason, at)
        case Unknown(reason) | NotSent(reason):
            progress = replace(progress, evidence=(*progress.evidence, f"the look-up did not tell: {reason}"))
            if progress.look_ups % LOOK_UPS_MAX:
                return progress, Wait(backoff_s(progress.look_ups), LookUp(), reason)
            return ask(progress, "unknown", reason)
        case _:
            assert_never(found)


def not_found(progress: Progress, reason: str, at: float) -> tuple[Progress, Move]:
    """ "Not found" counts only when a request can be neither under way nor unsettled any more."""
    tool, policy = progress.does, progress.policy
    stuck = progress.doubt is not None and progress.doubt.doubt in (Doubt.KEY_REUSED, Doubt.STORED_ERROR)
    repeatable = not stuck and progress.sends < tool.attempts
    seconds = backoff_s(progress.look_ups)
    if policy.within_deadline and repeatable and in_time(progress, at + seconds) and progress.barred is None:
        return again(progress, at, seconds, reason)
    early_s = believed_from(progress) - at
    if early_s > 0:
        return progress, Wait(early_s, LookUp(), "it is too early to believe that it did not happen")
    progress = replace(progress, evidence=(*progress.evidence, reason))
    if policy.within_lifetime and repeatable and not too_old(progress, at):
        return send_again(progress, at)
    return ask(progress, "unknown", reason)


def send_again(progress: Progress, at: float) -> tuple[Progress, Move]:
    """It did not happen. It leaves again, unless the grant does not cover it any more."""
    if progress.barred is not None:
        return settle(progress, progress.barred, at, state=IntentState.NOT_SENT, reason=progress.barred)
    return progress, Seal(IntentState.ARMED)


def ruled(progress: Progress, ruling: Ruling) -> tuple[Progress, Move]:
    progress = progress.with_intent(rulings=(*progress.row.rulings, ruling))
    match ruling.choice:
        case Choice.APPROVE:
            return progress, Seal(IntentState.ARMED)
        case Choice.DENY:
            return settle(progress, denied_text(progress.row), ruling.at, state=IntentState.DENIED)
        case Choice.HAPPENED:
            value: JsonValue = {"happened": True, "id": ruling.receiver_id, "decided_by": ruling.who}
            return final(progress, Done(value, ruling.receiver_id), ruling.at)
        case Choice.DID_NOT_HAPPEN:
            # The person has taken the doubt away, so the attempts count afresh. The key and the bytes stay.
            return send_again(replace(progress, doubt=None, sends=0, waited_s=0.0), ruling.at)
        case Choice.GIVE_UP:
            return settle(progress, unknown_text(progress.row), ruling.at, state=IntentState.GIVEN_UP)
        case _:
            assert_never(ruling.choice)


def look_or_ask(progress: Progress, reason: str) -> tuple[Progress, Move]:
    return (progress, LookUp()) if can_look_up(progress) else ask(progress, "unknown", reason)


def ask(progress: Progress, kind: Literal["approval", "unknown"], reason: str) -> tuple[Progress, Move]:
    intent = progress.row
    if kind == "unknown":
        progress = progress.with_intent(state=IntentState.UNKNOWN, reason=reason)
        if progress.caps.unknown == "tell":
            return progress, Settled(unknown_text(intent))
    number = 1 + sum(ruling.choice in CHOICES[kind] for ruling in intent.rulings)
    question = Question(
        key=intent.key,
        kind=kind,
        number=number,
        text=reason,
        digest=intent.digest,
        evidence=progress.evidence[-5:],
        warning=RECALL if kind == "unknown" and not progress.policy.within_lifetime else "",
    )
    return progress, Ask(question)
