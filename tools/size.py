"""How large a value may be that is kept and shown to the model.

Rule: what is cut says so and says how to get the rest; nothing is cut inside a character. The same value gives the
same cut.
Must not know: where a value comes from.
"""

import json

from pydantic import JsonValue

from tools.plain import text

# Below this the marker itself would not fit.
LIMIT_BYTES_MIN = 256


def cap(value: JsonValue, limit_bytes: int, *, total_bytes: int | None = None, cut: bool = False) -> JsonValue:
    """The plain value itself, or where its JSON is larger than the limit, its beginning as text with a marker at the
    end.

    `cut`: the value is itself only the beginning of something, of `total_bytes` where that is known. The JSON of the
    result keeps to the limit.
    """
    written = _written(value)
    size_bytes = len(written.encode())
    if size_bytes <= limit_bytes and not cut:
        return value
    more = "more than " if cut and total_bytes is None else ""
    whole_bytes = size_bytes if total_bytes is None else total_bytes
    marker = (
        f"… [cut here: {more}{whole_bytes:,} bytes in all; ask for less: one item, a filter, a page or fewer fields]"
    )
    room_bytes = max(limit_bytes, LIMIT_BYTES_MIN) - len(_written(marker).encode())
    return _beginning(value if isinstance(value, str) else written, room_bytes) + marker


def shorten(value: str, limit_bytes: int) -> str:
    """The text, cut to at most this many bytes of UTF-8; "…" shows the cut."""
    raw = text(value).encode()
    if len(raw) <= limit_bytes:
        return raw.decode()
    return raw[: max(0, limit_bytes - 3)].decode(errors="ignore") + "…"


def _beginning(whole: str, room_bytes: int) -> str:
    """The longest beginning whose JSON has at most this many bytes between its quotes, found by halving."""
    fits, too_long = 0, min(len(whole), room_bytes) + 1
    while too_long - fits > 1:
        middle = (fits + too_long) // 2
        if len(_written(whole[:middle]).encode()) - 2 <= room_bytes:
            fits = middle
        else:
            too_long = middle
    return whole[:fits]


def _written(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
