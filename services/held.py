"""What a caller is told where something that is kept cannot be read.

Rule: who works is held until it can be read, who asks is told at once: 503 and the sentence, and nothing has been done.
Must not know: what is kept, why it cannot be read.
"""

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from restate import TerminalError

from services.vault import Unreadable

T = TypeVar("T")
P = ParamSpec("P")


def told(act: Callable[P, Awaitable[T]]) -> Callable[P, Awaitable[T]]:
    """`act`, which tells its caller at once what cannot be read: the call would otherwise wait until it can."""

    @wraps(act)
    async def telling(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return await act(*args, **kwargs)
        except Unreadable as error:
            raise TerminalError(str(error), 503) from None

    return telling
