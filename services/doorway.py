"""How many effects are out at once while the worker is behind with its work.

From the moment in which a receiver applies an effect until Restate has recorded it, a crash leaves a doubt: the window.
Where the event loop is behind, the answer waits in line with everything else, and most of the window is that wait. So
while it is behind only a few effects are let out, and the others wait where nothing has happened yet. A loop that keeps
up, as it does where receivers take their time, holds nobody back.

Rule: whoever waits here has sent nothing, and its send deadline goes on.
Must not know: what an effect is.
"""

import asyncio
from collections import deque
from types import TracebackType
from typing import Self

BEHIND_S = 0.001
"""The loop is behind when one pass over everything that is ready takes longer than this."""
LOOK_AGAIN_S = 0.01


class Doorway:
    """One for a worker. Entered by each send of an effect, left with its answer."""

    def __init__(self, few: int) -> None:
        self._few = few
        self._out = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._watcher: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        if self._full() and (self._waiting or await behind()) and self._full():
            place = asyncio.get_running_loop().create_future()
            self._waiting.append(place)
            if self._watcher is None or self._watcher.done():
                # Inside a step; no Restate context is near.
                self._watcher = asyncio.get_running_loop().create_task(self._watch())
            await place
        self._out += 1
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._out -= 1
        if not self._full():
            self._let_out(1)

    def _full(self) -> bool:
        return self._out >= self._few

    async def _watch(self) -> None:
        """As soon as the loop keeps up, nobody waits any more. And a place that somebody was given who then gave up is
        given again."""
        while self._waiting:
            await asyncio.sleep(LOOK_AGAIN_S)
            self._let_out(self._few - self._out if await behind() else len(self._waiting))

    def _let_out(self, count: int) -> None:
        while count > 0 and self._waiting:
            place = self._waiting.popleft()
            if not place.done():
                place.set_result(None)
                count -= 1


async def behind() -> bool:
    """Looks at how long one pass of the loop takes."""
    loop = asyncio.get_running_loop()
    began_s = loop.time()
    await asyncio.sleep(0)
    return loop.time() - began_s > BEHIND_S
