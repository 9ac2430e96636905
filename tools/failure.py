"""What a failed exchange says about the request: it never left, or it may have arrived.

Rule: the single table of exceptions. Every class of httpx's tree is named in it, and what is not provably unsent may
have arrived. A broken connection that was kept from an earlier request proves nothing either: the receiver may have
read this one before it closed. The table relies on the transport, which raises the first three only before a
connection is handed out.
Must not know: receivers, statuses, effect classes.
"""

from enum import Enum

import httpx


class Left(Enum):
    NEVER = "never"
    MAYBE = "maybe"


FAILURES: dict[type[Exception], Left] = {
    # No connection, so nothing to write to.
    httpx.ConnectError: Left.NEVER,
    httpx.ConnectTimeout: Left.NEVER,
    httpx.PoolTimeout: Left.NEVER,
    # No request that could be written.
    httpx.UnsupportedProtocol: Left.NEVER,
    httpx.InvalidURL: Left.NEVER,
    # All others can come after the first byte, or are families with members that can.
    httpx.ReadTimeout: Left.MAYBE,
    httpx.WriteTimeout: Left.MAYBE,
    httpx.TimeoutException: Left.MAYBE,
    httpx.ReadError: Left.MAYBE,
    httpx.WriteError: Left.MAYBE,
    httpx.CloseError: Left.MAYBE,
    httpx.NetworkError: Left.MAYBE,
    httpx.LocalProtocolError: Left.MAYBE,
    httpx.RemoteProtocolError: Left.MAYBE,
    httpx.ProtocolError: Left.MAYBE,
    httpx.ProxyError: Left.MAYBE,
    httpx.TransportError: Left.MAYBE,
    httpx.DecodingError: Left.MAYBE,
    httpx.TooManyRedirects: Left.MAYBE,
    httpx.RequestError: Left.MAYBE,
    httpx.HTTPStatusError: Left.MAYBE,
    httpx.HTTPError: Left.MAYBE,
    httpx.CookieConflict: Left.MAYBE,
    httpx.StreamConsumed: Left.MAYBE,
    httpx.StreamClosed: Left.MAYBE,
    httpx.ResponseNotRead: Left.MAYBE,
    httpx.RequestNotRead: Left.MAYBE,
    httpx.StreamError: Left.MAYBE,
}
# The roots of the tree: what a failed exchange can raise.
EXCHANGE = (httpx.HTTPError, httpx.InvalidURL, httpx.CookieConflict, httpx.StreamError)
# Failures that another try may not meet again, also where the exchange was made by somebody else's code.
PASSING = (httpx.TransportError, TimeoutError, ConnectionError)


def left(error: Exception) -> Left:
    """What the table says; a class that is not in it counts as its nearest relative, a stranger as maybe."""
    for ancestor in type(error).__mro__:
        if (found := FAILURES.get(ancestor)) is not None:
            return found
    return Left.MAYBE
