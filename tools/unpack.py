"""The bytes of a body as they came, and unpacked where they came packed once, as gzip or deflate.

Rule: never more than the limit is held, however little came over the line: each piece is unpacked only as far as there
is room. A body that is packed twice, in a way that was not asked for, or wrongly, is not read at all.
Must not know: what is in a body, the HTTP client.
"""

import zlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Literal

# What a client may ask for.
ACCEPTED = "gzip, deflate"
_GZIP = ("gzip", "x-gzip")
_WBITS_GZIP, _WBITS_ZLIB, _WBITS_RAW = 31, 15, -15


@dataclass(frozen=True, slots=True)
class Unpacked:
    """What was read. `unreadable` is a sentence where the bytes cannot be unpacked; then there are none."""

    raw: bytes
    end: Literal["whole", "cut"] = "whole"
    unreadable: str | None = None


async def unpacked(pieces: AsyncIterator[bytes], encoding: str, limit_bytes: int) -> Unpacked:
    """The body, up to the limit. `encoding` is the header `content-encoding`, "" where there is none."""
    named = [name for part in encoding.lower().split(",") if (name := part.strip()) not in ("", "identity")]
    if not named:
        return await _plain(pieces, limit_bytes)
    if len(named) > 1 or named[0] not in (*_GZIP, "deflate"):
        return _unreadable(f"it came packed as {', '.join(named)[:100]}, which was not asked for")
    try:
        return await _packed(pieces, named[0], limit_bytes)
    except zlib.error as error:
        return _unreadable(f"it came packed as {named[0]}, wrongly: {error}")


async def _plain(pieces: AsyncIterator[bytes], limit_bytes: int) -> Unpacked:
    raw = bytearray()
    async for piece in pieces:
        raw += piece
        if len(raw) > limit_bytes:
            return Unpacked(bytes(raw[:limit_bytes]), "cut")
    return Unpacked(bytes(raw))


async def _packed(pieces: AsyncIterator[bytes], name: str, limit_bytes: int) -> Unpacked:
    raw, came_bytes = bytearray(), 0
    unpacker = None
    async for piece in pieces:
        if not piece:
            continue
        if unpacker is None:
            unpacker = zlib.decompressobj(_WBITS_GZIP if name in _GZIP else _wbits_deflate(piece[0]))
        came_bytes += len(piece)
        raw += unpacker.decompress(piece, limit_bytes + 1 - len(raw))
        if len(raw) > limit_bytes or came_bytes > limit_bytes:
            return Unpacked(bytes(raw[:limit_bytes]), "cut")
        if unpacker.unused_data:
            return _unreadable(f"it came packed as {name} with something behind it")
    if unpacker is not None and not unpacker.eof:
        return _unreadable(f"it came packed as {name} without its end")
    return Unpacked(bytes(raw))


def _wbits_deflate(first: int) -> int:
    """Servers disagree whether "deflate" has zlib's header around it, whose first byte names the method so."""
    return _WBITS_ZLIB if first & 0x0F == 8 else _WBITS_RAW


def _unreadable(why: str) -> Unpacked:
    return Unpacked(b"", unreadable=f"the body of the answer could not be read: {why}")
