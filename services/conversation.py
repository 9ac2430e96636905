"""A conversation: its messages, which of them works or waits its turn, and what the model is shown of it. Pure.

Rule: one message at a time, in the order in which they came. A message is named by its caller; its name and its text
belong together for ever. What is kept is limited: the oldest messages that are over go first, never one that works or
waits.
Must not know: Restate, how a run is carried out.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import Field, JsonValue

from services.messages import SCHEMA, TASK_CHARS_MAX, Asked, Kept, Said
from services.phrases import without_keys
from services.raw import carried
from services.transcript import Replied, Told
from tools.plain import Plain
from tools.request import canonical_text

MESSAGES_MAX = 200
"""Kept of a conversation. A person scrolls back that far and no further."""
CHARS_MAX = 1_000_000
"""Kept of all texts and replies together: the whole conversation is read and written with every message, and Restate
takes no value of more than 32 MiB."""
SHOWN_MAX = 20
"""Messages of before that the model is shown; the limits of the run trim further."""
OPEN = ("running", "queued")
"""States of a message that has no answer yet."""
WAITING_MAX = 50
"""Messages that may wait. More than that is a program that talks to itself."""


class SendRequest(Asked):
    """The body of `send`."""

    message_id: str = Field(min_length=1, max_length=80, pattern=r"^[^/~]+$", description="Your name of the message.")
    text: str = Field(min_length=1, max_length=64_000)


class Message(Kept):
    """One message and what came of it. `state` is queued, running, or the state in which its run ended."""

    message_id: str
    text: str
    state: str = "queued"
    reply: str | None = None
    message: dict[str, Plain] | None = None
    """The model's own message, where it holds more than the reply."""
    reason: str = ""

    @property
    def chars(self) -> int:
        own = len(canonical_text(self.message)) if self.message is not None else 0
        return len(self.text) + len(self.reply or "") + len(self.reason) + own


class Conversation(Kept):
    schema_number: int = Field(SCHEMA, le=SCHEMA)
    messages: tuple[Message, ...] = ()
    dropped: int = 0
    """Messages that are no longer kept."""

    def find(self, message_id: str) -> Message | None:
        return next((message for message in self.messages if message.message_id == message_id), None)

    def open(self) -> list[Message]:
        """The message that works and those that wait, in order."""
        return [message for message in self.messages if message.state in OPEN]

    def put(self, changed: Message) -> "Conversation":
        kept = tuple(changed if message.message_id == changed.message_id else message for message in self.messages)
        return self.model_copy(update={"messages": kept})


@dataclass(frozen=True, slots=True)
class Accepted:
    """`position` is 0 for a message that works now, else its place in the queue. `start`: its run is to be started."""

    conversation: Conversation
    message: Message
    position: int
    start: bool


@dataclass(frozen=True, slots=True)
class Known:
    """The message is there already."""

    message: Message
    position: int


@dataclass(frozen=True, slots=True)
class Refusal:
    sentence: str
    status: int


def send(conversation: Conversation, request: SendRequest) -> Accepted | Known | Refusal:
    """What becomes of a message."""
    waiting = conversation.open()
    known = conversation.find(request.message_id)
    if known is not None:
        if known.text != request.text:
            return Refusal(f"message {request.message_id} was sent with another text; use a new message_id.", 422)
        return Known(known, waiting.index(known) if known in waiting else 0)
    if len(waiting) > WAITING_MAX:
        return Refusal(f"{len(waiting) - 1} messages wait already; wait until some are answered.", 429)
    message = Message(message_id=request.message_id, text=request.text, state="queued" if waiting else "running")
    grown = conversation.model_copy(update={"messages": (*conversation.messages, message)})
    return Accepted(shortened(grown), message, len(waiting), start=not waiting)


def over(conversation: Conversation, ended: Message) -> tuple[Conversation, Message | None]:
    """A message has been answered, well or badly; the next one that is to be started, where one waits."""
    conversation = conversation.put(ended)
    waiting = conversation.open()
    if not waiting or waiting[0].state == "running":
        return shortened(conversation), None
    following = waiting[0].model_copy(update={"state": "running"})
    return shortened(conversation.put(following)), following


def shortened(conversation: Conversation) -> Conversation:
    """At most so many messages and so much text; the oldest that are over go first."""
    surplus = len(conversation.messages) - MESSAGES_MAX
    chars = sum(message.chars for message in conversation.messages) - CHARS_MAX
    if surplus <= 0 and chars <= 0:
        return conversation
    going: set[str] = set()
    for message in conversation.messages:
        if (surplus <= 0 and chars <= 0) or message.state in OPEN:
            continue
        going.add(message.message_id)
        surplus, chars = surplus - 1, chars - message.chars
    kept = tuple(message for message in conversation.messages if message.message_id not in going)
    return Conversation(messages=kept, dropped=conversation.dropped + len(going))


def earlier(conversation: Conversation, message_id: str) -> tuple[Said, ...]:
    """What the model is shown of the conversation before a message: questions and their answers, the newest last."""
    said: list[Said] = []
    for message in conversation.messages:
        if message.message_id == message_id:
            break
        if message.state in OPEN:
            continue
        why = without_keys(message.reason)
        answer = message.reply or f"(not answered: {message.state}. {why})".replace(". )", ")")
        said.append(Said(role="user", text=message.text))
        said.append(Said(role="assistant", text=answer[:TASK_CHARS_MAX], message=message.message))
    return tuple(said[-2 * SHOWN_MAX :])


def spoken(earlier: Sequence[Said]) -> tuple[Told | Replied, ...]:
    """What was said before, as the entries of a transcript."""
    return tuple(Told(said.text) if said.role == "user" else Replied(0, _reply(said)) for said in earlier)


def _reply(said: Said) -> dict[str, JsonValue]:
    own = {} if said.message is None else carried(said.message)
    return {"content": said.text, **own, "role": "assistant"}
