"""Gates without HTTP: who is held, in which order, until when."""

import asyncio

from mocks.gates import Gates


async def nothing_to_settle() -> None:
    """There is no store here."""


async def held_at(gates: Gates, effect: str, point: str = "arrived") -> "asyncio.Task[None]":
    assert point in ("arrived", "applied")
    task = asyncio.create_task(gates.pass_through(effect, "arrived" if point == "arrived" else "applied"))
    await asyncio.sleep(0)
    return task


async def test_without_a_gate_everything_passes() -> None:
    assert (await held_at(Gates(nothing_to_settle), "charge")).done()


async def test_a_gate_holds_its_effect_at_its_point_only() -> None:
    gates = Gates(nothing_to_settle)
    gate = gates.arm("charge", "applied", 1)
    assert (await held_at(gates, "refund", "applied")).done()
    assert (await held_at(gates, "charge", "arrived")).done()
    held = await held_at(gates, "charge", "applied")
    assert not held.done()
    assert gate.row() == {"id": gate.id, "held": 1, "released": False}
    gates.release(gate)
    await asyncio.wait_for(held, 1)
    assert gate.row()["released"]


async def test_a_gate_holds_as_many_as_it_was_told_and_lets_all_go() -> None:
    gates = Gates(nothing_to_settle)
    gate = gates.arm("*", "arrived", 2)
    tasks = [await held_at(gates, effect) for effect in ("charge", "refund", "email")]
    assert [task.done() for task in tasks] == [False, False, True]
    gates.release(gate)
    await asyncio.wait_for(asyncio.gather(*tasks), 1)


async def test_a_released_gate_holds_nothing_more() -> None:
    gates = Gates(nothing_to_settle)
    gates.release(gates.arm("charge", "arrived", 5))
    assert (await held_at(gates, "charge")).done()


async def test_two_gates_on_one_point_hold_one_request_each() -> None:
    gates = Gates(nothing_to_settle)
    first, second = gates.arm("charge", "arrived", 1), gates.arm("charge", "arrived", 1)
    one, two = await held_at(gates, "charge"), await held_at(gates, "charge")
    gates.release(second)
    await asyncio.wait_for(two, 1)
    assert not one.done()
    gates.release(first)
    await asyncio.wait_for(one, 1)


async def test_a_request_counts_as_held_only_when_its_row_is_on_disk() -> None:
    on_disk = asyncio.Event()

    async def settled() -> None:
        await on_disk.wait()

    gates = Gates(settled)
    gate = gates.arm("charge", "arrived", 1)
    held = await held_at(gates, "charge")
    assert gate.row()["held"] == 0
    assert (await held_at(gates, "charge")).done()
    on_disk.set()
    await asyncio.wait_for(gate.reached.wait(), 1)
    assert gate.row()["held"] == 1
    gates.release(gate)
    await asyncio.wait_for(held, 1)
