"""An answer does not end before its request has.

hypercorn forgets a stream that the application has closed, and ends the whole connection, with every attempt on it,
when one more frame of the request arrives. Restate keeps the request of an attempt open until it has read the end of
the answer. So the last part is held until the request is over.

Rule: nothing of an answer changes but the moment at which it ends. A request that never ends holds up only itself.
Must not know: what is answered.
"""

import asyncio
from typing import Any

from restate.server_types import RestateAppT


def after_the_request(application: RestateAppT) -> RestateAppT:
    """The application, whose answers end after their requests."""

    async def answer(scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await application(scope, receive, send)
            return
        over = asyncio.Event()

        async def read() -> dict[str, Any]:
            message: dict[str, Any] = await receive()
            if message["type"] != "http.request" or not message.get("more_body", False):
                over.set()
            return message

        async def tell(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.body" and not message.get("more_body", False) and not over.is_set():
                await until(over, read)
            await send(message)

        await application(scope, read, tell)

    return answer


async def until(over: asyncio.Event, read: Any) -> None:
    """Reads to the end of the request. The application may still be reading itself, and get the end in our place."""
    ends = asyncio.ensure_future(over.wait())
    reading: asyncio.Future[Any] | None = None
    try:
        while not over.is_set():
            reading = asyncio.ensure_future(read())
            await asyncio.wait({ends, reading}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        ends.cancel()
        if reading is not None:
            reading.cancel()
