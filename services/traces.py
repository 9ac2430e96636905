"""OpenTelemetry spans: one for each step that ran, below the trace of its invocation.

Rule: the SDK's tracer puts a span under Restate's trace and makes none while replaying. A server that traces nothing
hands no trace on; then the spans of one invocation are a trace of their own, so that they stand together. No arguments
and no texts. The packages are a group of their own (requirements-otel.lock); without them the setting is refused.
Must not know: what a step does.
"""

from collections.abc import Callable
from hashlib import sha256
from time import time_ns  # noqa: TID251  of a step that has ended, outside of any journal
from typing import Any

from services.watch import Stepped

FLUSH_MS = 500
"""What ended longer than this before the worker is killed has reached the collector, if one listens."""
BAD = frozenset({"raised", "unknown", "not_sent"})


class NoPackages(Exception):
    """The packages are not installed; the text says how to get them."""


class Spans:
    """`flush` hands over what has ended, and may block for as long as the collector does not answer."""

    def __init__(self, below_restate: Any, alone: Any, flush: Callable[[], object]) -> None:
        self._below_restate = below_restate
        self._alone = alone
        self.flush = flush

    def stepped(self, step: Stepped) -> None:
        from opentelemetry.trace import StatusCode

        ended = time_ns()
        about = step.about
        told = {
            "pawl.run_id": step.run_id,
            "pawl.step": step.name,
            "pawl.turn": about.turn,
            "pawl.tool": about.tool,
            "pawl.keys": about.keys or None,
            "pawl.attempt": about.attempt,
            "pawl.outcome": step.outcome,
            "restate.invocation.id": step.invocation,
        }
        attributes = {name: value for name, value in told.items() if value is not None}
        name = f"{step.kind} {about.tool}" if about.tool else step.kind
        begun = ended - int(step.seconds * 1e9)
        handed_on = step.trace is not None
        tracer, context = (self._below_restate, None) if handed_on else (self._alone, context_of(step.invocation))
        span = tracer.start_span(name, context=context, start_time=begun, attributes=attributes)
        if step.outcome in BAD or step.outcome.startswith("model_failed"):
            span.set_status(StatusCode.ERROR, step.outcome)
        span.end(ended)


def context_of(invocation: str) -> Any:
    """The parent of all spans of an invocation that Restate hands no trace on for: it exists in name only."""
    from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, set_span_in_context

    made = sha256(invocation.encode()).digest()
    ids = int.from_bytes(made[:16]), int.from_bytes(made[16:24])
    return set_span_in_context(NonRecordingSpan(SpanContext(*ids, is_remote=True, trace_flags=TraceFlags(1))))


def started(collector: str | None) -> Spans | None:
    """Spans that go to an OTLP/HTTP collector at that base address; None where that is not set. Raises NoPackages."""
    if collector is None:
        return None
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
        from restate.ext.tracing import RestateTracerProvider
    except ImportError as error:
        raise NoPackages(
            f"PAWL_OTEL is set and {error.name} is missing: pip install --require-hashes -r requirements-otel.lock"
        ) from None
    provider = TracerProvider(resource=Resource.create({"service.name": "pawl"}))
    exporter = OTLPSpanExporter(endpoint=f"{collector.rstrip('/')}/v1/traces")
    provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=FLUSH_MS))
    restates: Any = RestateTracerProvider
    return Spans(restates(provider).get_tracer("pawl"), provider.get_tracer("pawl"), provider.force_flush)
