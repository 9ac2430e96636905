"""One HTTP exchange to one answer: nothing is repeated, redirected or raised.

Rule: the whole exchange has a deadline, the body a size, and just before the bytes leave `may_leave` is asked. What a failure
means is in the failure table, what a status means in the status table. The wire adds `Idempotency-Key` and the secrets.
It uses an httpx transport without httpx's client: cookies, redirects, proxies and netrc from the environment have no place
between fixed bytes and a socket.
Must not know: effect classes, when to try again, the environment, the wall clock.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

import httpx
from pydantic import JsonValue

from tools import failure, reply, status
from tools.code import CodePool
from tools.failure import Left
from tools.outcome import Answer, Done, Doubt, Found, InFlight, NotSent, Rejected, Unknown
from tools.plain import cap, describe
from tools.reply import Reply
from tools.request import Request
from tools.status import Judge

KEY_HEADER = "idempotency-key"
KEY_CHARACTERS_MAX = 255

A = TypeVar("A", bound=Answer | Found)
MayLeave = Callable[[], str | None]


def always() -> None:
    """The `may_leave` of who has nothing to check."""
    return


@dataclass(frozen=True, slots=True)
class Base:
    """A receiver: where it is, and what goes into the header of every request to it (authorisation, version)."""

    url: str
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Sizes:
    """The wire's limits."""

    connect_s: float = 5.0
    """Until a connection is there, waiting for a free one included. Nothing has left yet, so giving up early costs little."""
    body_bytes: int = 1_048_576
    """Read of a body. Enough for any object that a tool should return; a longer one is cut, not read to its end."""
    value_bytes: int = 32_000
    """Of an answer that is kept and shown to the model: about 8,000 tokens."""
    connections: int = 64
    """At once to one receiver. A receiver that hangs holds one each until the deadline; the others must still get through."""
    keep_alive_s: float = 4.0
    """A connection is kept idle. Shorter than the 5 s after which common servers close, so that they rarely close first."""
    code_threads: int = 32
    """Code tools at once. Threads are cheap while they wait, and a hung tool keeps its own until it ends."""


class Wire:
    """The way out, for all receivers. Used in one event loop; `aclose` ends it."""

    def __init__(self, bases: Mapping[str, Base], sizes: Sizes = Sizes()) -> None:
        self.bases = dict(bases)
        self.sizes = sizes
        self.code = CodePool(sizes.code_threads, sizes.value_bytes)
        self._transports: dict[tuple[str, bool], httpx.AsyncBaseTransport] = {}

    async def send(
        self,
        base: str,
        request: Request,
        key: str | None,
        deadline_s: float,
        judge: Judge | None = None,
        may_leave: MayLeave = always,
        fresh: bool = False,
    ) -> Answer:
        """Sends it once. `fresh`: over a connection of its own, for what must not be sent again after a doubtful answer."""
        got = await self._exchange(base, request, key, deadline_s, may_leave, fresh)
        if not isinstance(got, Reply):
            return got
        return self._capped(status.answer(got, judge), got)

    async def look_up(
        self, base: str, request: Request, key: str, deadline_s: float, judge: Callable[[Reply], Found]
    ) -> Found:
        """Asks once. The judge sees a 2xx and a 404; no other answer says anything about the effect."""
        got = await self._exchange(base, request, None, deadline_s, always, fresh=False, about=key)
        if not isinstance(got, Reply):
            return got
        if got.status == 404 or 200 <= got.status <= 299:
            try:
                return self._capped(judge(got), got)
            except Exception as error:  # a judge is a tool author's code; what it cannot read is not an answer
                return Unknown(f"the look-up's answer could not be judged: {describe(error)}", Doubt.JUDGED)
        match status.answer(got, None):
            case Rejected(reason) | InFlight(reason):
                return Unknown(f"the look-up was refused: {reason}", Doubt.SERVER_ERROR)
            case other:
                return other

    async def _exchange(
        self,
        base: str,
        request: Request,
        key: str | None,
        deadline_s: float,
        may_leave: MayLeave,
        fresh: bool,
        about: str | None = None,
    ) -> Reply | NotSent | Unknown:
        from tools.transport import Departure, Held

        if (target := self.bases.get(base)) is None:
            return NotSent(f"no address is configured for the receiver {base!r}", last=True)
        departure = Departure(may_leave)
        try:
            async with asyncio.timeout(deadline_s):
                return await self._once(base, target, request, key, departure, fresh, about or key)
        except Held as held:
            return NotSent(str(held))
        except TimeoutError:
            if not departure.left:
                return NotSent(f"no connection to {target.url} within {deadline_s:g} s; nothing left")
            return Unknown(f"no whole answer within {deadline_s:g} s")
        except failure.EXCHANGE_FAILURES as error:
            if failure.left(error) is Left.NEVER and not departure.left:
                return NotSent(f"no connection to {target.url}: {describe(error)}")
            return Unknown(f"no whole answer: {describe(error)}")

    async def _once(
        self,
        base: str,
        target: Base,
        request: Request,
        key: str | None,
        departure: object,
        fresh: bool,
        about: str | None,
    ) -> Reply:
        headers = [*request.headers, ("accept", "application/json"), ("accept-encoding", "identity")]
        headers += [("user-agent", "pawl"), *target.headers]
        if key is not None:
            headers.append((KEY_HEADER, key))
        outgoing = httpx.Request(
            request.method,
            target.url.rstrip("/") + request.path,
            headers=headers,
            content=request.body,
            extensions={"departure": departure},
        )
        response = await self._transport(base, fresh).handle_async_request(outgoing)
        try:
            raw, truncated = await self._read(response)
        finally:
            await response.aclose()
        names = {name.lower(): value for name, value in response.headers.items()}
        return reply.read(response.status_code, names, raw, truncated=truncated, key=about)

    async def _read(self, response: httpx.Response) -> tuple[bytes, bool]:
        raw = bytearray()
        async for chunk in response.aiter_bytes():
            raw += chunk
            if len(raw) > self.sizes.body_bytes:
                return bytes(raw[: self.sizes.body_bytes]), True
        return bytes(raw), False

    def _transport(self, base: str, fresh: bool) -> httpx.AsyncBaseTransport:
        from tools.transport import Transport

        if (found := self._transports.get((base, fresh))) is None:
            found = self._transports[base, fresh] = Transport(
                connections=self.sizes.connections,
                connect_s=self.sizes.connect_s,
                keep_alive=not fresh,
                keep_alive_s=self.sizes.keep_alive_s,
            )
        return found

    def _small(self, value: JsonValue, got: Reply) -> JsonValue:
        length = got.headers.get("content-length", "")
        total_bytes = int(length) if got.truncated and length.isdecimal() else None
        return cap(value, self.sizes.value_bytes, total_bytes=total_bytes, cut=got.truncated)

    def _capped(self, answer: A, got: Reply) -> A:
        if isinstance(answer, Done | Rejected):
            return replace(answer, value=self._small(answer.value, got))
        return answer

    async def aclose(self) -> None:
        """Closes every connection."""
        transports, self._transports = self._transports, {}
        for transport in transports.values():
            await transport.aclose()
