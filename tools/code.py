"""Tools that are Python code: each call gets a thread of its own, and there are only so many at once.

Rule: a blocking tool never stalls the worker. A call that waits for a free thread has not begun; one that has begun and has
not ended by its deadline is Unknown, its late result is ignored and its thread stays taken until it ends. Threads are daemons,
so a tool that hangs for ever does not keep a worker from leaving.
Must not know: HTTP, Restate, keys.
"""

import asyncio
import contextvars
import inspect
import threading
import time
from collections.abc import Callable

from pydantic import JsonValue

from tools.outcome import Answer, Done, NotSent, Rejected, Unknown
from tools.plain import cap, describe, plain, shorten, text


class Refused(Exception):
    """Raised by a code tool: nothing happened, and the same call would be refused again. The text is told to the model."""


class NeverLeft(Exception):
    """Raised by a code tool: nothing happened, provably, and the same call may be tried again (no connection, say).

    Only the tool knows that: an httpx.ConnectError proves nothing about what the tool did before it.
    """


class CodePool:
    """Runs code tools, at most `threads` at once; further ones queue in the order of their coming."""

    def __init__(self, threads: int, value_bytes: int) -> None:
        self._threads = threads
        self._free = asyncio.Semaphore(threads)
        self._value_bytes = value_bytes

    async def call(
        self, work: Callable[[], object], *, changes: bool, deadline_s: float, may_leave: Callable[[], str | None]
    ) -> Answer:
        """One call to one answer. `may_leave` is asked in the thread, immediately before the tool's code begins."""
        end = time.monotonic() + deadline_s
        try:
            async with asyncio.timeout(deadline_s):
                await self._free.acquire()
        except TimeoutError:
            return NotSent(
                f"all {self._threads} threads for tools were busy for {deadline_s:g} s; the tool did not begin"
            )
        call = _Call(work, changes, end, may_leave, self._value_bytes)
        answer = call.start(self._free)
        await asyncio.wait({answer}, timeout=max(0.0, end - time.monotonic()))
        if answer.done():
            return answer.result()
        if not call.begin_at_most_once():
            return Unknown(f"the tool has not ended after {deadline_s:g} s; what it still does is not seen")
        return NotSent(f"the tool did not begin within {deadline_s:g} s")


class _Call:
    def __init__(
        self,
        work: Callable[[], object],
        changes: bool,
        end: float,
        may_leave: Callable[[], str | None],
        value_bytes: int,
    ) -> None:
        self._work = work
        self._changes = changes
        self._end = end
        self._may_leave = may_leave
        self._value_bytes = value_bytes
        self._begun = threading.Lock()

    def begin_at_most_once(self) -> bool:
        """True for the first who asks: the thread that begins, or the caller who calls it off."""
        return self._begun.acquire(blocking=False)

    def start(self, free: asyncio.Semaphore) -> asyncio.Future[Answer]:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Answer] = loop.create_future()
        context = contextvars.copy_context()

        def deliver(answer: Answer | None, error: BaseException | None) -> None:
            free.release()
            if future.cancelled():
                return
            if answer is not None:
                future.set_result(answer)
            elif error is not None:
                future.set_exception(error)

        def thread() -> None:
            answer: Answer | None = None
            failure: BaseException | None = None
            try:
                answer = context.run(self._run)
            except BaseException as error:  # carried over to the caller's task, where it is raised as it was
                failure = error
            try:
                loop.call_soon_threadsafe(deliver, answer, failure)
            except RuntimeError:
                return  # the loop has ended, and with it everybody who could be told

        threading.Thread(target=thread, name="pawl-tool", daemon=True).start()
        return future

    def _run(self) -> Answer:
        if not self.begin_at_most_once():
            return NotSent("the call was given up before the tool began")
        if (sentence := self._may_leave()) is not None:
            return NotSent(sentence)
        try:
            value = plain(_finish(self._work(), self._end))
        except Exception as error:
            return judge(error, changes=self._changes)
        return Done(cap(value, self._value_bytes), _receiver_id(value))


def _finish(value: object, end: float) -> object:
    """An async tool's coroutine runs in a loop of its own in this thread, and is cancelled at the deadline."""
    if not inspect.iscoroutine(value):
        return value

    async def bounded() -> object:
        async with asyncio.timeout(max(0.0, end - time.monotonic())):
            return await value

    return asyncio.run(bounded())


def _receiver_id(value: JsonValue) -> str | None:
    match value:
        case {"id": str(name)} if name:
            return name
    return None


def judge(error: Exception, *, changes: bool) -> Answer:
    """What an exception of a code tool means.

    A tool that changes nothing is told its error. One that changes something is believed when it says Refused or NeverLeft;
    any other exception may have come after the effect.
    """
    words = describe(error)
    match error:
        case Refused():
            return Rejected(shorten(text(str(error)).strip(), 1_000) or words)
        case NeverLeft():
            return NotSent(words)
        case TimeoutError() | ConnectionError() if not changes:
            return Unknown(words)
        case _ if not changes:
            return Rejected(words)
        case _:
            return Unknown(words)
