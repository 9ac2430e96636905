"""From a conversation to the reply that a script has for it. Pure: history in, reply out.

Rule: the reply depends on the history alone, so the same request gets the same answer; what may differ between
identical requests (`attempts`, `drift`) is chosen by a count that the caller keeps. It must not know store or HTTP.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

from mocks.answer import Base64Text, HttpStatus


class CallSpec(BaseModel):
    """A tool call of a reply. Fields beyond these are sent inside the call as they are.

    `arguments`: an object is written as JSON, a string goes out as it is, null as null, and left out stays out.
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    name: Any
    arguments: Any = None
    id: Any = None


class Reply(BaseModel):
    """One reply of a script: a message (`content`, `tool_calls` or a raw `message`), a raw answer, or a fault.

    `attempts`: the k-th identical request gets the k-th of these, the last repeats. `drift`: with the switch on, the
    first request gets this reply and each repetition the next of these, the last repeats. `delay_s` in seconds.
    `otherwise` is said instead where a call since the last user message was answered by a sentence and no JSON object,
    as refusals are; `{told}` in it is what those sentences say.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    content: Any = None
    tool_calls: tuple[CallSpec, ...] | None = None
    message: dict[str, Any] | None = None
    extra: dict[str, Any] = {}
    finish_reason: str | None = None
    usage: dict[str, Any] | None = None
    status: HttpStatus | None = None
    headers: dict[str, str] = {}
    body: Any = None
    body_base64: Base64Text | None = None
    delay_s: Annotated[float, Field(ge=0)] = 0.0
    hang: bool = False
    trickle_bytes_per_s: Annotated[int, Field(ge=1)] | None = None
    cut: bool = False
    attempts: tuple["Reply", ...] = ()
    drift: tuple["Reply", ...] = ()
    otherwise: str | None = None

    def is_message(self) -> bool:
        """Whether it sends an assistant message, and not a raw answer or a fault."""
        raw = self.status is not None or self.body is not None or self.body_base64 is not None
        return not (raw or self.hang or self.cut)

    @field_validator("attempts", "drift")
    @classmethod
    def _one_level(cls, replies: tuple["Reply", ...]) -> tuple["Reply", ...]:
        if any(reply.attempts or reply.drift for reply in replies):
            raise ValueError("replies inside attempts and drift have neither of their own")
        return replies


class Script(BaseModel):
    """A conversation: tried on the last user message by `match`; reply t follows t assistant messages after it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    match: str
    replies: Annotated[tuple[Reply, ...], Field(min_length=1)]
    loop: bool = False

    @field_validator("match")
    @classmethod
    def _compiles(cls, pattern: str) -> str:
        try:
            re.compile(pattern)
        except re.error as error:
            raise ValueError(f"match is not a regular expression: {error}") from error
        return pattern


@dataclass(frozen=True, slots=True)
class Chosen:
    """A reply and where it comes from. `turn` counts from the last user message, `position` from the beginning."""

    script: str | None
    turn: int
    position: int
    reply: Reply
    groups: Mapping[str, str]


NOTHING_LEFT = Reply(content="nothing left in the script")


def choose(messages: list[Any], scripts: Iterable[tuple[str, Script]]) -> Chosen:
    """The reply to this history: of the first script that matches, or one that says which scripts there are."""
    scripts = list(scripts)
    last_user = last_of_user(messages)
    turn = sum(role_of(m) == "assistant" for m in messages[last_user + 1 :])
    position = sum(role_of(m) == "assistant" for m in messages)
    asked = text_of(messages[last_user]) if last_user >= 0 else ""
    for name, script in scripts:
        found = re.search(script.match, asked)
        if found:
            groups = {group: value or "" for group, value in found.groupdict().items()}
            reply, sentences = _at(script, turn), _sentences(messages[last_user + 1 :])
            if reply.otherwise is not None and sentences:
                reply, groups = Reply(content=reply.otherwise), {**groups, "told": " ".join(sentences)}
            return Chosen(name, turn, position, reply, groups)
    known = "; ".join(f"{name}: {script.match}" for name, script in scripts)
    return Chosen(None, turn, position, Reply(content=f"No script matches the last user message. Scripts: {known}"), {})


def variant(reply: Reply, seen: int, drift: bool) -> Reply:
    """The reply for a request that was seen `seen` times before."""
    if drift and reply.drift:
        return reply if seen == 0 else reply.drift[min(seen, len(reply.drift)) - 1]
    if reply.attempts:
        return reply.attempts[min(seen, len(reply.attempts) - 1)]
    return reply


def possible(reply: Reply) -> tuple[Reply, ...]:
    """All that `variant` may give."""
    return (*(reply.attempts or (reply,)), *reply.drift)


def fill(value: Any, groups: Mapping[str, str]) -> Any:
    """Replace `{group}` in every string of a JSON value; only declared groups, all other braces stay."""
    match value:
        case str():
            for group, text in groups.items():
                value = value.replace("{" + group + "}", text)
            return value
        case dict():
            return {key: fill(inner, groups) for key, inner in value.items()}
        case list() | tuple():
            return [fill(inner, groups) for inner in value]
        case _:
            return value


def text_of(message: Any) -> str:
    """The text of a message, whether its content is a string or a list of parts."""
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def _sentences(messages: list[Any]) -> list[str]:
    """What tools answered that is no JSON object."""
    told = [text_of(message) for message in messages if role_of(message) == "tool"]
    return [text for text in told if not text.lstrip().startswith("{")]


def _at(script: Script, turn: int) -> Reply:
    if turn < len(script.replies):
        return script.replies[turn]
    return script.replies[-1] if script.loop else NOTHING_LEFT


def last_of_user(messages: list[Any]) -> int:
    """Where the newest message of the user stands; -1 where there is none."""
    return max((at for at, message in enumerate(messages) if role_of(message) == "user"), default=-1)


def role_of(message: Any) -> Any:
    return message.get("role") if isinstance(message, dict) else None
