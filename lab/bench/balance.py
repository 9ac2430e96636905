"""A balancer as a process: connections to one port are led to several workers in turn, byte for byte.

Rule: it looks into nothing. The server opens one connection for each of its partitions, so that is how finely the work
is dealt out. Run: python -m lab.bench.balance PORT WORKER_PORT...
"""

import asyncio
import signal
import sys
from collections.abc import Iterator
from itertools import cycle

from lab.ports import HOST


class End(asyncio.Protocol):
    """One side of a line; what it reads, the other side writes."""

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self.other: End | None = None
        self._early = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def join(self, other: "End") -> None:
        self.other, early, self._early = other, self._early, b""
        if early and other.transport is not None:
            other.transport.write(early)

    def data_received(self, data: bytes) -> None:
        if self.other is None:
            self._early += data
        elif self.other.transport is not None:
            self.other.transport.write(data)

    def connection_lost(self, _error: Exception | None) -> None:
        if self.other is not None and self.other.transport is not None:
            self.other.transport.close()


class Front(End):
    """The server's side: finds a worker when it connects."""

    def __init__(self, workers: Iterator[int]) -> None:
        super().__init__()
        self._workers = workers
        self._finding: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._finding = asyncio.get_running_loop().create_task(self._find(next(self._workers)))

    async def _find(self, port: int) -> None:
        try:
            _, back = await asyncio.get_running_loop().create_connection(End, HOST, port)
        except OSError:
            if self.transport is not None:
                self.transport.abort()
            return
        back.join(self)
        self.join(back)


async def main(port: int, workers: list[int]) -> None:
    """Until told to stop."""
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    turns = cycle(workers)
    server = await loop.create_server(lambda: Front(turns), HOST, port)
    await stop.wait()
    server.close()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), [int(each) for each in sys.argv[2:]]))
