"""An answer ends after its request, whoever reads the request to its end."""

import asyncio
from typing import Any

import pytest

from services.streams import after_the_request

MORE = {"type": "http.request", "body": b"x", "more_body": True}
LAST = {"type": "http.request", "body": b"", "more_body": False}
GONE = {"type": "http.disconnect"}
END = {"type": "http.response.body", "body": b"", "more_body": False}


class Line:
    """Both ends of one request."""

    def __init__(self) -> None:
        self.coming: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.told: list[dict[str, Any]] = []

    async def send(self, message: dict[str, Any]) -> None:
        self.told.append(message)


def answering(line: Line, *, reads: bool) -> asyncio.Task[None]:
    async def application(_scope: Any, receive: Any, send: Any) -> None:
        reading = asyncio.ensure_future(receive()) if reads else None
        await send({"type": "http.response.body", "body": b"part", "more_body": True})
        await send(END)
        if reading is not None:
            reading.cancel()

    served = after_the_request(application)
    return asyncio.ensure_future(served({"type": "http"}, line.coming.get, line.send))


@pytest.mark.parametrize("reads", [False, True])
@pytest.mark.parametrize("last", [LAST, GONE])
async def test_the_end_waits_for_the_end_of_the_request(reads: bool, last: dict[str, Any]) -> None:
    line = Line()
    task = answering(line, reads=reads)
    for message in (MORE, MORE, MORE):
        await asyncio.sleep(0.01)
        assert [each["body"] for each in line.told] == [b"part"]
        line.coming.put_nowait(message)
    line.coming.put_nowait(last)
    await asyncio.wait_for(task, 1)
    assert line.told[-1] == END


async def test_a_request_that_is_over_holds_up_nothing() -> None:
    line = Line()
    line.coming.put_nowait(LAST)

    async def application(_scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send(END)

    await after_the_request(application)({"type": "http"}, line.coming.get, line.send)
    assert line.told == [END]
