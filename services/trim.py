"""Keeping a conversation within a size: the oldest turns are left out, whole.

Rule: a call and its result stay or go together. The instructions, the first and the newest message of the user and
the newest turn always stay; a newest turn that is too large by itself has its results cut. A note says what is
missing. The same groups and budget give the same messages.
Must not know: how a reply is read, what a provider wants.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import JsonValue
from pydantic_core import to_json

from services.reply import cap_text
from tools.size import shorten

Message = dict[str, JsonValue]

# Room for the note about what was left out.
NOTE_BYTES = 800
# A result is never cut to less: below this it would tell nothing.
RESULT_BYTES_MIN = 200


@dataclass(frozen=True, slots=True)
class Group:
    """Messages that stay or go together. `pinned` ones always stay; `names` are the tools that it called."""

    messages: tuple[Message, ...]
    size_bytes: int
    pinned: bool
    names: tuple[str, ...]


def group(messages: tuple[Message, ...], *, pinned: bool = False, names: tuple[str, ...] = ()) -> Group:
    """A group with its size."""
    return Group(messages, sum(_size_bytes(message) for message in messages), pinned, names)


def trim(groups: Sequence[Group], budget_bytes: int) -> list[Message]:
    """The messages of the newest groups that fit, and of those that always stay."""
    if sum(part.size_bytes for part in groups) <= budget_bytes:
        return [message for part in groups for message in part.messages]
    room = budget_bytes - NOTE_BYTES - sum(part.size_bytes for part in groups if part.pinned)
    kept: list[Group] = []
    dropped: list[Group] = []
    for part in reversed(groups):
        if part.pinned:
            kept.append(part)
            continue
        newest = not dropped and all(other.pinned for other in kept)
        fitting = _cut_results(part, room) if newest and part.size_bytes > room else part
        if not dropped and (newest or fitting.size_bytes <= room):
            kept.append(fitting)
            room -= fitting.size_bytes
        else:
            dropped.append(part)
    messages = [message for part in reversed(kept) for message in part.messages]
    return _noted(messages, dropped) if dropped else messages


def _size_bytes(message: Message) -> int:
    return len(to_json(message)) + 1


def _cut_results(part: Group, room_bytes: int) -> Group:
    """The group with its results cut to equal shares of the room."""
    results = [message for message in part.messages if message["role"] == "tool"]
    if not results:
        return part
    rest = part.size_bytes - sum(len(str(message["content"]).encode()) for message in results)
    share = max(RESULT_BYTES_MIN, (room_bytes - rest) // len(results))
    cut = tuple(
        {**message, "content": cap_text(str(message["content"]), share)} if message["role"] == "tool" else message
        for message in part.messages
    )
    return group(cut, names=part.names)


def _noted(messages: list[Message], dropped: Sequence[Group]) -> list[Message]:
    """The messages, with the note added to the first one of the user."""
    first = next((position for position, message in enumerate(messages) if message["role"] == "user"), None)
    if first is None:
        return messages
    words = f"{messages[first]['content']}\n\n({_left_out(dropped)})"
    return [*messages[:first], {**messages[first], "content": words}, *messages[first + 1 :]]


def _left_out(dropped: Sequence[Group]) -> str:
    names = Counter(name for part in dropped for name in part.names)
    calls = shorten(", ".join(f"{name} {times} times" for name, times in sorted(names.items())), 500)
    made = f" They called {calls}; what was done stays done." if names else ""
    return f"Note: {len(dropped)} earlier parts of this conversation are left out here to keep it short.{made}"
