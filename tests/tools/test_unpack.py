"""A body is unpacked once and never beyond the limit."""

import gzip
import time
import tracemalloc
import zlib
from collections.abc import AsyncIterator

import pytest

from tools.unpack import Unpacked, unpacked

LIMIT_BYTES = 1_000
WORDS = b'{"id": "ch_1"}'


def raw_deflate(words: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(words) + packer.flush()


async def read(raw: bytes, encoding: str, limit_bytes: int = LIMIT_BYTES, piece_bytes: int = 16_384) -> Unpacked:
    async def pieces() -> AsyncIterator[bytes]:
        for start in range(0, len(raw), piece_bytes):
            yield raw[start : start + piece_bytes]

    return await unpacked(pieces(), encoding, limit_bytes)


@pytest.mark.parametrize(
    "encoding, raw",
    [
        ("", WORDS),
        ("identity", WORDS),
        ("gzip", gzip.compress(WORDS)),
        ("GZip", gzip.compress(WORDS)),
        ("x-gzip", gzip.compress(WORDS)),
        ("identity, gzip", gzip.compress(WORDS)),
        ("deflate", zlib.compress(WORDS)),
        ("deflate", raw_deflate(WORDS)),
    ],
)
@pytest.mark.parametrize("piece_bytes", [1, 7, 16_384])
async def test_a_body_is_read_as_it_was_packed(encoding: str, raw: bytes, piece_bytes: int) -> None:
    assert await read(raw, encoding, piece_bytes=piece_bytes) == Unpacked(WORDS)


@pytest.mark.parametrize(
    "encoding, raw",
    [
        ("br", WORDS),
        ("zstd", WORDS),
        ("gzip, gzip", gzip.compress(gzip.compress(WORDS))),
        ("gzip, br", WORDS),
        ("gzip", WORDS),
        ("deflate", WORDS),
        ("gzip", gzip.compress(WORDS)[:-3]),
        ("gzip", gzip.compress(WORDS) + b"more"),
        ("gzip", gzip.compress(WORDS)[:-1] + b"x"),
        ("," * 10_000 + "x" * 10_000, WORDS),
    ],
)
async def test_what_is_packed_otherwise_or_wrongly_is_not_read(encoding: str, raw: bytes) -> None:
    got = await read(raw, encoding)
    assert (got.raw, got.end) == (b"", "whole")
    assert got.unreadable is not None and len(got.unreadable) < 300


@pytest.mark.parametrize("encoding", ["", "gzip", "deflate", "br", "gzip, gzip"])
async def test_nothing_is_an_empty_body(encoding: str) -> None:
    assert (await read(b"", encoding)).raw == b""


@pytest.mark.parametrize("size_bytes, end", [(LIMIT_BYTES, "whole"), (LIMIT_BYTES + 1, "cut")])
@pytest.mark.parametrize("encoding", ["", "gzip", "deflate"])
async def test_a_body_is_cut_at_the_limit(encoding: str, size_bytes: int, end: str) -> None:
    whole = b"x" * size_bytes
    raw = {"": whole, "gzip": gzip.compress(whole), "deflate": zlib.compress(whole)}[encoding]
    assert await read(raw, encoding) == Unpacked(whole[:LIMIT_BYTES], end)  # type: ignore[arg-type]


@pytest.mark.parametrize("encoding", ["gzip", "gzip, gzip"])
async def test_a_small_body_that_unpacks_to_very_much_takes_neither_memory_nor_time(encoding: str) -> None:
    bomb = gzip.compress(b"\0" * 200_000_000, 1)
    bomb = gzip.compress(bomb) if "," in encoding else bomb
    tracemalloc.start()
    begun = time.perf_counter()
    try:
        await read(bomb, encoding, 1_000_000)
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
        assert time.perf_counter() - begun < 0.5
    finally:
        tracemalloc.stop()


async def test_what_unpacks_to_nothing_is_read_up_to_the_limit_too() -> None:
    packer = zlib.compressobj(wbits=31)
    empty = packer.compress(b"") + b"".join(packer.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
    blocks = empty + b"\x00\x00\x00\xff\xff" * 10_000
    assert (await read(blocks, "gzip")).end == "cut"
