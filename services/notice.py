"""The service `Notice`: telling somebody outside that a run waits, is in doubt, is stuck or has ended.

Rule: a notice is an effect like any other: one key for one event, the same bytes at every try, waits in the journal. It
is signed, so that the receiver can tell it from anybody's. Where people let a run wait too long, a second notice says
so.
Must not know: how a run goes on.
"""

import hashlib
import hmac
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from pydantic import JsonValue, SecretStr
from restate import Context, Service

from services import send
from services.clock import wall_s
from services.codec import AnswerCodec, codec
from services.encrypted import Parcel, ParcelCodec
from services.journal import Journal
from services.messages import Kept, Question, RunState
from services.outside import Outside
from services.watch import About
from tools.outcome import Done, Rejected
from tools.request import Request, canonical

BASE = "webhook"
DEADLINE_S = 10.0
BACKOFF_FIRST_S = 1.0
BACKOFF_MAX_S = 300.0
TRIES_MAX = 300
"""With the longest wait between them about a day: whoever does not answer for so long needs another way to be told."""
SIGNATURE = "x-pawl-signature"


Tell = Callable[[Context, Parcel["Event"]], Awaitable[bool]]
TOLD = {RunState.WAITING_APPROVAL: "waiting", RunState.OUTCOME_UNKNOWN: "unknown"}
"""States of a run that wait for a person, and the names of their events."""


class Event(Kept):
    """What is told. `at` is unix seconds; `name` is waiting, unknown, stuck, ended or escalated. `remedy` says what
    helps one that is stuck, `about` tells one time that it is stuck from another."""

    name: str
    run_id: str
    pass_number: int
    state: RunState
    reason: str
    at: float
    questions: tuple[Question, ...] = ()
    remedy: str = ""
    about: str = ""

    def key(self) -> str:
        """One key for one event, whoever sends it and however often."""
        asked = [self.about] if self.about else []
        asked += [f"{question.key} {question.kind} {question.number}" for question in self.questions]
        return str(uuid5(NAMESPACE_URL, "\n".join(["pawl", self.name, self.run_id, str(self.pass_number), *asked])))

    def body(self) -> JsonValue:
        hidden = {"pass_number", "about"} if self.remedy else {"pass_number", "about", "remedy"}
        shown = self.model_dump(mode="json", exclude=hidden)
        return {**shown, "pass": self.pass_number, "id": self.key()}


def signed(event: Event, path: str, secret: SecretStr | None) -> Request:
    """The request, with an HMAC-SHA256 of `t.body` where a secret is set: `t=SECONDS,v1=HEX`."""
    body = canonical(event.body())
    headers = [("content-type", "application/json")]
    if secret is not None:
        moment = str(int(event.at))
        made = hmac.new(secret.get_secret_value().encode(), moment.encode() + b"." + body, hashlib.sha256)
        headers.append((SIGNATURE, f"t={moment},v1={made.hexdigest()}"))
    return Request("POST", path, body, tuple(headers))


def notice_service(outside: Outside) -> Service:
    service = Service("Notice", ingress_private=True)
    answers: Any = AnswerCodec()

    @service.handler(name="tell", input_serde=ParcelCodec(codec(Event), "notice"), output_serde=answers)
    async def tell(ctx: Context, parcel: Parcel[Event]) -> bool:
        """Tells it; and once more after a time where people are asked and have not answered by then."""
        event = parcel.open()
        told = await deliver(ctx, outside, event, parcel.key)
        escalate_s = outside.people.escalate_s
        if not event.questions or escalate_s is None:
            return told
        await ctx.sleep(timedelta(seconds=escalate_s))
        answer = await ctx.generic_call("Agent", "status", b"", key=event.run_id)
        waiting = [question["key"] for question in AnswerCodec().deserialize(answer).get("questions", [])]
        left = tuple(question for question in event.questions if question.key in waiting)
        if not left:
            return told
        return await deliver(
            ctx, outside, event.model_copy(update={"name": "escalated", "questions": left}), parcel.key
        )

    return service


async def deliver(ctx: Context, outside: Outside, event: Event, key: str) -> bool:
    """Sends until somebody has taken it or refused it; False where nobody did. `key`: what answers are encrypted
    under."""
    journal = Journal(ctx, event.run_id, outside.busy, outside.watch)
    journal.key = key
    request, wait_s = signed(event, outside.people.webhook_path or "/", outside.people.webhook_secret), BACKOFF_FIRST_S

    async def act() -> send.Told:
        return send.Told(await outside.wire.send(BASE, request, event.key(), DEADLINE_S), wall_s())

    for attempt in range(1, TRIES_MAX + 1):
        about = About(tool=event.name, keys=(event.key(),), attempt=attempt, kind="notice")
        told = await journal.run(f"{event.name} {attempt}", (send.Told,), act, about)
        if isinstance(told.answer, Done | Rejected):
            return isinstance(told.answer, Done)
        await ctx.sleep(timedelta(seconds=wait_s))
        wait_s = min(BACKOFF_MAX_S, 2 * wait_s)
    return False
