"""The messages that are sent to the model, made from the transcript.

Rule: well formed whatever the model said. Each call is answered exactly once, under an id that is unique in the whole
history, in the order of the calls; arguments are the text of a JSON object; a reply that holds nothing is not sent
back. Beyond that a reply goes back as it came. Trimming leaves out whole turns, never half of one. The same
transcript gives the same messages, at a cost that grows with its size only.

Notes of ours are added to a user's message instead of being messages themselves, so the order of roles stays the
usual one.
Must not know: how a request is made, what is decided.
"""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import JsonValue

from services.limits import Limits
from services.provider import Provider
from services.reply import RawCall, Reading, preview, read
from services.transcript import Answered, Cut, Entry, Replied, Shortened, Told, Transcript
from tools.plain import shorten, text

Message = dict[str, Any]

# What providers take as the name of a function; a reply may hold others, and they must not make the next request fail.
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_ID = re.compile(r"[\x21-\x7e]{1,128}")
# Fields of an assistant message that every provider knows.
_KNOWN = ("role", "content", "refusal", "tool_calls")
# Room for the note about what was left out.
_NOTE_BYTES = 800
NO_RESULT = "No result: the call was not run."
CUT_NOTE = "Your last reply was cut off at its length limit. Answer again, much shorter."


@dataclass(frozen=True, slots=True)
class _Group:
    """Messages that stay or go together. `pinned` ones always stay."""

    messages: tuple[Message, ...]
    size_bytes: int
    pinned: bool = False
    names: tuple[str, ...] = ()


def history(transcript: Transcript, provider: Provider, limits: Limits) -> list[Message]:
    """The messages of the next request, at most about `limits.history_bytes` of JSON."""
    entries = (*transcript.earlier, *transcript.entries)
    ids = call_ids(entries)
    told = [position for position, entry in enumerate(entries) if isinstance(entry, Told) and entry.role == "user"]
    notes = {told[-1]: CUT_NOTE} if told and _cut_off(entries) else {}
    groups: list[_Group] = []
    for position, entry in enumerate(entries):
        match entry:
            case Told():
                pinned = entry.role == "system" or position in (told[:1] + told[-1:])
                groups.append(_told(entry, notes.get(position), pinned=pinned))
            case Replied():
                following = entries[position + 1] if position + 1 < len(entries) else None
                texts = following.texts if isinstance(following, Answered) else ()
                groups += _replied(entry, ids[position], texts, provider, limits)
            case _:
                pass
    return _trim(groups, _budget(entries, limits))


def call_ids(entries: Sequence[Entry]) -> dict[int, tuple[str, ...]]:
    """The ids under which calls are sent back, by the position of their reply among the entries.

    The provider's id is kept where it is usable and new; otherwise the id says turn and index, nine plain characters,
    which every provider takes. An id depends only on what came before, so it never changes later.
    """
    taken: set[str] = set()
    result: dict[int, tuple[str, ...]] = {}
    for position, entry in enumerate(entries):
        if isinstance(entry, Replied):
            result[position] = tuple(
                _id(call.id, entry.turn, index, taken) for index, call in enumerate(read(entry.raw).calls)
            )
    return result


def _id(given: str, turn: int, index: int, taken: set[str]) -> str:
    chosen, number = given, 0
    while not _ID.fullmatch(chosen) or chosen in taken:
        chosen = f"t{turn:04d}c{index:03d}" if number == 0 else f"t{turn:04d}c{index:03d}x{number}"
        number += 1
    taken.add(chosen)
    return chosen


def _cut_off(entries: Sequence[Entry]) -> bool:
    """The conversation ends with a text that was cut off."""
    for entry in reversed(entries):
        match entry:
            case Replied():
                return entry.cut is Cut.YES and not read(entry.raw).calls
            case Told() | Answered():
                return False
            case _:
                continue
    return False


def _told(entry: Told, note: str | None, *, pinned: bool) -> _Group:
    content = text(entry.text) + (f"\n\n({note})" if note else "")
    return _group(({"role": entry.role, "content": content},), pinned=pinned)


def _replied(
    entry: Replied, ids: tuple[str, ...], texts: tuple[str, ...], provider: Provider, limits: Limits
) -> list[_Group]:
    """The group of one reply, or none where it holds nothing that can be sent back."""
    reading = read(entry.raw)
    if not reading.calls and (not reading.text.strip() or entry.cut is Cut.YES):
        return []
    answers = [text(answer) for answer in texts[: len(ids)]]
    answers += [NO_RESULT] * (len(ids) - len(answers))
    results = [{"role": "tool", "tool_call_id": ids[i], "content": answer} for i, answer in enumerate(answers)]
    message = _assistant(entry.raw, reading, ids, provider, limits)
    return [_group((message, *results), names=tuple(call.name for call in reading.calls))]


def _assistant(
    raw: Mapping[str, JsonValue], reading: Reading, ids: tuple[str, ...], provider: Provider, limits: Limits
) -> Message:
    message: Message = {
        name: value
        for name, value in raw.items()
        if name not in ("tool_calls", "function_call") and (provider.keep_unknown or name in _KNOWN)
    }
    message["role"] = "assistant"
    if not reading.text:
        match provider.echo_empty:
            case "null":
                message["content"] = None
            case "empty":
                message["content"] = ""
            case "omit":
                message.pop("content", None)
    if reading.calls:
        message["tool_calls"] = [
            _echo(call, identifier, provider, limits) for call, identifier in zip(reading.calls, ids, strict=True)
        ]
    return message


def _echo(call: RawCall, identifier: str, provider: Provider, limits: Limits) -> Message:
    """The call as it is sent back: other fields as they came; id, name and arguments in a form that is not refused."""
    function = call.source.get("function")
    fields: Message = dict(function) if provider.keep_unknown and isinstance(function, dict) else {}
    fields["name"] = call.name if _NAME.fullmatch(call.name) else _usable(call.name)
    fields["arguments"] = echoed_arguments(call, limits.arguments_bytes)
    entry: Message = dict(call.source) if provider.keep_unknown else {}
    return {**entry, "id": identifier, "type": "function", "function": fields}


def _usable(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:64] or "unnamed"


def echoed_arguments(call: RawCall, limit_bytes: int) -> str:
    """The arguments as the model wrote them where they are an object; otherwise an object that shows what it wrote."""
    if call.empty:
        return "{}"
    if call.arguments is None or len(call.text.encode()) > limit_bytes:
        return json.dumps({"unreadable_arguments": preview(call.text)}, ensure_ascii=False)
    return call.text if call.faithful else json.dumps(call.arguments, ensure_ascii=False)


def _group(messages: tuple[Message, ...], *, pinned: bool = False, names: tuple[str, ...] = ()) -> _Group:
    return _Group(messages, size_bytes(messages), pinned, names)


def size_bytes(messages: Sequence[Message]) -> int:
    """The bytes of these messages in a request."""
    return sum(len(json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()) + 1 for message in messages)


def _budget(entries: Sequence[Entry], limits: Limits) -> int:
    return min([limits.history_bytes, *(entry.to_bytes for entry in entries if isinstance(entry, Shortened))])


def _trim(groups: list[_Group], budget_bytes: int) -> list[Message]:
    """Leave out the oldest groups that do not fit. Pinned groups and the newest one stay, whatever their size."""
    if sum(group.size_bytes for group in groups) <= budget_bytes:
        return [message for group in groups for message in group.messages]
    room = budget_bytes - _NOTE_BYTES - sum(group.size_bytes for group in groups if group.pinned)
    kept: list[_Group] = []
    dropped: list[_Group] = []
    for position, group in enumerate(reversed(groups)):
        if group.pinned:
            kept.append(group)
        elif not dropped and (position == 0 or group.size_bytes <= room):
            kept.append(group)
            room -= group.size_bytes
        else:
            dropped.append(group)
    messages = [message for group in reversed(kept) for message in group.messages]
    if dropped:
        first = next((position for position, message in enumerate(messages) if message["role"] == "user"), None)
        if first is not None:
            noted = {**messages[first], "content": f"{messages[first]['content']}\n\n({_left_out(dropped)})"}
            messages[first] = noted
    return messages


def _left_out(dropped: Sequence[_Group]) -> str:
    """What the model is told about the turns that it no longer sees."""
    names = Counter(name for group in dropped for name in group.names)
    calls = shorten(", ".join(f"{name} {times} times" for name, times in sorted(names.items())), 500)
    made = f" They called {calls}; what was done stays done." if names else ""
    return f"Note: {len(dropped)} earlier parts of this conversation are left out here to keep it short.{made}"
