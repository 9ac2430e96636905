"""What a run writes in one moment leaves in one frame.

Before the result of a step stand that it starts, and the rows that go with it. Sent one by one they are two HTTP/2
frames, two system calls and two turns of the server; together they are one.

Rule: the order of what is written never changes, nothing is held longer than a few passes of the event loop, and more
than a frame is not held at all, nor is the result of a step: somebody waits for it, and until the result of an effect
is recorded, a crash leaves a doubt. Whether an effect may leave does not depend on it: that waits for the server's
answer.
Must not know: what is written.
"""

import asyncio
from contextvars import ContextVar
from typing import Any

from restate.server_types import RestateAppT

PASSES = 6
"""A step without waiting takes fewer passes of the event loop from its start to its result."""
FRAME_BYTES = 16_384
"""The size of an HTTP/2 frame: beyond it nothing is won, and a large result must feel that the line is full."""


HERE: ContextVar["Outgoing | None"] = ContextVar("outgoing", default=None)
"""The answer that the current task writes to, as do the tasks that it starts."""


def at_once() -> None:
    """What is written next is not held."""
    outgoing = HERE.get()
    if outgoing is not None:
        outgoing.hurried = True


def gathered(application: RestateAppT) -> RestateAppT:
    """The application, whose answers are gathered."""

    async def answer(scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await application(scope, receive, send)
            return
        outgoing = Outgoing(send)
        HERE.set(outgoing)
        await application(scope, receive, outgoing.send)

    return answer


class Outgoing:
    """The body of one answer on its way. One at a time sends, so that nothing overtakes."""

    def __init__(self, send: Any) -> None:
        self._send = send
        self._loop = asyncio.get_running_loop()
        self._line = asyncio.Lock()
        self._parts: list[bytes] = []
        self._size_bytes = 0
        self._passes_left = 0
        self.hurried = False
        """The next part is not held."""
        self._late: asyncio.Task[None] | None = None

    async def send(self, message: dict[str, Any]) -> None:
        if message["type"] != "http.response.body" or not message.get("more_body", False):
            await self._all()
            await self._send(message)
            return
        self._parts.append(message["body"])
        self._size_bytes += len(message["body"])
        if self.hurried or self._size_bytes >= FRAME_BYTES:
            self.hurried = False
            await self._all()
        elif self._passes_left == 0:
            self._passes_left = PASSES
            self._loop.call_soon(self._pass)

    def _pass(self) -> None:
        self._passes_left = self._passes_left - 1 if self._parts else 0
        if self._passes_left > 0:
            self._loop.call_soon(self._pass)
        elif self._parts:
            self._late = self._loop.create_task(self._all())

    async def _all(self) -> None:
        async with self._line:
            while self._parts:
                body, self._parts, self._size_bytes = b"".join(self._parts), [], 0
                try:
                    await self._send({"type": "http.response.body", "body": body, "more_body": True})
                except BaseException:
                    self._send = _cut
                    raise


async def _cut(_: dict[str, Any]) -> None:
    raise ConnectionError("what was written before has not left whole, so nothing may follow it")
