"""Tools that are Python code: each call has a thread of its own, and only so many are there at once.

Rule: a blocking tool never stalls the worker. A call that waits for a thread has not begun. One that has begun and has
not ended by its deadline is Unknown: its late result is ignored, and its thread stays taken until it ends. The
deadline counts from the beginning, and the wait is bounded by the same time again. Threads are daemons: a tool that
hangs keeps no worker from leaving. Whatever is raised in such a thread is the tool's own doing and stays in it: what is
no Exception would end the worker, or a step without a result. An exception of a tool that changes something says
nothing about the effect, unless the tool says it: Refused or NeverLeft.
Must not know: HTTP, Restate, keys.
"""

import asyncio
import contextvars
import threading
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tools import failure
from tools.failure import Left
from tools.outcome import Answer, Done, NotSent, Rejected, Unknown
from tools.plain import describe, plain, text
from tools.size import cap, shorten
from tools.status import receiver_id

# Of a tool's own words that go on to the model.
REASON_BYTES_MAX = 1_000


class Refused(Exception):
    """Raised by a code tool: nothing happened, and the same call would be refused again. The model is told the text."""


class NeverLeft(Exception):
    """Raised by a code tool: nothing happened, provably, and the same call may be tried again (no connection, say).

    Only the tool can know that. An httpx.ConnectError, say, proves nothing about what the tool did before it.
    """


@dataclass(frozen=True, slots=True)
class Job:
    """One call. `may_leave` is asked in the call's thread, immediately before the tool's code begins."""

    work: Callable[[], object]
    changes: bool
    deadline_s: float
    may_leave: Callable[[], str | None]


class CodePool:
    """Runs code tools, at most `threads` at once; further ones wait in the order of their coming."""

    def __init__(self, threads: int, value_bytes: int) -> None:
        self._threads = threads
        self._free = asyncio.Semaphore(threads)
        self._value_bytes = value_bytes

    async def call(self, job: Job) -> Answer:
        """One call to one answer."""
        try:
            async with asyncio.timeout(job.deadline_s):
                await self._free.acquire()
        except TimeoutError:
            return NotSent(f"all {self._threads} threads for tools were busy for {job.deadline_s:g} s")
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._start(job, future)
        try:
            done, _ = await asyncio.wait({future}, timeout=job.deadline_s)
            if not done:
                return Unknown(f"the tool has not ended after {job.deadline_s:g} s; what it still does is not seen")
            return future.result()
        finally:
            future.cancel()

    def _start(self, job: Job, future: asyncio.Future[Answer]) -> None:
        loop = asyncio.get_running_loop()
        context = contextvars.copy_context()

        def deliver(answer: Answer) -> None:
            self._free.release()
            if not future.done():  # otherwise nobody waits any more
                future.set_result(answer)

        def thread() -> None:
            answer = context.run(self._run, job)
            try:
                loop.call_soon_threadsafe(deliver, answer)
            except RuntimeError:
                return  # the loop is closed, and nobody is left who could be told

        threading.Thread(target=thread, name="tool", daemon=True).start()

    def _run(self, job: Job) -> Answer:
        if (sentence := job.may_leave()) is not None:
            return NotSent(sentence)
        try:
            result = _finished(job.work(), job.deadline_s)
        except BaseException as error:  # noqa: BLE001  whatever a tool's author did
            return meaning(error, changes=job.changes)
        # From here on the effect is made: no value, however odd, turns that into a failure.
        value = plain(result)
        return Done(cap(value, self._value_bytes), receiver_id(value))


def _finished(value: object, deadline_s: float) -> object:
    """An async tool runs in an event loop of its own in this thread, and is cancelled at the deadline."""
    # Not isinstance: it asks the value itself, which may raise.
    if not issubclass(type(value), types.CoroutineType):
        return value

    coroutine: Any = value

    async def bounded() -> object:
        async with asyncio.timeout(deadline_s):
            return await coroutine

    return asyncio.run(bounded())


def meaning(error: BaseException, *, changes: bool) -> Answer:
    """What an exception of a code tool says.

    A tool that changes nothing may be asked again after a failure of the network. Any other exception of it
    (ValueError, KeyError, TypeError and the like) is taken for a mistake that would come again, and is its answer.
    """
    words = describe(error)
    match error:
        case Refused():
            return Rejected(shorten(text(str(error)).strip(), REASON_BYTES_MAX) or words)
        case NeverLeft():
            return NotSent(words)
        case _ if changes:
            return Unknown(words)
        case Exception() if failure.left(error) is Left.NEVER:
            return NotSent(words)
        case _ if isinstance(error, failure.PASSING):
            return Unknown(words)
        case _:
            return Rejected(words)
