"""HTTP/2 as a row of frames: bytes in, whole frames out. Pure.

Rule: nothing is lost or changed; the frames that come out, put together, are the bytes that went in. What does not
begin as HTTP/2 comes out as it is, marked as no frame.
Must not know: sockets, what a frame means for a run.
"""

from dataclasses import dataclass

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_HEAD_BYTES = 9
_DATA, _HEADERS, _RESET = 0x0, 0x1, 0x3


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame as it was sent. `stream` is 0 for what concerns the connection, and for bytes that are no frame."""

    raw: bytes
    kind: int | None = None
    stream: int = 0

    @property
    def is_data(self) -> bool:
        """It carries something of its stream; an empty DATA frame only ends it. Bytes that are no frame do as well."""
        return self._is_plain or (self.kind == _DATA and len(self.raw) > _HEAD_BYTES)

    @property
    def in_order(self) -> bool:
        """It must not overtake the DATA of its stream."""
        return self._is_plain or self.kind in (_DATA, _HEADERS, _RESET)

    @property
    def _is_plain(self) -> bool:
        return self.kind is None and self.raw != PREFACE


class Frames:
    """Cuts one direction of a connection into frames.

    The client's direction begins with a preface, or is no HTTP/2. `client` is given for the other direction, which is
    what the client's is.
    """

    def __init__(self, client: "Frames | None" = None) -> None:
        self.plain = False
        self._client = client
        self._preface_due = client is None
        self._rest = b""

    def feed(self, more: bytes) -> list[Frame]:
        """The frames that are whole now."""
        if self._client is not None:
            self.plain = self._client.plain
        if self.plain:
            return [Frame(more)]
        self._rest += more
        found: list[Frame] = []
        if self._preface_due:
            begin = self._rest[: len(PREFACE)]
            if not PREFACE.startswith(begin):
                self.plain, rest, self._rest = True, self._rest, b""
                return [Frame(rest)]
            if len(begin) < len(PREFACE):
                return []
            self._preface_due, self._rest = False, self._rest[len(PREFACE) :]
            found.append(Frame(PREFACE))
        while len(self._rest) >= _HEAD_BYTES:
            end = _HEAD_BYTES + int.from_bytes(self._rest[:3], "big")
            if len(self._rest) < end:
                break
            stream = int.from_bytes(self._rest[5:9], "big") & 0x7FFF_FFFF
            found.append(Frame(self._rest[:end], self._rest[3], stream))
            self._rest = self._rest[end:]
        return found
