"""The benchmark's model and receiver as a process: answers at once, unless it is told to hold an answer.

`POST /hold {"what": "charge", "tag": "t1", "turn": -1}`: the answer to the next such request is held once its row is
made; `GET /held` gives how many are, `POST /release` lets them go. A client that has gone is not answered.

Run: python -m lab.bench.mock NAME --host 127.0.0.1 --port 7001
"""

import argparse
import asyncio
import gc
import json
import signal
import sys
from functools import partial
from typing import Any

from lab.bench.wire import Answer, Connection, Incoming
from lab.bench.world import Row, World

BACKLOG = 1024


class Mock:
    """The world, and what is held of its answers."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._holds: list[dict[str, Any]] = []
        self._held: list[tuple[asyncio.Future[Answer], Answer]] = []

    def serve(self, asked: Incoming) -> "Answer | asyncio.Future[Answer]":
        match asked.method, asked.path:
            case "POST", "/hold":
                self._holds.append(json.loads(asked.body))
                return Answer(200, b"{}")
            case "GET", "/held":
                return Answer(200, json.dumps({"held": len(self._held)}).encode())
            case "POST", "/release":
                return self._release()
            case _:
                return self._pass_on(asked)

    def _pass_on(self, asked: Incoming) -> "Answer | asyncio.Future[Answer]":
        answer, row = self._world.serve(asked)
        if row is None or not self._holds or not self._catches(row):
            return answer
        held: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._held.append((held, answer))
        return held

    def _catches(self, row: Row) -> bool:
        for hold in self._holds:
            if hold["what"] == row.what and hold["tag"] == row.tag and hold.get("turn", -1) in (-1, row.turn):
                self._holds.remove(hold)
                return True
        return False

    def _release(self) -> Answer:
        for held, answer in self._held:
            if not held.done():
                held.set_result(answer)
        self._held.clear()
        self._holds.clear()
        return Answer(200, b"{}")


async def serve(name: str, host: str, port: int) -> None:
    """Serve until told to stop."""
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    mock = Mock(World())
    server = await loop.create_server(partial(Connection, mock.serve), host, port, backlog=BACKLOG)
    sys.stdout.write(f"{name} listening on http://{host}:{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    # Rows only grow; looking through them again and again for garbage would be a latency of its own.
    gc.disable()
    await stop.wait()
    server.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=("receiver", "model"))
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--db", help="not used: nothing is kept on disk")
    given = parser.parse_args()
    asyncio.run(serve(given.name, given.host, given.port))


if __name__ == "__main__":
    main()
