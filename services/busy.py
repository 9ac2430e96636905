"""What this worker has in flight, and whether it is leaving.

Rule: counts and events, in one event loop. Once the worker leaves, no further step begins.
Must not know: what a step does.
"""

import asyncio
from typing import Self


class Busy:
    """Entered by each step while it runs."""

    def __init__(self) -> None:
        self.steps = 0
        self.leaving = False
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

    def leave(self) -> None:
        """From now on nothing begins."""
        self.leaving = True

    async def may_begin(self) -> None:
        """Returns at once, or never where the worker leaves: the process ends first, and the next worker does the
        step. A failure instead would count as one, and Restate would send the run here again."""
        if self.leaving:
            await asyncio.get_running_loop().create_future()

    async def idle(self, within_s: float) -> bool:
        """Waits until nothing is in flight; False where that took longer."""
        try:
            async with asyncio.timeout(within_s):
                await self._idle.wait()
        except TimeoutError:
            return False
        return True
