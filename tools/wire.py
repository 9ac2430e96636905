"""One HTTP exchange to one answer: nothing is repeated, redirected or raised.

Rule: the whole exchange has a deadline, the body has a size, and `may_leave` is asked just before the bytes leave.
What a failure means is in the failure table, what a status means in the status table. The wire adds `Idempotency-Key`
and secrets. It uses an httpx transport without httpx's client: cookies, redirects, and proxies and netrc from the
environment have no place between fixed bytes and a socket.
Must not know: effect classes, when to try again, the environment, the wall clock.
"""

import asyncio
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar, assert_never

import httpx

from tools import failure, reply, status
from tools.base import Base, Sizes
from tools.code import CodePool
from tools.failure import Left
from tools.outcome import Answer, Done, Doubt, Found, InFlight, NotSent, Pending, Rejected, Unknown, worded
from tools.plain import MISTAKES, describe, plain
from tools.reply import Reply
from tools.request import Request
from tools.size import cap
from tools.status import Judge
from tools.unpack import unpacked

__all__ = ["Base", "MayLeave", "Reply", "Sizes", "Wire", "always"]

KEY_HEADER = "idempotency-key"
# 255 characters is what Stripe and most others allow.
_KEY = re.compile(r"[\x21-\x7e]{1,255}")
_LENGTH = re.compile(r"[0-9]{1,15}")
# A receiver may override these.
_HEADERS = {"accept": "application/json", "accept-encoding": "identity", "user-agent": "pawl"}

A = TypeVar("A", bound=Answer | Found)
MayLeave = Callable[[], str | None]
"""None, or the sentence for which a request must not leave. Also called from the threads of code tools."""


def always() -> str | None:
    """The `may_leave` of a caller who has nothing to check."""
    return None


@dataclass(frozen=True, slots=True)
class _Trip:
    base: str
    request: Request
    key: str | None
    """Goes into the header."""
    about: str | None
    """Goes into the reply, for the judge of a look-up."""
    deadline_s: float
    fresh: bool = False


class Wire:
    """The way out to all receivers. Used in one event loop; `aclose` ends it."""

    def __init__(self, bases: Mapping[str, Base], sizes: Sizes | None = None) -> None:
        self.bases = dict(bases)
        self.sizes = sizes or Sizes()
        self.code = CodePool(self.sizes.code_threads, self.sizes.value_bytes)
        self._transports: dict[tuple[str, bool], httpx.AsyncBaseTransport] = {}
        self._closed = False

    @staticmethod
    def load() -> None:
        """Imports the HTTP client, which takes a third of a second: call it in a thread once the port is open."""
        from tools import transport as _  # noqa: F401

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
        """Sends it once.

        `fresh`: over a connection of its own. A kept one may just be closing, which leaves a doubt that is cheap where
        the request can be repeated and costs a person's time where it cannot.
        """
        got = await self._exchange(_Trip(base, request, key, key, deadline_s, fresh), may_leave)
        return self._small(status.answer(got, judge), got) if isinstance(got, Reply) else got

    async def look_up(
        self, base: str, request: Request, key: str, deadline_s: float, judge: Callable[[Reply], Found]
    ) -> Found:
        """Asks once. The judge sees a 2xx and a 404; no other answer says anything about the effect."""
        got = await self._exchange(_Trip(base, request, None, key, deadline_s), always)
        if not isinstance(got, Reply):
            return got
        if got.status != 404 and got.status // 100 != 2:
            return _unanswered(status.answer(got, None))
        try:
            found: object = judge(got)
        except MISTAKES as error:  # a tool author's code: what it cannot read is no answer
            return Unknown(f"the answer to the look-up could not be judged, {describe(error)}", Doubt.JUDGED)
        if not isinstance(found, Found):
            return Unknown(f"the judge of the look-up gave no finding but {type(found).__name__}", Doubt.JUDGED)
        return self._small(found, got)

    async def _exchange(self, trip: _Trip, may_leave: MayLeave) -> Reply | NotSent | Unknown:
        from tools.transport import Departure, Held

        if trip.key is not None and not _KEY.fullmatch(trip.key):
            raise ValueError("a key is 1 to 255 visible ASCII characters")
        if self._closed:
            return NotSent("the worker is leaving and sends nothing more")
        if trip.base not in self.bases:
            return NotSent(f"no address is configured for the receiver {trip.base!r}", last=True)
        departure = Departure(may_leave)
        try:
            async with asyncio.timeout(trip.deadline_s):
                return await self._reply(trip, departure)
        except Held as held:
            return NotSent(str(held))
        except TimeoutError:
            if departure.left:
                return Unknown(f"no whole answer from the {trip.base} within {trip.deadline_s:g} s")
            return NotSent(f"no connection to the {trip.base} within {trip.deadline_s:g} s")
        except failure.EXCHANGE as error:
            if departure.left or failure.left(error) is Left.MAYBE:
                return Unknown(f"no whole answer from the {trip.base}, {describe(error)}")
            return NotSent(f"no connection to the {trip.base}, {describe(error)}")

    async def _reply(self, trip: _Trip, departure: object) -> Reply:
        base = self.bases[trip.base]
        headers = [*trip.request.headers, *(_HEADERS | dict(base.headers)).items()]
        if trip.key is not None:
            headers.append((KEY_HEADER, trip.key))
        outgoing = httpx.Request(
            trip.request.method,
            base.url.rstrip("/") + trip.request.path,
            headers=headers,
            content=trip.request.body,
            extensions={"departure": departure},
        )
        response = await self._transport(trip).handle_async_request(outgoing)
        received = {name.lower(): value for name, value in response.headers.items()}
        encoding = received.get("content-encoding", "")
        try:
            body = await unpacked(response.aiter_raw(), encoding, self.sizes.body_bytes)
        finally:
            await response.aclose()
        if encoding:
            received.pop("content-length", None)  # it counts other bytes than those that are read
        raw = body.raw if body.unreadable is None else body.unreadable.encode()
        return reply.read(response.status_code, received, raw, truncated=body.end == "cut", key=trip.about)

    def _transport(self, trip: _Trip) -> httpx.AsyncBaseTransport:
        from tools.transport import Transport

        pool = (trip.base, trip.fresh)
        if pool not in self._transports:
            keep_alive_s = None if trip.fresh else self.sizes.keep_alive_s
            self._transports[pool] = Transport(
                connections=self.sizes.connections, connect_s=self.sizes.connect_s, keep_alive_s=keep_alive_s
            )
        return self._transports[pool]

    def _small(self, answer: A, got: Reply) -> A:
        answer = worded(answer)
        if not isinstance(answer, Done | Rejected):
            return answer
        cut = got.truncated and answer.value is got.body
        length = got.headers.get("content-length", "")
        total_bytes = int(length) if cut and _LENGTH.fullmatch(length) else None
        # A judge may have put anything into the value, and nothing may fail once the effect has happened.
        return replace(answer, value=cap(plain(answer.value), self.sizes.value_bytes, total_bytes=total_bytes, cut=cut))

    async def aclose(self) -> None:
        """Closes every connection. What is under way ends as Unknown."""
        self._closed = True
        for transport in self._transports.values():
            await transport.aclose()


def _unanswered(answer: Answer) -> Found:
    """A look-up with another status says nothing about the effect, whatever that status says about the look-up."""
    match answer:
        case Unknown() | NotSent():
            return answer
        case Rejected(reason=reason) | InFlight(reason=reason) | Pending(reason=reason):
            return Unknown(f"the look-up was refused: {reason}", Doubt.SERVER_ERROR)
        case Done():
            return Unknown("the look-up was not answered", Doubt.SERVER_ERROR)
        case _:
            assert_never(answer)
