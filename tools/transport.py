"""How a request reaches the socket: an httpx transport over aiohttp that sends each request at most once.

Rule: a failure before a connection is handed out is a ConnectError or ConnectTimeout, a later one never is. aiohttp's
names do not tell the two apart (a refused connection and a receiver that hangs up after reading are both connection
errors), and aiohttp repeats GET, PUT and DELETE by itself when a kept connection breaks. So the connector notes the
moment at which it hands out a connection, and errors leave aiohttp under httpx's names, which it does not repeat. What
remains between `may_leave` and the socket: one turn of the event loop, and the kernel.
Must not know: keys, statuses, what a failure means for an intent.
"""

from collections.abc import AsyncIterator, Callable
from contextvars import ContextVar
from dataclasses import dataclass

import aiohttp
import httpx
from aiohttp.connector import Connection
from yarl import URL

CHUNK_BYTES = 16_384
# Where a request carries its departure, among httpx's extensions.
DEPARTURE = "departure"
# ValueError: a host, a port or a header that cannot be written down.
_FAILURES = (aiohttp.ClientError, OSError, ValueError)


class Held(Exception):
    """`may_leave` said no; the text is its sentence. The request did not leave."""


@dataclass(slots=True)
class Departure:
    """One request on its way out: asks before it leaves, and knows whether it may have left."""

    may_leave: Callable[[], str | None]
    left: bool = False

    def leave(self) -> None:
        """Raises Held where it may not."""
        if (sentence := self.may_leave()) is not None:
            raise Held(sentence)
        self.left = True


_departing: ContextVar[Departure] = ContextVar("departing")


class _Connector(aiohttp.TCPConnector):
    """Asks for permission when it has a connection, which is the last moment before bytes are written."""

    async def connect(
        self, req: aiohttp.ClientRequest, traces: list[aiohttp.tracing.Trace], timeout: aiohttp.ClientTimeout
    ) -> Connection:
        connection = await super().connect(req, traces, timeout)
        try:
            _departing.get().leave()
        except BaseException:
            connection.release()
            raise
        return connection


async def _renaming(request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
    """Renames failures inside aiohttp's own loop, which repeats only what it knows by name."""
    try:
        return await handler(request)
    except _FAILURES as error:
        raise _renamed(error, _departing.get()) from error


def _renamed(error: Exception, departure: Departure) -> httpx.TransportError:
    words = str(error) or type(error).__name__
    if isinstance(error, aiohttp.InvalidURL | aiohttp.NonHttpUrlClientError):
        return httpx.UnsupportedProtocol(words)
    if not departure.left:
        return httpx.ConnectTimeout(words) if isinstance(error, TimeoutError) else httpx.ConnectError(words)
    if isinstance(error, aiohttp.ClientResponseError):
        return httpx.RemoteProtocolError(words)
    return httpx.ReadTimeout(words) if isinstance(error, TimeoutError) else httpx.ReadError(words)


class _Body(httpx.AsyncByteStream):
    def __init__(self, response: aiohttp.ClientResponse, departure: Departure) -> None:
        self._response = response
        self._departure = departure

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._response.content.iter_chunked(CHUNK_BYTES):
                yield chunk
        except _FAILURES as error:
            raise _renamed(error, self._departure) from error

    async def aclose(self) -> None:
        # Closes the connection where the body was not read to its end; otherwise it has gone back to the pool already.
        self._response.close()


class Transport(httpx.AsyncBaseTransport):
    """One pool of connections. Without `keep_alive_s` each request has a connection of its own."""

    def __init__(self, *, connections: int, connect_s: float, keep_alive_s: float | None) -> None:
        self._session = aiohttp.ClientSession(
            connector=_Connector(limit=connections, keepalive_timeout=keep_alive_s)
            if keep_alive_s is not None
            else _Connector(limit=connections, force_close=True),
            middlewares=(_renaming,),
            timeout=aiohttp.ClientTimeout(total=None, connect=connect_s),
            cookie_jar=aiohttp.DummyCookieJar(),
            skip_auto_headers=("user-agent", "accept", "accept-encoding", "content-type"),
            auto_decompress=False,
            trust_env=False,
        )

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Sends it once. Raises httpx.TransportError, or Held."""
        departure: Departure = request.extensions[DEPARTURE]
        token = _departing.set(departure)
        try:
            response = await self._session.request(
                request.method,
                URL(str(request.url), encoded=True),
                headers=request.headers.multi_items(),
                data=request.content or None,
                allow_redirects=False,
            )
        except _FAILURES as error:
            raise _renamed(error, departure) from error
        finally:
            _departing.reset(token)
        body = _Body(response, departure)
        return httpx.Response(status_code=response.status, headers=response.raw_headers, stream=body)

    async def aclose(self) -> None:
        await self._session.close()
