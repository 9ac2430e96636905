"""The messages that are sent to the model, made from the transcript.

Rule: well formed whatever the model said. Each call is answered exactly once, under an id that is unique in the whole
history, in the order of the calls; arguments are the text of a JSON object; a reply that holds nothing is not sent
back, nor is a text that was not the end of its run. Beyond that a reply goes back as it came. The same transcript
gives the same messages, whether they are made in one go or turn by turn.

Instructions are one system message at the beginning. Notes of ours are added to a user's message instead of being
messages themselves. So the order of roles is one that every provider takes.
Must not know: how a request is made, what is decided.
"""

from collections.abc import Sequence
from typing import Any

from pydantic import JsonValue

from services.echo import Message, assistant
from services.limits import Limits
from services.provider import Provider
from services.transcript import Answered, Cut, Entry, Replied, Shortened, Told, Transcript
from services.trim import Group, group, trim
from tools.plain import text

NO_RESULT = "No result: the call was not run."
CUT_NOTE = "Your last reply was cut off at its length limit. Answer again, much shorter."
NO_CALL_NOTE = "Your last reply announced a tool call and made none. Make the call, or answer."


class History:
    """Makes the messages of one run. What a turn came to does not change later, so it is made once and kept here."""

    def __init__(self, provider: Provider, limits: Limits) -> None:
        self._provider = provider
        self._limits = limits
        self._made: dict[int, tuple[Entry, tuple[Any, Any], tuple[Group, ...]]] = {}

    def messages(self, transcript: Transcript) -> list[Message]:
        """The messages of the next request, at most about `limits.history_bytes` of JSON."""
        entries = (*transcript.earlier, *transcript.entries)
        said = [entry for entry in entries if isinstance(entry, Told | Replied | Answered)]
        users = [position for position, entry in enumerate(said) if isinstance(entry, Told) and entry.role == "user"]
        note = _note(said)
        groups = _instructions(said)
        ids = iter(transcript.ids.of)
        for position, entry in enumerate(said):
            match entry:
                case Replied():
                    following = said[position + 1] if position + 1 < len(said) else None
                    groups += self._groups(position, entry, (next(ids), following))
                case Told(role="user"):
                    noted = note if note and position == users[-1] else ""
                    groups += self._groups(position, entry, (noted, position in (users[0], users[-1])))
                case Told() | Answered():
                    pass
        return trim(groups, _budget(entries, self._limits))

    def _groups(self, position: int, entry: Told | Replied, beside: tuple[Any, Any]) -> tuple[Group, ...]:
        """The groups of an entry; those made before, where it and what else they are made of are the same."""
        known = self._made.get(position)
        if known is not None and known[0] is entry and known[1] == beside:
            return known[2]
        groups = self._turn(entry, *beside) if isinstance(entry, Replied) else _told(entry, *beside)
        self._made[position] = entry, beside, groups
        return groups

    def _turn(self, entry: Replied, ids: tuple[str, ...], following: Entry | None) -> tuple[Group, ...]:
        """The messages of one turn, or none where the reply holds nothing that can be sent back."""
        reading = entry.reading
        message = assistant(entry.raw, reading, ids, self._provider, self._limits)
        if not reading.calls:
            return (group((message,)),) if reading.text.strip() and isinstance(following, Told) else ()
        answers = [text(words) for words in following.texts[: len(ids)]] if isinstance(following, Answered) else []
        answers += [NO_RESULT] * (len(ids) - len(answers))
        results: list[dict[str, JsonValue]] = [
            {"role": "tool", "tool_call_id": identifier, "content": words}
            for identifier, words in zip(ids, answers, strict=True)
        ]
        return (group((message, *results), names=tuple(call.name for call in reading.calls)),)


def history(transcript: Transcript, provider: Provider, limits: Limits) -> list[Message]:
    """The messages of the next request, made in one go."""
    return History(provider, limits).messages(transcript)


def _told(entry: Told, noted: str, pinned: bool) -> tuple[Group, ...]:
    return (group(({"role": "user", "content": text(entry.text) + noted},), pinned=pinned),)


def _instructions(said: Sequence[Entry]) -> list[Group]:
    """One system message of all instructions, each once."""
    texts = dict.fromkeys(text(entry.text) for entry in said if isinstance(entry, Told) and entry.role == "system")
    return [group(({"role": "system", "content": "\n\n".join(texts)},), pinned=True)] if texts else []


def _note(said: Sequence[Entry]) -> str:
    """What the model is told about its last reply, where that was a text that could not be taken as an answer."""
    last = said[-1] if said else None
    if not isinstance(last, Replied):
        return ""
    reading = last.reading
    if reading.calls or not (reading.text.strip() or last.cut is Cut.YES):
        return ""
    return f"\n\n({CUT_NOTE if last.cut is Cut.YES else NO_CALL_NOTE})"


def _budget(entries: Sequence[Entry], limits: Limits) -> int:
    return min([limits.history_bytes, *(entry.to_bytes for entry in entries if isinstance(entry, Shortened))])
