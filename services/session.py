"""The object `Session`, keyed by session id, and the service `Turn`: a conversation whose messages are runs.

Rule: a handler of the session records and goes; it is never held while a run works or waits. A `Turn` carries one
message: it calls the run `{session}~{message}`, waits for its end, and reports it, also where the run was killed.
Must not know: how a run goes on.
"""

from collections.abc import Callable
from typing import Any

from pydantic import JsonValue
from restate import Context, ObjectContext, ObjectSharedContext, Service, TerminalError, VirtualObject

from services import conversation, public
from services.codec import AnswerCodec, BodyCodec, Refused, codec
from services.conversation import OPEN, Accepted, Conversation, Known, Message, Refusal, SendRequest
from services.encrypted import Encrypted, Parcel, ParcelCodec
from services.held import told
from services.journal import recorded_key
from services.messages import Kept, RunRequest, Said
from services.names import run_id_fault
from services.vault import PLAIN

CONVERSATION = "conversation"
SEPARATOR = "~"
SESSION_ID_CHARS_MAX = 100
STUCK = "stuck"
"""State of a message whose run was killed: its end will never come."""
TAKEN = "taken"
"""State of a message whose name belongs to another one, which the conversation does not hold any more."""
ANOTHER_RUN = (410, 422)
"""What the agent answers where the run was started with another text or after other messages, or is forgotten."""


class Carry(Kept):
    """What a `Turn` carries: one message, and what was said before it."""

    session_id: str
    message_id: str
    text: str
    earlier: tuple[Said, ...]


def kept_as(session_id: str, key: str = PLAIN) -> Encrypted[Conversation]:
    return Encrypted(codec(Conversation), f"Session/{session_id}/{CONVERSATION}", key)


async def conversation_of(ctx: ObjectContext | ObjectSharedContext) -> Conversation:
    return await ctx.get(CONVERSATION, serde=kept_as(ctx.key())) or Conversation()


def keep(ctx: ObjectContext, grown: Conversation, key: str) -> None:
    ctx.set(CONVERSATION, grown, serde=kept_as(ctx.key(), key))


def run_id_of(session_id: str, message_id: str) -> str:
    return f"{session_id}{SEPARATOR}{message_id}"


def shown(session_id: str, message: Message, kept: Conversation) -> public.Shown:
    """One message. Of one without an answer the reason says which run to ask: its status knows what it waits for."""
    reason, works = message.reason, next(iter(kept.open()), None)
    if message.state in OPEN and works is not None:
        waits = f"waits for message {works.message_id}: " if message.state == "queued" else ""
        run_id = run_id_of(session_id, works.message_id)
        reason = f"{waits}the status of run {run_id} says where that stands"
    own = {"message"} if message.message is None else None
    return {
        **message.model_dump(mode="json", exclude=own),
        "reason": reason,
        "run_id": run_id_of(session_id, message.message_id),
    }


def session_objects(agent: VirtualObject) -> tuple[VirtualObject, Service]:
    """The object and the service, bound to the agent that carries out the runs."""
    session, turn = VirtualObject("Session"), Service("Turn", ingress_private=True)
    answers: Any = AnswerCodec()
    run = agent.handlers["run"].fn

    @session.handler(name="send", input_serde=BodyCodec(SendRequest), output_serde=answers)
    async def send(ctx: ObjectContext, body: SendRequest | Refused) -> public.Shown:
        """Takes a message: its run starts, or it waits its turn. Answers at once with its state and position."""
        return await taken(ctx, checked(ctx, body), carried)

    @session.handler(name="report", input_serde=ParcelCodec(codec(Message), "report"), ingress_private=True)
    async def report(ctx: ObjectContext, ended: Parcel[Message]) -> None:
        """The end of a message; the next one that waits is started."""
        await reported(ctx, ended.open(), carried)

    @session.handler(name="history", kind="shared", output_serde=answers)
    async def history(ctx: ObjectSharedContext) -> public.Shown:
        """The messages that are kept, with their states and replies."""
        check_id(ctx)
        kept = await told(conversation_of)(ctx)
        messages: list[JsonValue] = [shown(ctx.key(), message, kept) for message in kept.messages]
        return {"session_id": ctx.key(), "messages": messages, "dropped": kept.dropped}

    @session.handler(name="delete", output_serde=answers)
    async def delete(ctx: ObjectContext) -> public.Shown:
        """Forgets what was said. A message that works or waits stays; its run and its ledger are the run's own."""
        check_id(ctx)
        key, kept = await recorded_key(ctx), await told(conversation_of)(ctx)
        still_open = tuple(kept.open())
        keep(ctx, Conversation(messages=still_open), key)
        return {"session_id": ctx.key(), "deleted": len(kept.messages) - len(still_open), "open": len(still_open)}

    @turn.handler(name="carry", input_serde=ParcelCodec(codec(Carry), "carry"))
    async def carry(ctx: Context, parcel: Parcel[Carry]) -> None:
        """One message to the end of its run."""
        message = parcel.open()
        over = await ended(ctx, message, run)
        ctx.object_send(report, message.session_id, Parcel(over, parcel.key))

    def carried(ctx: ObjectContext, kept: Conversation, message: Message, key: str) -> None:
        before = conversation.earlier(kept, message.message_id)
        along = Carry(session_id=ctx.key(), message_id=message.message_id, text=message.text, earlier=before)
        ctx.service_send(carry, Parcel(along, key))

    return session, turn


Start = Callable[[ObjectContext, Conversation, Message, str], None]


def checked(ctx: ObjectContext, body: SendRequest | Refused) -> SendRequest:
    if isinstance(body, Refused):
        raise TerminalError(f"the request does not fit: {body.sentence}", 400)
    check_id(ctx)
    return body


def check_id(ctx: ObjectContext | ObjectSharedContext) -> None:
    if run_id_fault(ctx.key()) is not None or SEPARATOR in ctx.key() or len(ctx.key()) > SESSION_ID_CHARS_MAX:
        sentence = f"a session id has 1 to {SESSION_ID_CHARS_MAX} characters, no slash and no tilde, and is not . or .."
        raise TerminalError(sentence, 400)


@told
async def taken(ctx: ObjectContext, request: SendRequest, start: Start) -> public.Shown:
    key, kept = await recorded_key(ctx), await conversation_of(ctx)
    match conversation.send(kept, request):
        case Refusal(sentence, status):
            raise TerminalError(sentence, status)
        case Known(message, position):
            return {**shown(ctx.key(), message, kept), "position": position}
        case Accepted(grown, message, position, starts):
            keep(ctx, grown, key)
            if starts:
                start(ctx, grown, message, key)
            return {**shown(ctx.key(), message, grown), "position": position}


async def reported(ctx: ObjectContext, ended: Message, start: Start) -> None:
    key, kept = await recorded_key(ctx), await conversation_of(ctx)
    if kept.find(ended.message_id) is None:
        return
    kept, following = conversation.over(kept, ended)
    keep(ctx, kept, key)
    if following is not None:
        start(ctx, kept, following, key)


async def ended(ctx: Context, carried: Carry, run: Any) -> Message:
    """What came of a message; a run that was killed will never end, and its message says so. A name is never used
    twice, also where what it stood for has been deleted: a repeat of it must not act again."""
    message = Message(message_id=carried.message_id, text=carried.text)
    request = RunRequest(task=carried.text, earlier=carried.earlier)
    try:
        end = await ctx.object_call(run, run_id_of(carried.session_id, carried.message_id), request)
    except TerminalError as error:
        if error.status_code in ANOTHER_RUN:
            reason = f"{message.message_id} was the name of an earlier message of this session; use a new message_id."
            return message.model_copy(update={"state": TAKEN, "reason": reason})
        return message.model_copy(update={"state": STUCK, "reason": f"its run did not end: {error.message}"})
    return message.model_copy(
        update={
            "state": end["state"],
            "reply": end["answer"],
            "message": end.get("message"),
            "reason": end["detail"] or end["reason"],
        }
    )
