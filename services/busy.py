"""How many steps of this worker are in flight, so that it can leave when there are none.

Rule: a count and an event, in one event loop.
Must not know: what a step does.
"""

import asyncio
from typing import Self


class Busy:
    """Entered by each step while it runs."""

    def __init__(self) -> None:
        self.steps = 0
        self._idle = asyncio.Event()
        self._idle.set()

    def __enter__(self) -> Self:
        self.steps += 1
        self._idle.clear()
        return self

    def __exit__(self, *_: object) -> None:
        self.steps -= 1
        if self.steps == 0:
            self._idle.set()

    async def idle(self, within_s: float) -> bool:
        """Waits until nothing is in flight; False where that took longer."""
        try:
            async with asyncio.timeout(within_s):
                await self._idle.wait()
        except TimeoutError:
            return False
        return True
