"""The messages that are sent to the model, made from the transcript.

Rule: well formed whatever the model said. Each call is answered exactly once, under an id that is unique in the whole
history, in the order of the calls; arguments are the text of a JSON object; a reply that holds nothing is not sent
back, nor is a text that was not the end of its run. Beyond that a reply goes back as it came. The same transcript
gives the same messages, at a cost that grows with its size only.

Instructions are one system message at the beginning. Notes of ours are added to a user's message instead of being
messages themselves. So the order of roles is one that every provider takes.
Must not know: how a request is made, what is decided.
"""

from collections.abc import Sequence

from pydantic import JsonValue

from services.echo import Message, assistant
from services.limits import Limits
from services.provider import Provider
from services.reply import given_ids, usable_id
from services.transcript import Answered, Cut, Entry, Replied, Shortened, Told, Transcript
from services.trim import Group, group, trim
from tools.plain import text

NO_RESULT = "No result: the call was not run."
CUT_NOTE = "Your last reply was cut off at its length limit. Answer again, much shorter."
NO_CALL_NOTE = "Your last reply announced a tool call and made none. Make the call, or answer."


def history(transcript: Transcript, provider: Provider, limits: Limits) -> list[Message]:
    """The messages of the next request, at most about `limits.history_bytes` of JSON."""
    entries = (*transcript.earlier, *transcript.entries)
    said = [entry for entry in entries if isinstance(entry, Told | Replied | Answered)]
    ids = call_ids(said)
    users = [position for position, entry in enumerate(said) if isinstance(entry, Told) and entry.role == "user"]
    note = _note(said)
    groups = _instructions(said)
    for position, entry in enumerate(said):
        following = said[position + 1] if position + 1 < len(said) else None
        match entry:
            case Told(role="user"):
                noted = note if note and position == users[-1] else ""
                message: Message = {"role": "user", "content": text(entry.text) + noted}
                groups.append(group((message,), pinned=position in (users[0], users[-1])))
            case Replied():
                groups += _turn(entry, ids[position], following, provider, limits)
            case Told() | Answered():
                pass
    return trim(groups, _budget(entries, limits))


def call_ids(entries: Sequence[Entry]) -> dict[int, tuple[str, ...]]:
    """The ids under which calls are sent back, by the position of their reply among the entries.

    The provider's id is kept where it is usable and new; otherwise the id counts replies and calls in nine plain
    characters, which every provider takes. An id depends only on what came before, so it never changes later.
    """
    taken: set[str] = set()
    result: dict[int, tuple[str, ...]] = {}
    for position, entry in enumerate(entries):
        if isinstance(entry, Replied):
            # A session's turns begin anew with each run; the count of replies does not.
            nth = len(result) + 1
            result[position] = tuple(_id(given, nth, index, taken) for index, given in enumerate(given_ids(entry.raw)))
    return result


def _id(given: str, nth: int, index: int, taken: set[str]) -> str:
    chosen, number = given, 0
    while not usable_id(chosen) or chosen in taken:
        chosen = f"t{nth:04d}c{index:03d}" if number == 0 else f"t{nth:04d}c{index:03d}x{number}"
        number += 1
    taken.add(chosen)
    return chosen


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


def _turn(
    entry: Replied, ids: tuple[str, ...], following: Entry | None, provider: Provider, limits: Limits
) -> list[Group]:
    """The messages of one turn, or none where the reply holds nothing that can be sent back."""
    reading = entry.reading
    message = assistant(entry.raw, reading, ids, provider, limits)
    if not reading.calls:
        return [group((message,))] if reading.text.strip() and isinstance(following, Told) else []
    answers = [text(words) for words in following.texts[: len(ids)]] if isinstance(following, Answered) else []
    answers += [NO_RESULT] * (len(ids) - len(answers))
    results: list[dict[str, JsonValue]] = [
        {"role": "tool", "tool_call_id": identifier, "content": words}
        for identifier, words in zip(ids, answers, strict=True)
    ]
    return [group((message, *results), names=tuple(call.name for call in reading.calls))]


def _budget(entries: Sequence[Entry], limits: Limits) -> int:
    return min([limits.history_bytes, *(entry.to_bytes for entry in entries if isinstance(entry, Shortened))])
