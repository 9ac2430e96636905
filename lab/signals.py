"""Ctrl-C, SIGTERM and a closed terminal end the lab in order, never in the middle of starting or stopping a part.

Rule: inside `shielded` a signal is kept, and raised when the block ends. Everywhere else it arrives at once as
Interrupted, so that `finally` blocks tear down what was started. While tearing down nothing interrupts: the teardown is
bounded by its own deadlines. Signals reach the main thread only, so in any other thread `shielded` has nothing to do.
"""

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(BaseException):
    """A person or a program asked the lab to end. Not an Exception: nothing may take it for a failure and go on."""

    def __init__(self, number: int) -> None:
        super().__init__(f"ended by {signal.Signals(number).name}")
        self.number = number

    @property
    def exit_code(self) -> int:
        """What a shell reports for a program that this signal ended."""
        return 128 + self.number


class _Inbox:
    def __init__(self) -> None:
        self.depth = 0
        self.kept: int | None = None

    def receive(self, number: int, _frame: FrameType | None) -> None:
        if self.depth:
            self.kept = self.kept or number
        else:
            raise Interrupted(number)

    def deliver(self) -> None:
        if self.kept is not None and not self.depth:
            number, self.kept = self.kept, None
            raise Interrupted(number)


_inbox = _Inbox()


def listen() -> None:
    """Install the handlers; once, in the main thread of a lab command."""
    for number in _SIGNALS:
        signal.signal(number, _inbox.receive)


@contextlib.contextmanager
def shielded(*, deliver: bool = True) -> Iterator[None]:
    """Keep signals until the block ends; then raise what came, or drop it where the block was a teardown."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _inbox.depth += 1
    try:
        yield
    finally:
        _inbox.depth -= 1
        if not deliver and not _inbox.depth:
            _inbox.kept = None
    if deliver:
        _inbox.deliver()
