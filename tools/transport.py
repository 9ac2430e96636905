"""How a request reaches the socket: an httpx transport over aiohttp that sends each request at most once.

Rule: a failure before a connection is handed out is a ConnectError or ConnectTimeout, any later one never is. aiohttp's own
names do not tell the two apart (a receiver that hangs up after reading and a refused connection are both connection errors),
and aiohttp repeats GET, PUT and DELETE by itself when a kept connection breaks. So the connector notes the moment when it
hands out a connection, and errors leave aiohttp under other names, which it does not repeat.
What remains between `may_leave` and the socket is one turn of the event loop and the kernel.
Must not know: keys, statuses, what a failure means for an intent.
"""

from collections.abc import AsyncIterator, Callable
from contextvars import ContextVar
from dataclasses import dataclass

import aiohttp
import httpx
from yarl import URL

CHUNK_BYTES = 16_384
EXTENSION = "departure"


class Held(Exception):
    """`may_leave` said no; the text is its sentence. The request did not leave."""


@dataclass(slots=True)
class Departure:
    """One request on its way: asks before it leaves, and knows whether it may have left."""

    may_leave: Callable[[], str | None]
    left: bool = False

    def leave(self) -> None:
        if (sentence := self.may_leave()) is not None:
            raise Held(sentence)
        self.left = True


_DEPARTURE: ContextVar[Departure] = ContextVar("departure")


class _Connector(aiohttp.TCPConnector):
    """Asks for permission when a connection is there, which is the last moment before bytes are written."""

    async def connect(
        self, req: aiohttp.ClientRequest, traces: list[aiohttp.tracing.Trace], timeout: aiohttp.ClientTimeout
    ) -> aiohttp.connector.Connection:
        connection = await super().connect(req, traces, timeout)
        try:
            _DEPARTURE.get().leave()
        except Held:
            connection.release()
            raise
        return connection


async def _once(request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
    """Renames errors inside aiohttp's own loop, so that it never repeats a request."""
    try:
        return await handler(request)
    except (aiohttp.ClientError, OSError) as error:
        raise _renamed(error, _DEPARTURE.get()) from error


def _renamed(error: Exception, departure: Departure) -> httpx.TransportError:
    words = str(error) or type(error).__name__
    if isinstance(error, aiohttp.InvalidURL | aiohttp.NonHttpUrlClientError):
        return httpx.UnsupportedProtocol(words)
    if not departure.left:
        return httpx.ConnectTimeout(words) if isinstance(error, TimeoutError) else httpx.ConnectError(words)
    if isinstance(error, TimeoutError):
        return httpx.ReadTimeout(words)
    if isinstance(error, aiohttp.ClientResponseError):
        return httpx.RemoteProtocolError(words)
    return httpx.ReadError(words)


class _Body(httpx.AsyncByteStream):
    def __init__(self, response: aiohttp.ClientResponse, departure: Departure) -> None:
        self._response = response
        self._departure = departure

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._response.content.iter_chunked(CHUNK_BYTES):
                yield chunk
        except (aiohttp.ClientError, OSError) as error:
            raise _renamed(error, self._departure) from error

    async def aclose(self) -> None:
        # Closes the connection where the body was not read to its end; otherwise it has gone back to the pool already.
        self._response.close()


class Transport(httpx.AsyncBaseTransport):
    """One pool of connections. `keep_alive=False` opens one for each request: none that may be closing meanwhile."""

    def __init__(self, *, connections: int, connect_s: float, keep_alive: bool, keep_alive_s: float) -> None:
        options = {"keepalive_timeout": keep_alive_s} if keep_alive else {"force_close": True}
        self._session = aiohttp.ClientSession(
            connector=_Connector(limit=connections, **options),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None, connect=connect_s),
            middlewares=(_once,),
            auto_decompress=False,
            trust_env=False,
            skip_auto_headers=("user-agent", "accept", "accept-encoding", "content-type"),
        )

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        departure: Departure = request.extensions[EXTENSION]
        token = _DEPARTURE.set(departure)
        try:
            response = await self._session.request(
                request.method,
                URL(str(request.url), encoded=True),
                headers=request.headers.multi_items(),
                data=request.content or None,
                allow_redirects=False,
            )
        except (aiohttp.ClientError, OSError) as error:
            raise _renamed(error, departure) from error
        finally:
            _DEPARTURE.reset(token)
        return httpx.Response(
            status_code=response.status, headers=response.raw_headers, stream=_Body(response, departure)
        )

    async def aclose(self) -> None:
        await self._session.close()
