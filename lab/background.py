"""A call that waits for its answer in a thread of its own, while the caller watches what happens meanwhile.

Rule: the thread never outlives the program: where nobody waits for it any more, it is dropped.
"""

import contextlib
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Background(Generic[Value]):
    """Starts `call` at once; `done` may be asked at any time, `result` once it is true."""

    def __init__(self, call: Callable[[], Value]) -> None:
        self._call = call
        self._values: list[Value] = []
        self._errors: list[Exception] = []
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    @property
    def done(self) -> bool:
        return not self._thread.is_alive()

    def result(self, wait_s: float) -> Value:
        """The call's value, or its error raised here; TimeoutError where it takes longer than `wait_s`."""
        self._thread.join(wait_s)
        if self._errors:
            raise self._errors[0]
        if not self._values:
            raise TimeoutError(f"no answer within {wait_s:g} s")
        return self._values[0]

    def _run(self) -> None:
        try:
            self._values.append(self._call())
        except Exception as error:  # noqa: BLE001 - handed to whoever asks for the result
            self._errors.append(error)


@contextlib.contextmanager
def crew(at_once: int) -> Iterator[ThreadPoolExecutor]:
    """So many threads for many calls. Where the caller breaks off, what has not begun is dropped."""
    with ThreadPoolExecutor(at_once) as pool:
        try:
            yield pool
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
