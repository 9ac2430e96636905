"""Who is at the other end, and how much the wire takes on.

Rule: what cannot work is refused when it is made, with one sentence, so that it is seen at start-up.
Must not know: the environment (settings are passed in), what is sent.
"""

from dataclasses import dataclass, field

import httpx

from tools.request import HEADER_NAME, HEADER_VALUE
from tools.size import LIMIT_BYTES_MIN


@dataclass(frozen=True, slots=True)
class Base:
    """A receiver: where it is, and the headers of every request to it (authorisation, version). Raises ValueError."""

    url: str
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        try:
            parts = httpx.URL(self.url)
        except httpx.InvalidURL as error:
            raise ValueError(f"a receiver's address cannot be read: {error}") from error
        if parts.scheme not in ("http", "https") or not parts.host:
            raise ValueError("a receiver's address must start with http:// or https:// and name a host")
        try:
            parts.host.encode("idna")
        except UnicodeError as error:
            raise ValueError("a receiver's address names a host that cannot exist") from error
        if parts.port is not None and not 1 <= parts.port <= 65_535:
            raise ValueError("a receiver's address has a port that cannot exist")
        if parts.userinfo or parts.query or parts.fragment:
            raise ValueError("a receiver's address has no user, query or fragment; secrets belong into its headers")
        for name, value in self.headers:
            if not HEADER_NAME.fullmatch(name) or not HEADER_VALUE.fullmatch(value):
                # The value may be a secret, so it is not shown.
                raise ValueError(
                    f"a receiver's header {name!r} needs a lower-case name and one line of printable ASCII"
                )


@dataclass(frozen=True, slots=True)
class Sizes:
    """The wire's limits. Raises ValueError for one that cannot work."""

    connect_s: float = 5.0
    """Until there is a connection, with the wait for a free one. Nothing has left by then, so giving up early is
    cheap."""
    body_bytes: int = 1_048_576
    """Read of an answer. Enough for any object that a tool should ask for; what is longer is cut, not read to its
    end."""
    value_bytes: int = 32_000
    """Of an answer that is kept and shown to the model: about 8,000 tokens."""
    connections: int = 64
    """At once to one receiver. One that hangs holds each until the deadline, and the others must still get through."""
    keep_alive_s: float = 4.0
    """Idle time of a connection. Common servers close after 5 s and more, so they rarely close first."""
    code_threads: int = 32
    """Code tools at once. Threads are cheap while they wait, and a hung tool keeps its own until it ends."""

    def __post_init__(self) -> None:
        if min(self.connect_s, self.body_bytes, self.connections, self.keep_alive_s, self.code_threads) <= 0:
            raise ValueError("each of the wire's limits must be above 0")
        if self.value_bytes < LIMIT_BYTES_MIN:
            raise ValueError(f"value_bytes must be at least {LIMIT_BYTES_MIN}, or the marker of a cut has no room")
