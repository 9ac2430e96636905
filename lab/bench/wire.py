"""HTTP/1.1 with as little work as it takes: requests with a Content-Length in, answers in JSON out, connections kept.

Rule: the benchmark's mock must cost a small part of what anybody costs who calls it, so this does only what the clients
of the benchmark ask for. What it does not know is refused and the connection closed.
Must not know: what is answered.
"""

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass

_END = b"\r\n\r\n"
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_KEY = re.compile(rb"\r\nidempotency-key: *([^\r]*)", re.IGNORECASE)
_EXPECT = re.compile(rb"\r\n(?:expect|transfer-encoding):", re.IGNORECASE)
_REASONS = {200: b"OK", 201: b"Created", 400: b"Bad Request", 404: b"Not Found", 411: b"Length Required"}


@dataclass(frozen=True, slots=True)
class Incoming:
    """One request. `key` is its Idempotency-Key, empty where there is none."""

    method: str
    path: str
    key: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Answer:
    """Always JSON."""

    status: int
    body: bytes
    replayed: bool = False


Serve = Callable[[Incoming], "Answer | asyncio.Future[Answer]"]


class Connection(asyncio.Protocol):
    """One client. Requests are answered in turn; a future is an answer that is being held."""

    def __init__(self, serve: Serve) -> None:
        self._serve = serve
        self._transport: asyncio.Transport | None = None
        self._rest = b""
        self._held: asyncio.Future[Answer] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, _error: Exception | None) -> None:
        self._transport = None
        if self._held is not None:
            self._held.cancel()

    def data_received(self, data: bytes) -> None:
        self._rest += data
        if self._held is None:
            self._work()

    def _work(self) -> None:
        while self._transport is not None and (end := self._rest.find(_END)) >= 0:
            head = self._rest[: end + 2]
            length = _LENGTH.search(head)
            if _EXPECT.search(head) is not None:
                self._write(Answer(411, b'{"error":{"message":"a Content-Length is needed"}}'))
                self._transport.close()
                return
            whole = end + 4 + (int(length[1]) if length else 0)
            if len(self._rest) < whole:
                return
            body, self._rest = self._rest[end + 4 : whole], self._rest[whole:]
            method, path, _ = head[: head.index(b"\r\n")].decode("latin-1").split(" ", 2)
            key = _KEY.search(head)
            answer = self._serve(Incoming(method, path, key[1].decode("latin-1") if key else "", body))
            if not isinstance(answer, Answer):
                self._held = answer
                answer.add_done_callback(self._let_go)
                return
            self._write(answer)

    def _let_go(self, held: "asyncio.Future[Answer]") -> None:
        self._held = None
        if not held.cancelled() and self._transport is not None:
            self._write(held.result())
            self._work()

    def _write(self, answer: Answer) -> None:
        assert self._transport is not None
        reason = _REASONS.get(answer.status, b"-")
        replayed = b"idempotency-replayed: true\r\n" if answer.replayed else b""
        self._transport.write(
            b"HTTP/1.1 %d %b\r\ncontent-type: application/json\r\n%bcontent-length: %d\r\n\r\n%b"
            % (answer.status, reason, replayed, len(answer.body), answer.body)
        )
