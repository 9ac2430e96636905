"""What an operator sees of a worker: a log line and counts for each step, and for how each run comes along.

Rule: told once. A step tells while it runs, which a replay does not do; of a run, only what is new is told, never what
is replayed. No arguments, bodies or texts above the level debug, and nothing is made for a level that is off.
Must not know: what a step does, how a run goes on.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import structlog
from restate.server_context import restate_context_is_replaying

from services.messages import Intent, RunEnd, RunState

QUIET = frozenset({"look"})
"""Kinds of steps that come again and again and are of no run."""


@dataclass(frozen=True, slots=True)
class About:
    """What a step is about, for those who watch. `attempt` counts from 1 within the run, `kind` names the step's kind
    where its name does not begin with it, `arguments` are shown at debug only."""

    turn: int | None = None
    tool: str | None = None
    keys: tuple[str, ...] = ()
    attempt: int = 1
    kind: str | None = None
    arguments: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Stepped:
    """A step that has run here: its kind, what it yielded, how long it took."""

    run_id: str
    invocation: str
    name: str
    kind: str
    about: About
    outcome: str
    seconds: float
    trace: str | None = None
    """What Restate hands on of the trace that this belongs to."""


class Counts(Protocol):
    """Who counts what is seen."""

    def stepped(self, step: Stepped) -> None: ...
    def settled(self, tool: str, effect: str, state: str) -> None: ...
    def ended(self, state: str) -> None: ...
    def standing(self, state: str, more: int) -> None: ...


class Steps(Protocol):
    """Who is told of steps only."""

    def stepped(self, step: Stepped) -> None: ...


class Watch:
    """One for a worker. Without `counts` and `spans` it only logs."""

    def __init__(self, counts: Counts | None = None, spans: Steps | None = None) -> None:
        # Bound here and not with each line: a line is written for every step.
        self._log: Any = structlog.get_logger("pawl.run").bind()
        self._texts: bool = self._log.is_enabled_for(logging.DEBUG)
        self._counts = counts
        self._spans = spans
        self._states: dict[str, RunState] = {}
        """Of the runs that have not ended, as last seen here."""

    def stepped(self, step: Stepped, value: object) -> None:
        """A step has run to its end here. `value` is what it yielded, None where it raised."""
        about, keys = step.about, step.about.keys
        if step.kind == "begin":
            self._log.info("run started", run_id=step.run_id, invocation=step.invocation)
        usual = self._log.debug if step.kind in QUIET else self._log.info
        tell = usual if value is not None else self._log.error
        tell(
            "step",
            run_id=step.run_id,
            turn=about.turn,
            step=step.name,
            tool=about.tool,
            key=keys[0] if len(keys) == 1 else list(keys) or None,
            attempt=about.attempt,
            outcome=step.outcome,
            ms=round(1000 * step.seconds, 1),
        )
        if self._texts:
            self._log.debug("texts", run_id=step.run_id, step=step.name, arguments=about.arguments, value=value)
        if self._counts is not None:
            self._counts.stepped(step)
        if self._spans is not None:
            self._spans.stepped(step)

    def settled(self, intent: Intent) -> None:
        """The ledger has its last word on an intent for now."""
        if self._counts is not None and not replaying():
            self._counts.settled(intent.tool, intent.effect, intent.state.value)

    def shown(self, run_id: str, state: RunState, keys: tuple[str, ...]) -> None:
        """A run stands in another state. Also told while replayed: who waits is known from that after a restart."""
        self._stand(run_id, state)
        if state is not RunState.RUNNING and not replaying():
            self._log.info("run waits", run_id=run_id, state=state.value, keys=list(keys))

    def ended(self, run_id: str, end: RunEnd) -> None:
        self._stand(run_id, None)
        if replaying():
            return
        used = end.used
        self._log.info(
            "run ended",
            run_id=run_id,
            state=end.state.value,
            reason=end.reason,
            turns=used.turns,
            calls=used.calls,
            tokens=used.tokens,
            **{"pass": end.pass_number},
        )
        if self._counts is not None:
            self._counts.ended(end.state.value)

    def left(self, run_id: str) -> None:
        """The handler is gone, for good or until what the run waits for has come: nothing runs here any more."""
        if self._states.get(run_id) is RunState.RUNNING:
            self._stand(run_id, None)

    def _stand(self, run_id: str, state: RunState | None) -> None:
        before = self._states.pop(run_id, None)
        if state is not None:
            self._states[run_id] = state
        if self._counts is None or state is before:
            return
        if before is not None:
            self._counts.standing(before.value, -1)
        if state is not None:
            self._counts.standing(state.value, 1)

    def asked(self, what: str, run_id: str, who: str, **more: object) -> None:
        """Somebody has decided, or cancelled."""
        if not replaying():
            self._log.info(what, run_id=run_id, who=who, **more)


def replaying() -> bool:
    """Whether the handler goes over what it did before."""
    return restate_context_is_replaying.get()


def outcome_of(value: object) -> str:
    """The fixed name of what a step yielded: of an exchange, what the receiver's answer meant."""
    inner = getattr(value, "answer", None) or getattr(value, "found", None) or value
    kind = getattr(inner, "kind", type(inner).__name__)
    reason = getattr(inner, "reason", None)
    return f"{kind}: {reason.value}" if kind == "model_failed" and reason is not None else str(kind)
