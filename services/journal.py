"""The steps of a run: the only caller of `ctx.run_typed`.

Rule: one step, one effect, one plain value. A step never raises for an expected failure.

A journal can be handed to another invocation: an operator restarts a run from a prefix of it. Replayed state reads are
then old, so a step that would run for the first time in an invocation that is not the journal's *home* does nothing
and records `Stale`; the handler reads the state afresh, makes the new invocation the home, and goes on. That is why no
effect that the ledger knows can leave a second time from any cut of a journal. The home is carried in recorded results
only.
Must not know: models, tools, the ledger.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Generic, Literal, TypeVar

from restate import Context, RestateDurableFuture, RunOptions

from services.busy import Busy
from services.codec import codec
from services.encrypted import Encrypted
from services.outgoing import at_once
from services.vault import in_use
from services.watch import About, Stepped, Watch, outcome_of

T = TypeVar("T")
NOTHING = About()
Kind = Any
"""A dataclass. The type checker has no word for a class that is also hashable."""


@dataclass(frozen=True, slots=True)
class Stale:
    """The step was reached first in `invocation`, which is not the one that the journal began in. It did nothing."""

    invocation: str
    kind: Literal["stale"] = "stale"


class Restarted(Exception):
    """The run goes on in another invocation: read the state afresh before anything leaves."""


@dataclass(frozen=True, slots=True)
class Step(Generic[T]):
    """A step that has been created; its result is taken with `Journal.result`."""

    name: str
    future: RestateDurableFuture[Any]


async def recorded_key(ctx: Context) -> str:
    """Name of the key that a short handler encrypts under; a step of its own, so that a replay after a change of keys
    writes the same."""

    return await recorded(ctx, "key", lambda: in_use().newest)


async def recorded(ctx: Context, name: str, say: Callable[[], str]) -> str:
    """What `say` said when the step was first run, also where another version replays it."""

    async def first() -> str:
        return say()

    options: RunOptions[Any] = RunOptions(serde=codec(str))
    text: str = await ctx.run_typed(name, first, options)
    return text


class Journal:
    """The journal of one attempt at a run. `home` is the invocation that owns it, None until the first step has
    told."""

    def __init__(self, ctx: Context, run_id: str, busy: Busy, watch: Watch) -> None:
        self._ctx = ctx
        self._run_id = run_id
        self._busy = busy
        self._watch = watch
        request = ctx.request()
        self.invocation = request.id
        self._trace = request.attempt_headers.get("traceparent")
        self.home: str | None = None
        self.key = in_use().newest
        """Name of the key that what is kept is encrypted under: the newest, until the first step has told which."""
        self._ran_here: set[str] = set()

    def step(
        self,
        name: str,
        kinds: tuple[Kind, ...],
        action: Callable[[], Awaitable[T]],
        about: About = NOTHING,
        *,
        while_leaving: bool = False,
    ) -> Step[T]:
        """Create a step whose result is one of `kinds`, which are dataclasses told apart by `kind`.

        Steps that are created before one of them is awaited run at the same time; the journal keeps the order of
        creation. `while_leaving`: the step looks itself whether the worker leaves, and has a result for that.
        """
        home, invocation = self.home, self.invocation

        async def attempt() -> T | Stale:
            if home is not None and home != invocation:
                return Stale(invocation)
            if not while_leaving:
                await self._busy.may_begin()
            self._ran_here.add(name)
            with self._busy:
                value = await self._watched(name, action, about)
            at_once()
            return value

        options: RunOptions[Any] = RunOptions(serde=Encrypted(codec(*kinds, Stale), f"{self._run_id}/{name}", self.key))
        return Step(name, self._ctx.run_typed(name, attempt, options))

    async def result(self, step: Step[T]) -> T:
        """The step's value; raises `Restarted` where the step found itself in another invocation."""
        value = await step.future
        if isinstance(value, Stale):
            self.home = value.invocation
            raise Restarted(value.invocation)
        return value  # type: ignore[no-any-return]

    async def run(
        self, name: str, kinds: tuple[Kind, ...], action: Callable[[], Awaitable[T]], about: About = NOTHING
    ) -> T:
        return await self.result(self.step(name, kinds, action, about))

    def ran_here(self, name: str) -> bool:
        """True where this very attempt executed the step, so that no earlier attempt can have gone past it."""
        return name in self._ran_here

    async def _watched(self, name: str, action: Callable[[], Awaitable[T]], about: About) -> T:
        value, outcome, begun = None, "raised", perf_counter()
        try:
            value = await action()
            outcome = outcome_of(value)
        finally:
            kind = about.kind or name.partition(" ")[0]
            seconds = perf_counter() - begun
            step = Stepped(self._run_id, self.invocation, name, kind, about, outcome, seconds, self._trace)
            self._watch.stepped(step, value)
        return value
