"""A text without the keys of a run, however a receiver spells them. Pure.

Rule: a key is found by its hex digits alone, in either case and with anything between them that is neither letter nor
digit, in the middle of other digits too, and also where only a piece of it is there: texts are cut, and receivers cut.
A piece of fewer than `PIECE_DIGITS` stays: it may be chance, and is no use. Linear in the text: every so many digits
one look into a table of all short pieces of the keys.
Must not know: what a key is for, where a text comes from.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import compress

KEY_WORD = "(key)"
"""What stands in a text for the model where a receiver had written a key."""
PIECE_DIGITS = 12
"""48 bits: that a text of 32 kB holds so many digits of one of 200 keys by chance is one case in a million."""
_GRAM_DIGITS = 8
# Each piece of 12 digits holds a whole gram of 8 that starts at a multiple of 5.
_STRIDE = PIECE_DIGITS - _GRAM_DIGITS + 1
_RUN = re.compile(rb"[0-9a-f]{%d,}" % PIECE_DIGITS)
_GAP = b"\0"
_LETTERS = bytes(range(0x30, 0x3A)) + bytes(range(0x41, 0x5B)) + bytes(range(0x61, 0x7B))
_OTHERS = bytes(byte for byte in range(256) if byte not in _LETTERS)
_IS_LETTER = bytes(byte in _LETTERS for byte in range(256))
_LOWER = bytes(range(256)).lower()


@dataclass(frozen=True, slots=True)
class _Table:
    """All keys' digits, with a gap before, between and after them, and where each gram of them stands there."""

    digits: bytes
    grams: Mapping[bytes, int]


def keyless(text: str, keys: Collection[str]) -> str:
    """The text, with `KEY_WORD` for each of these keys and each longer piece of one."""
    if not keys:
        return text
    raw = text.encode(errors="surrogatepass")
    letters = raw.translate(_LOWER, _OTHERS)
    found = _found(letters, _table(frozenset(keys)))
    if not found:
        return text
    places = list(compress(range(len(raw)), raw.translate(_IS_LETTER)))
    parts, done = [], 0
    for start, end in found:
        parts += [raw[done : places[start]], KEY_WORD.encode()]
        done = places[end - 1] + 1
    return b"".join([*parts, raw[done:]]).decode(errors="surrogatepass")


def _found(letters: bytes, table: _Table) -> list[tuple[int, int]]:
    """Where the keys and their pieces are, in order and apart from each other."""
    found: list[tuple[int, int]] = []
    for run in _RUN.finditer(letters):
        at, last = run.start(), run.end() - _GRAM_DIGITS
        while at <= last:
            there = table.grams.get(letters[at : at + _GRAM_DIGITS])
            if there is None:
                at += _STRIDE
                continue
            start, end = _around(letters, at, table.digits, there)
            if end - start >= PIECE_DIGITS:
                found.append((start if not found else max(start, found[-1][1]), end))
            at += _STRIDE * -(-(end - at) // _STRIDE)
    return found


def _around(letters: bytes, at: int, digits: bytes, there: int) -> tuple[int, int]:
    """How far the text and the key with the same gram go on alike, to both sides."""
    start, end = at, at + _GRAM_DIGITS
    before = digits[digits.rindex(_GAP, 0, there) + 1 : there]
    behind = digits[there + _GRAM_DIGITS : digits.index(_GAP, there)]
    if letters.endswith(before, 0, start) and letters.startswith(behind, end):
        return start - len(before), end + len(behind)
    while start > 0 and letters[start - 1] == digits[there - at + start - 1]:
        start -= 1
    while end < len(letters) and letters[end] == digits[there - at + end]:
        end += 1
    return start, end


@lru_cache(maxsize=8)
def _table(keys: frozenset[str]) -> _Table:
    digits = _GAP.join([b"", *(key.encode().translate(_LOWER, _OTHERS) for key in sorted(keys)), b""])
    places = range(len(digits) - _GRAM_DIGITS + 1)
    return _Table(digits, {digits[at : at + _GRAM_DIGITS]: at for at in places})
