"""How many effects are out at once: few while the loop is behind, any number while it keeps up."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from services.doorway import BEHIND_S, Doorway, behind

FEW = 3


class Effects:
    """Counts who is out. Each stays for `passes` passes of the loop."""

    def __init__(self, doorway: Doorway, passes: int) -> None:
        self.doorway, self.passes = doorway, passes
        self.out = self.most = self.done = 0

    async def one(self) -> None:
        async with self.doorway:
            self.out += 1
            self.most = max(self.most, self.out)
            for _ in range(self.passes):
                await asyncio.sleep(0)
            self.out -= 1
            self.done += 1


@asynccontextmanager
async def busy_loop() -> AsyncIterator[None]:
    """Something else keeps each pass of the loop longer than it may be."""

    async def work() -> None:
        while True:
            time.sleep(2 * BEHIND_S)  # noqa: ASYNC251  it is to hold up the loop
            await asyncio.sleep(0)

    task = asyncio.get_running_loop().create_task(work())
    await asyncio.sleep(0)
    try:
        yield
    finally:
        task.cancel()


async def all_of(effects: Effects, count: int) -> None:
    async with asyncio.timeout(20):
        await asyncio.gather(*(effects.one() for _ in range(count)))


async def test_a_loop_that_is_behind_lets_few_out_and_forgets_nobody() -> None:
    effects = Effects(Doorway(FEW), passes=5)
    async with busy_loop():
        assert await behind()
        await all_of(effects, 30)
    assert (effects.most, effects.done, effects.out) == (FEW, 30, 0)


async def test_a_loop_that_keeps_up_holds_nobody_back() -> None:
    effects = Effects(Doorway(FEW), passes=200)
    await all_of(effects, 30)
    assert effects.most > FEW and effects.done == 30


async def test_who_waits_goes_as_soon_as_the_loop_keeps_up() -> None:
    doorway = Doorway(1)
    stay = asyncio.Event()

    async def first() -> None:
        async with doorway:
            await stay.wait()

    async with busy_loop():
        task = asyncio.get_running_loop().create_task(first())
        second = asyncio.get_running_loop().create_task(Effects(doorway, passes=1).one())
        await asyncio.sleep(20 * BEHIND_S)
        assert not second.done()
    async with asyncio.timeout(20):
        await second
    assert not task.done()
    stay.set()
    await task


async def test_one_that_is_cancelled_while_it_waits_holds_up_nobody() -> None:
    effects = Effects(Doorway(FEW), passes=5)
    async with busy_loop():
        tasks = [asyncio.get_running_loop().create_task(effects.one()) for _ in range(12)]
        await asyncio.sleep(0)
        for task in tasks[FEW + 1 : FEW + 4]:
            task.cancel()
        async with asyncio.timeout(20):
            await asyncio.gather(*tasks, return_exceptions=True)
        await all_of(effects, 10)
    assert effects.out == 0 and effects.done >= 12 + 10 - 3


async def test_an_effect_that_raises_makes_room() -> None:
    doorway = Doorway(1)
    with pytest.raises(RuntimeError):
        async with doorway:
            raise RuntimeError
    async with busy_loop():
        await all_of(Effects(doorway, passes=1), 3)
