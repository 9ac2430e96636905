"""Texts that others wrote, fit to be kept and shown: what a receiver or a tool's judge says in so many words.

Rule: one printable line of bounded length. An id that is none is no id, since half an id names something else or
nothing; a sentence is cut.
Must not know: who says it, what it means.
"""

import json

from tools.plain import plain
from tools.size import shorten

LABEL_BYTES_MAX = 100
"""Of a code or a type: longer than any that programs compare."""
SENTENCE_BYTES_MAX = 2_000
"""Of a reason: a paragraph, with room for what we put around a receiver's message."""
ID_CHARACTERS_MAX = 255
"""What databases commonly keep an id in."""


def line(value: object, limit_bytes: int = SENTENCE_BYTES_MAX) -> str:
    """The text in one line without what cannot be seen, cut to the limit; what is no text as its JSON."""
    words = plain(value)
    words = words if isinstance(words, str) else json.dumps(words, ensure_ascii=False)
    # Far more than is kept, and little enough to look at each character of.
    words = " ".join(words[: 4 * limit_bytes].split())
    return shorten("".join(each for each in words if each.isprintable()), limit_bytes)


def identifier(value: object) -> str | None:
    """The text or number as an id; None where it is none."""
    name = str(plain(value)) if isinstance(value, int) and not isinstance(value, bool) else value
    if isinstance(name, str) and name.strip() and name.isprintable() and len(name) <= ID_CHARACTERS_MAX:
        return name
    return None
