"""A TCP relay between the server and a worker: it holds what one of them says, cuts the line, or leads elsewhere.

Rule: it passes on every byte unchanged and in order, or keeps it. It reads on while it holds, so that what has reached
it can be told: "answer read and not yet recorded" is a DATA frame of the run's stream that came here after the
receiver's answer had left. PING, SETTINGS and WINDOW_UPDATE are never held by `hold`, so neither side takes the line
for dead; `blackhole` swallows everything, as a cut cable does. Between a worker and a mock, where no HTTP/2 is spoken,
all that comes is held.

    with Relay(worker_port) as relay:                 # register relay.url instead of the worker's
        relay.hold(Way.TO_SERVER)
        gate.release()                                # the receiver answers
        relay.wait_held(Way.TO_SERVER)                # the worker has read the answer and says so
        worker.kill(); relay.cut(); worker.start()
"""

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from types import TracebackType
from typing import Self, TypeVar

from lab.errors import LabError
from lab.frames import Frame, Frames
from lab.ports import HOST, free_port
from lab.process import wait_until

T = TypeVar("T")

_CHUNK_BYTES = 65_536
# Acts of the relay are moments of one event loop; only a machine that stands still takes this long.
_ACT_S = 5.0
HELD_S = 20.0
"""How long to wait for a frame that is to be held: a step of a run, with a worker that may just be starting."""


class Way(StrEnum):
    TO_WORKER = "to_worker"
    TO_SERVER = "to_server"


Watch = Callable[[Way, tuple[int, int], bytes], None]
"""Sees every frame of DATA as it comes, held or not: its way, its connection and stream, its bytes."""


@dataclass(slots=True)
class _Hold:
    """DATA frames of each stream that still pass; then the stream is held."""

    after: int
    passed: dict[tuple[int, int], int] = field(default_factory=dict)

    def catches(self, frame: Frame, stream: tuple[int, int]) -> bool:
        if not frame.is_data:
            return False
        self.passed[stream] = self.passed.get(stream, 0) + 1
        return self.passed[stream] > self.after


@dataclass(slots=True)
class _Line:
    """One direction of one connection."""

    connection: int
    way: Way
    frames: Frames
    writer: asyncio.StreamWriter
    kept: list[tuple[Frame, float]] = field(default_factory=list)
    swallowing: bool = False

    def pass_on(self, frames: list[Frame], hold: _Hold | None) -> None:
        for frame in frames:
            if self.swallowing:
                continue
            stream = (self.connection, frame.stream)
            held = any(kept.stream == frame.stream for kept, _ in self.kept) and frame.in_order
            if held or (hold is not None and hold.catches(frame, stream)):
                self.kept.append((frame, time.monotonic()))
            else:
                self.writer.write(frame.raw)

    def let_go(self) -> None:
        if not self.swallowing:
            self.writer.writelines([frame.raw for frame, _ in self.kept])
        self.kept.clear()


class Relay:
    """Listens on a port of its own and leads each new connection to the worker that it is aimed at."""

    def __init__(self, worker_port: int, port: int | None = None) -> None:
        self.port = port or free_port()
        self.url = f"http://{HOST}:{self.port}"
        self._aim = worker_port
        self.watch: Watch | None = None
        self._holds: dict[Way, _Hold] = {}
        self._lines: list[_Line] = []
        self._connections = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="relay", daemon=True)
        self._server: asyncio.Server | None = None
        self._pumps: set[asyncio.Task[None]] = set()

    def __enter__(self) -> Self:
        self._thread.start()
        opening = asyncio.start_server(self._accept, HOST, self.port)
        self._server = asyncio.run_coroutine_threadsafe(opening, self._loop).result(_ACT_S)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(_ACT_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_ACT_S)
        self._loop.close()

    def aim(self, worker_port: int) -> None:
        """Lead connections that are made from now on to this worker; those that are there stay where they are."""
        self._act(lambda: setattr(self, "_aim", worker_port))

    def hold(self, way: Way, after: int = 0) -> None:
        """Keep the DATA frames of each stream, once `after` more of them have passed."""
        self._act(lambda: self._holds.update({way: _Hold(after)}))

    def held(self, way: Way, since: float = 0.0) -> int:
        """How many streams have DATA that is kept, and that came after `since` (of the monotonic clock)."""
        return self._act(
            lambda: len(
                {
                    (line.connection, frame.stream)
                    for line in self._lines
                    for frame, at in line.kept
                    if line.way is way and frame.is_data and at >= since
                }
            )
        )

    def wait_held(self, way: Way, streams: int = 1, since: float = 0.0, deadline_s: float = HELD_S) -> None:
        """Wait until that many streams are held; raises LabError where they are not in time."""
        what = f"holding {streams} stream(s) {way.value.replace('_', ' ')} at the relay"
        wait_until(what, lambda: self.held(way, since) >= streams, deadline_s)

    def connections(self) -> int:
        """How many connections have been led through so far."""
        return self._act(lambda: self._connections)

    def open_connections(self) -> int:
        """How many connections are there now."""
        return self._act(lambda: len({line.connection for line in self._lines}))

    def release(self, *ways: Way) -> None:
        """Pass on what is kept, in order, and hold nothing more: these ways, or both."""

        def act() -> None:
            for way in ways or Way:
                self._holds.pop(way, None)
            for line in self._lines:
                if line.way in (ways or Way):
                    line.let_go()

        self._act(act)

    def keep(self) -> None:
        """Hold nothing more and let nothing go: what is kept stays until `release`, with what follows on its stream."""
        self._act(self._holds.clear)

    def blackhole(self) -> None:
        """From now on swallow everything on the connections that are there, both ways, without closing them."""

        def act() -> None:
            for line in self._lines:
                line.kept.clear()
                line.swallowing = True

        self._act(act)

    def cut(self) -> None:
        """End the connections that are there; what is kept is lost. Holds nothing more."""

        def act() -> None:
            self._holds.clear()
            for line in self._lines:
                line.kept.clear()
                line.writer.transport.abort()

        self._act(act)

    def _act(self, act: Callable[[], T]) -> T:
        """Do it in the relay's own loop, so that it falls between two frames."""
        if not self._thread.is_alive():
            raise LabError("the relay is not running")

        async def acting() -> T:
            return act()

        return asyncio.run_coroutine_threadsafe(acting(), self._loop).result(_ACT_S)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._pumps.add(task)
        try:
            there, to_worker = await asyncio.open_connection(HOST, self._aim)
        except OSError:
            # A worker that is down refuses; so does the relay.
            writer.transport.abort()
            self._pumps.discard(task)
            return
        self._connections += 1
        asked = Frames()
        lines = (
            _Line(self._connections, Way.TO_WORKER, asked, to_worker),
            _Line(self._connections, Way.TO_SERVER, Frames(client=asked), writer),
        )
        self._lines.extend(lines)
        try:
            async with asyncio.TaskGroup() as both:
                both.create_task(self._pump(reader, lines[0]))
                both.create_task(self._pump(there, lines[1]))
        finally:
            for line in lines:
                line.writer.transport.abort()
                self._lines.remove(line)
            self._pumps.discard(task)

    async def _pump(self, reader: asyncio.StreamReader, line: _Line) -> None:
        with contextlib.suppress(ConnectionError):
            while chunk := await reader.read(_CHUNK_BYTES):
                frames = line.frames.feed(chunk)
                if self.watch is not None:
                    for frame in frames:
                        if frame.is_data:
                            self.watch(line.way, (line.connection, frame.stream), frame.raw)
                line.pass_on(frames, self._holds.get(line.way))
                await line.writer.drain()
        # Either side that ends ends both; what is still kept goes with it.
        if not line.swallowing:
            for twin in self._lines:
                if twin.connection == line.connection:
                    twin.writer.close()

    async def _close(self) -> None:
        if self._server is not None:
            self._server.close()
        for line in self._lines:
            line.swallowing = False
            line.writer.transport.abort()
        if self._pumps:
            await asyncio.wait(self._pumps)
