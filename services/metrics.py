"""What Prometheus reads of a worker, on a port of its own.

Rule: counts are of what this process has done since it started; what is true of a run stands in its ledger. A worker
that dies between an effect and its record has not counted it. Names of tools are the only label whose values are not
fixed here, and tools are declared.
Must not know: what a step does.
"""

from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, start_http_server

from services.busy import Busy
from services.watch import Stepped

SECONDS = (0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
"""From a step that does nothing to the longest that one model call may take."""
ENDED = ("completed", "failed", "refused", "cancelled")
OPEN = ("running", "waiting_until", "waiting_approval", "outcome_unknown")


class PortTaken(Exception):
    """The address cannot be listened on; the text says which and why."""


class Metrics:
    """Counts what the worker's `Watch` sees."""

    def __init__(self, busy: Busy) -> None:
        self.registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        self._started = Counter("pawl_runs_started", "Passes that this worker has begun.", registry=registry)
        self._ended = Counter("pawl_runs_ended", "Passes that this worker has ended.", ["state"], registry=registry)
        self._standing = Gauge(
            "pawl_runs",
            "Runs by the state in which this worker has last seen them: one that waits and that another has taken over "
            "still counts, one that was not replayed since this one started does not yet.",
            ["state"],
            registry=registry,
        )
        self._in_flight = Gauge("pawl_steps_in_flight", "Steps that run at this moment.", registry=registry)
        self._in_flight.set_function(lambda: busy.steps)
        self._steps = Counter("pawl_steps", "Steps that ran here.", ["step", "outcome"], registry=registry)
        self._seconds = Histogram(
            "pawl_step_seconds", "How long steps took.", ["step"], registry=registry, buckets=SECONDS
        )
        self._retries = Counter(
            "pawl_retries", "Steps that tried once more what had no good answer.", ["step"], registry=registry
        )
        self._effects = Counter(
            "pawl_effects",
            "Effects by the last word of the ledger on them; one that is taken up again counts again.",
            ["tool", "effect", "state"],
            registry=registry,
        )
        for state in ENDED:
            self._ended.labels(state)
        for state in OPEN:
            self._standing.labels(state)
        self._children: dict[tuple[str, ...], Any] = {}

    def stepped(self, step: Stepped) -> None:
        self._child(self._steps, step.kind, step.outcome).inc()
        self._child(self._seconds, step.kind).observe(step.seconds)
        if step.about.attempt > 1:
            self._child(self._retries, step.kind).inc()
        if step.kind == "begin":
            self._started.inc()

    def settled(self, tool: str, effect: str, state: str) -> None:
        self._child(self._effects, tool, effect, state).inc()

    def ended(self, state: str) -> None:
        self._child(self._ended, state).inc()

    def standing(self, state: str, more: int) -> None:
        self._child(self._standing, state).inc(more)

    def _child(self, metric: Any, *labels: str) -> Any:
        """`metric.labels` takes a lock and builds a tuple of texts; a look-up here is a tenth of that."""
        known = self._children.get((metric, *labels))
        if known is None:
            known = self._children[metric, *labels] = metric.labels(*labels)
        return known


def started(listen: str | None, busy: Busy) -> Metrics | None:
    """Metrics that can be read at `listen`, HOST:PORT; None where that is not set. Raises PortTaken."""
    if listen is None:
        return None
    metrics = Metrics(busy)
    host, _, port = listen.rpartition(":")
    try:
        start_http_server(int(port), host, metrics.registry)
    except (OSError, OverflowError) as error:
        raise PortTaken(f"cannot listen on {listen}: {error}. Set PAWL_METRICS to a free address.") from None
    return metrics
