"""Code tools: threads, deadlines, exceptions and values."""

import asyncio
import sys
import threading
import time
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import httpx
import pytest

from tests.tools.peer import wire_to
from tools import NeverLeft, Refused
from tools.code import CodePool, Job, meaning
from tools.effect import Effect
from tools.outcome import Answer, Done, NotSent, Rejected, Unknown
from tools.request import Request, post
from tools.tool import Tool, tool


def job(work: Callable[[], object], *, changes: bool = True, deadline_s: float = 5) -> Job:
    return Job(work, changes, deadline_s, lambda: None)


async def run(work: Callable[[], object], *, changes: bool = True, deadline_s: float = 5) -> Answer:
    return await CodePool(4, 1000).call(job(work, changes=changes, deadline_s=deadline_s))


class SuspendedError(BaseException):
    pass


def raising(error: BaseException) -> Callable[[], object]:
    def work() -> object:
        raise error

    return work


async def test_a_sync_function_runs_in_a_thread_of_its_own() -> None:
    got = await run(lambda: threading.current_thread().daemon and threading.current_thread().name)
    assert got == Done("tool")


async def test_an_async_function_runs_in_a_loop_of_its_own() -> None:
    here = asyncio.get_running_loop()

    async def work() -> bool:
        await asyncio.sleep(0)
        return asyncio.get_running_loop() is here

    assert await run(work) == Done(False)


async def test_a_value_is_made_plain_and_small() -> None:
    assert await run(lambda: {"id": "a", "sum": Decimal("1.10")}) == Done({"id": "a", "sum": "1.10"}, "a")
    got = await run(lambda: "x" * 5000)
    assert isinstance(got, Done)
    assert "ask for less" in str(got.value)


class Hostile:
    """Asking anything of it raises."""

    def __getattribute__(self, name: str) -> object:
        raise KeyboardInterrupt(name)


async def test_a_value_that_cannot_be_looked_at_is_done() -> None:
    got = await run(Hostile)
    assert isinstance(got, Done) and "Hostile" in str(got.value)


async def test_nothing_is_a_value() -> None:
    assert await run(lambda: None) == Done(None)


async def test_a_value_without_a_form_is_done_and_says_so() -> None:
    """The effect happened, so no conversion may turn it into a failure."""
    got = await run(lambda: (n for n in range(3)))
    assert isinstance(got, Done)
    assert "generator" in str(got.value)


@pytest.mark.parametrize("kind", ["blocks", "blocks in async"])
async def test_a_blocking_tool_does_not_stall_the_loop(kind: str) -> None:

    async def blocks() -> None:
        time.sleep(0.6)  # noqa: ASYNC251  that is what the tool does wrong

    work: Callable[[], object] = blocks if kind == "blocks in async" else lambda: time.sleep(0.6)
    running = asyncio.ensure_future(run(work))
    longest_s = 0.0
    while not running.done():
        begun = time.monotonic()
        await asyncio.sleep(0.005)
        longest_s = max(longest_s, time.monotonic() - begun)
    assert await running == Done(None)
    assert longest_s < 0.4


async def test_calls_queue_for_a_thread_and_do_not_fail() -> None:
    pool = CodePool(4, 1000)
    at_once: list[int] = []
    working = 0
    lock = threading.Lock()

    def work() -> None:
        nonlocal working
        with lock:
            working += 1
            at_once.append(working)
        time.sleep(0.25)
        with lock:
            working -= 1

    # The last ones begin after 0.5 s of a 0.65 s deadline and still have all of it: the wait does not count.
    got = await asyncio.gather(*(pool.call(job(work, deadline_s=0.65)) for _ in range(12)))
    assert got == [Done(None)] * 12
    assert max(at_once) == 4


async def test_past_the_deadline_it_is_unknown_and_the_late_result_is_ignored() -> None:
    ended = threading.Event()

    def work() -> str:
        time.sleep(0.3)
        ended.set()
        return "late"

    pool = CodePool(1, 1000)
    got = await pool.call(job(work, deadline_s=0.1))
    assert isinstance(got, Unknown)
    assert "0.1 s" in got.reason
    # The hung call keeps the only thread, so the next one has not begun by its own deadline.
    assert isinstance(await pool.call(job(lambda: "next", deadline_s=0.05)), NotSent)
    assert await asyncio.to_thread(ended.wait, 2)
    assert await pool.call(job(lambda: "next", deadline_s=1)) == Done("next")


async def test_an_async_tool_is_cancelled_at_its_deadline() -> None:
    seen = threading.Event()

    async def work() -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            seen.set()
            raise

    assert isinstance(await run(work, deadline_s=0.1), Unknown)
    assert await asyncio.to_thread(seen.wait, 2)


async def test_a_cancelled_caller_leaves_the_thread_to_end() -> None:
    pool = CodePool(1, 1000)
    begun = threading.Event()

    def work() -> None:
        begun.set()
        time.sleep(0.2)
        raise ValueError

    running = asyncio.ensure_future(pool.call(job(work)))
    assert await asyncio.to_thread(begun.wait, 2)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert await pool.call(job(lambda: "next", deadline_s=2)) == Done("next")


async def test_the_hook_is_asked_in_the_thread_just_before_the_work() -> None:
    order: list[tuple[str, str]] = []

    def asked() -> None:
        order.append(("asked", threading.current_thread().name))

    await CodePool(1, 1000).call(Job(lambda: order.append(("worked", threading.current_thread().name)), True, 1, asked))
    assert order == [("asked", "tool"), ("worked", "tool")]


async def test_a_sentence_of_the_hook_keeps_it_from_beginning() -> None:
    got = await CodePool(1, 1000).call(Job(lambda: pytest.fail("begun"), True, 1, lambda: "too late"))
    assert got == NotSent("too late")


@pytest.mark.parametrize(
    "error, answer",
    [
        (Refused("no money"), Rejected("no money")),
        (Refused(), Rejected("Refused")),
        (NeverLeft("no route"), NotSent("NeverLeft: no route")),
        (ValueError("no"), Unknown("ValueError: no")),
        (ValueError(), Unknown("ValueError")),
        (TimeoutError(), Unknown("TimeoutError")),
        (httpx.ConnectError("refused"), Unknown("ConnectError: refused")),
        (SystemExit(1), Unknown("SystemExit: 1")),
        (asyncio.CancelledError(), Unknown("CancelledError")),
        (StopIteration(), Unknown("StopIteration")),
        (KeyboardInterrupt(), Unknown("KeyboardInterrupt")),
        (GeneratorExit(), Unknown("GeneratorExit")),
        (SuspendedError("own"), Unknown("SuspendedError: own")),
        (BaseExceptionGroup("several", [SuspendedError()]), Unknown("BaseExceptionGroup: several (1 sub-exception)")),
    ],
    ids=repr,
)
async def test_an_exception_after_a_possible_effect_is_a_doubt(error: BaseException, answer: Answer) -> None:
    assert await run(raising(error)) == answer


@pytest.mark.parametrize(
    "error, answer",
    [
        (Refused("no such order"), Rejected("no such order")),
        (ValueError("no"), Rejected("ValueError: no")),
        (KeyError(), Rejected("KeyError")),
        (FileNotFoundError(2, "gone"), Rejected("FileNotFoundError: [Errno 2] gone")),
        (RecursionError("deep"), Rejected("RecursionError: deep")),
        (TimeoutError("late"), Unknown("TimeoutError: late")),
        (ConnectionResetError("cut"), Unknown("ConnectionResetError: cut")),
        (httpx.ReadTimeout("late"), Unknown("ReadTimeout: late")),
        (httpx.ConnectError("refused"), NotSent("ConnectError: refused")),
        (NeverLeft("busy"), NotSent("NeverLeft: busy")),
    ],
    ids=repr,
)
async def test_an_exception_of_a_reader_is_its_answer_unless_it_may_pass(error: BaseException, answer: Answer) -> None:
    assert await run(raising(error), changes=False) == answer


def test_words_of_a_refusal_are_cleaned_and_cut() -> None:
    got = meaning(Refused("\ud83d\x00" + "x" * 5000), changes=True)
    assert isinstance(got, Rejected)
    assert len(got.reason.encode()) <= 1000
    got.reason.encode()


def test_a_hung_tool_does_not_keep_the_process() -> None:
    import subprocess

    code = (
        "import asyncio, time\n"
        "from tools.code import CodePool, Job\n"
        "print(asyncio.run(CodePool(1, 1000).call(Job(lambda: time.sleep(60), True, 0.1, lambda: None))).kind)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=10, check=True)
    assert (done.stdout, done.stderr) == ("unknown\n", "")


def made(effect: Effect, **options: Any) -> Tool:
    @tool(effect=effect, **options)
    def book(key: str, seats: int, when: str = "now") -> dict[str, object]:
        """Book seats."""
        return {"id": f"{key}-{seats}-{when}"}

    return book


async def test_a_code_tool_gets_its_key_and_its_arguments() -> None:
    book = made(Effect.KEYED, key_lifetime_s=60)
    arguments = book.check({"seats": 2})
    assert arguments == {"seats": 2, "when": "now"}
    request = book.prepare("k1", arguments)
    assert (request.method, request.path, request.body) == ("CALL", "book", b'{"seats":2,"when":"now"}')
    async with wire_to("http://127.0.0.1:1") as wire:
        assert await book.send(wire, "k1", request) == Done({"id": "k1-2-now"}, "k1-2-now")
        assert isinstance(await book.send(wire, "k1", request, lambda: "too late"), NotSent)


async def test_a_tool_that_was_code_does_not_claim_to_have_sent() -> None:
    @tool(effect=Effect.KEYED, key_lifetime_s=60)
    def book(key: str, seats: int, when: str = "now") -> Request:
        """Book seats."""
        return post("/seats", {"seats": seats, "when": when, "reference": key})

    async with wire_to("http://127.0.0.1:1") as wire:
        got = await book.send(wire, "k1", made(Effect.KEYED, key_lifetime_s=60).prepare("k1", {"seats": 2}))
    assert isinstance(got, NotSent)
    assert got.last


async def test_arguments_of_another_version_do_not_begin() -> None:
    book = made(Effect.KEYED, key_lifetime_s=60)

    @tool(effect=Effect.READ)
    def other(name: str) -> str:
        """Something else."""
        return name

    async with wire_to("http://127.0.0.1:1") as wire:
        got = await book.send(wire, "k1", other.prepare("", {"name": "x"}))
    assert isinstance(got, NotSent)
    assert got.last
