"""What a run writes in one moment leaves in one frame, in order, and nothing is lost."""

import asyncio
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.outgoing import FRAME_BYTES, HERE, PASSES, Outgoing, at_once


class Line:
    """Takes messages, each after as many passes of the loop as it is told."""

    def __init__(self, slow: int = 0) -> None:
        self.taken: list[dict[str, Any]] = []
        self.slow = slow

    async def send(self, message: dict[str, Any]) -> None:
        for _ in range(self.slow):
            await asyncio.sleep(0)
        self.taken.append(message)

    @property
    def bodies(self) -> list[bytes]:
        return [message["body"] for message in self.taken if message["type"] == "http.response.body"]


def part(body: bytes, *, more: bool = True) -> dict[str, Any]:
    return {"type": "http.response.body", "body": body, "more_body": more}


async def passes(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def test_what_is_written_in_one_moment_leaves_together() -> None:
    line = Line()
    outgoing = Outgoing(line.send)
    await outgoing.send(part(b"row "))
    await passes(PASSES - 2)
    await outgoing.send(part(b"start"))
    assert line.bodies == []
    await passes(4)
    assert line.bodies == [b"row start"]


async def test_what_needs_waiting_is_not_waited_for() -> None:
    line = Line()
    outgoing = Outgoing(line.send)
    await outgoing.send(part(b"start"))
    await passes(PASSES + 2)
    assert line.bodies == [b"start"]
    await outgoing.send(part(b"result"))
    await passes(PASSES + 2)
    assert line.bodies == [b"start", b"result"]


async def test_a_result_takes_its_start_along_and_is_not_held() -> None:
    line = Line()
    outgoing = Outgoing(line.send)
    HERE.set(outgoing)
    await outgoing.send(part(b"start "))
    at_once()
    await outgoing.send(part(b"applied"))
    assert line.bodies == [b"start applied"]
    await outgoing.send(part(b"next"))
    assert line.bodies == [b"start applied"]
    await passes(PASSES + 2)
    assert line.bodies == [b"start applied", b"next"]


async def test_the_end_comes_after_everything_and_at_once() -> None:
    line = Line(slow=3)
    outgoing = Outgoing(line.send)
    await outgoing.send({"type": "http.response.start", "status": 200, "headers": []})
    await outgoing.send(part(b"result"))
    await outgoing.send(part(b"", more=False))
    assert [message["type"] for message in line.taken] == ["http.response.start", *["http.response.body"] * 2]
    assert line.bodies == [b"result", b""]


async def test_more_than_a_frame_is_not_held_and_feels_a_full_line() -> None:
    line = Line(slow=20)
    outgoing = Outgoing(line.send)
    await outgoing.send(part(b"x" * FRAME_BYTES))
    assert line.bodies == [b"x" * FRAME_BYTES]


async def test_a_line_that_breaks_is_told_to_who_sends() -> None:
    async def broken(_: dict[str, Any]) -> None:
        raise ConnectionError("gone")

    outgoing = Outgoing(broken)
    with pytest.raises(ConnectionError):
        await outgoing.send(part(b"x" * FRAME_BYTES))


async def test_after_a_part_that_did_not_leave_whole_nothing_follows() -> None:
    line = Line(slow=50)
    outgoing = Outgoing(line.send)
    sending = asyncio.ensure_future(outgoing.send(part(b"x" * FRAME_BYTES)))
    await passes(3)
    sending.cancel()
    await asyncio.wait({sending})
    with pytest.raises(ConnectionError, match="nothing may follow"):
        await outgoing.send(part(b"", more=False))
    assert line.taken == []


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 2 * PASSES), st.sampled_from([1, 10, FRAME_BYTES, 3 * FRAME_BYTES]), st.booleans()),
        max_size=12,
    ),
    st.integers(0, 9),
)
def test_nothing_is_lost_or_overtaken(written: list[tuple[int, int, bool]], slow: int) -> None:
    """Whatever the pace of both sides."""

    async def play() -> bytes:
        line = Line(slow)
        outgoing = Outgoing(line.send)
        for number, (pause, size, hurried) in enumerate(written):
            await passes(pause)
            outgoing.hurried = hurried
            await outgoing.send(part(bytes([number]) * size))
        await outgoing.send(part(b"", more=False))
        assert line.taken[-1] == part(b"", more=False)
        return b"".join(line.bodies)

    assert asyncio.run(play()) == b"".join(bytes([number]) * size for number, (_, size, _) in enumerate(written))
