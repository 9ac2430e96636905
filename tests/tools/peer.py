"""A receiver of a few lines: it reads whole requests and lets a test say, per request, what happens to the connection.

Rule: it notes every request that arrives, byte for byte, so that a test counts what the receiver saw.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from tools.wire import Base, Sizes, Wire

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Act = Callable[["Seen", asyncio.StreamWriter], Awaitable[bool]]
"""What is done with a request: True keeps the connection, False closes it."""


@dataclass(frozen=True)
class Seen:
    """A request as it arrived. `connection` counts connections from 0."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    connection: int


@dataclass
class Peer:
    act: Act
    url: str = ""
    seen: list[Seen] = field(default_factory=list)
    connections: int = 0
    _news: asyncio.Event = field(default_factory=asyncio.Event)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number = self.connections
        self.connections += 1
        task = asyncio.ensure_future(self._serve(number, reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while request := await _read(reader, number):
                self.seen.append(request)
                self._news.set()
                if not await self.act(request, writer):
                    return
        except ConnectionError:
            pass
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    async def arrived(self, requests: int) -> None:
        """Returns when so many requests have arrived."""
        async with asyncio.timeout(5):
            while len(self.seen) < requests:
                self._news.clear()
                await self._news.wait()

    async def end(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


async def _read(reader: asyncio.StreamReader, number: int) -> Seen | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, path, _ = head[0].split(" ", 2)
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
    except asyncio.IncompleteReadError:
        return None
    return Seen(method, path, headers, body, number)


@asynccontextmanager
async def peer(act: Act) -> AsyncIterator[Peer]:
    made = Peer(act)
    server = await asyncio.start_server(made.accept, "127.0.0.1", 0)
    made.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield made
    finally:
        server.close()
        await made.end()


@asynccontextmanager
async def wire_to(url: str, **sizes: float) -> AsyncIterator[Wire]:
    made = Wire({"receiver": Base(url, (("authorization", "Bearer secret"),))}, Sizes(**sizes))  # type: ignore[arg-type]
    try:
        yield made
    finally:
        await made.aclose()


def answer(status: int = 200, body: object = None, raw: bytes | None = None, **headers: str) -> Act:
    """Answers each request in the same way."""
    content = raw if raw is not None else json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status} Said", f"content-length: {len(content)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]

    async def act(_: Seen, writer: asyncio.StreamWriter) -> bool:
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode() + content)
        await writer.drain()
        return True

    return act


async def hang_up(_: Seen, writer: asyncio.StreamWriter) -> bool:
    """Closes without a word."""
    return False


async def reset(_: Seen, writer: asyncio.StreamWriter) -> bool:
    """Closes with a TCP reset."""
    writer.transport.abort()
    return False


async def hang(_: Seen, writer: asyncio.StreamWriter) -> bool:
    """Never answers."""
    await asyncio.sleep(3600)
    return False


async def half(_: Seen, writer: asyncio.StreamWriter) -> bool:
    """Answers the head and the first bytes, then closes."""
    writer.write(b'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"id": "ch_')
    await writer.drain()
    return False


async def trickle(_: Seen, writer: asyncio.StreamWriter) -> bool:
    """A byte now and then, so that no read ever times out."""
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n")
    while True:
        writer.write(b" ")
        await writer.drain()
        await asyncio.sleep(0.02)


async def gibberish(_: Seen, writer: asyncio.StreamWriter) -> bool:
    """Speaks something that is not HTTP."""
    writer.write(b"220 mail.example.test ESMTP\r\n\r\n")
    await writer.drain()
    return False


def in_turn(*acts: Act) -> Act:
    """The first request gets the first, and so on; the last one repeats."""
    left = list(acts)

    async def act(request: Seen, writer: asyncio.StreamWriter) -> bool:
        return await (left.pop(0) if len(left) > 1 else left[0])(request, writer)

    return act
