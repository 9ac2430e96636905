"""Spans of one invocation stand together where Restate hands no trace on; without the packages there is a sentence."""

import sys

import pytest

from services.traces import NoPackages, Spans, started
from services.watch import About, Stepped

GROUP = "the group of requirements-otel.lock is not installed"


def step(invocation: str, name: str = "model 1", outcome: str = "model_reply") -> Stepped:
    return Stepped("r1", invocation, name, name.split(maxsplit=1)[0], About(turn=1), outcome, 0.5)


def test_spans_of_one_invocation_are_one_trace_where_no_trace_is_handed_on() -> None:
    pytest.importorskip("opentelemetry.sdk", reason=GROUP)
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    spans = Spans(None, provider.get_tracer("pawl"), provider.force_flush)
    for each in (step("inv_1"), step("inv_1", "call 1.0 x", "unknown"), step("inv_2")):
        spans.stepped(each)
    first, second, other = exporter.get_finished_spans()
    traces = [span.context.trace_id for span in (first, second, other) if span.context is not None]
    assert traces[0] == traces[1] != traces[2]
    assert not first.status.is_ok or first.status.is_unset
    assert not second.status.is_ok
    assert first.end_time is not None and first.start_time is not None
    assert 0.4e9 < first.end_time - first.start_time < 0.6e9


def test_without_the_packages_the_setting_is_refused_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    assert started(None) is None
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    with pytest.raises(NoPackages, match=r"PAWL_OTEL.*requirements-otel\.lock"):
        started("http://127.0.0.1:4318")
