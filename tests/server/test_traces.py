"""OpenTelemetry: a span for each step, below the caller's trace, at a collector of this test."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

from lab.stack import Stack
from tests.server.stand import QUICK
from tests.server.world import World, call, calls

service = pytest.importorskip(
    "opentelemetry.proto.collector.trace.v1.trace_service_pb2",
    reason="the group of requirements-otel.lock is not installed",
)
pytest.importorskip("opentelemetry.sdk", reason="the group of requirements-otel.lock is not installed")

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = "b7ad6b7169203331"


class Collector(ThreadingHTTPServer):
    """Takes spans as an OTLP/HTTP collector does."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Taking)
        self.bodies: list[bytes] = []

    def spans(self) -> list[Any]:
        found = []
        for body in list(self.bodies):
            request = service.ExportTraceServiceRequest.FromString(body)
            scopes = [scope for resource in request.resource_spans for scope in resource.scope_spans]
            found += [span for scope in scopes for span in scope.spans]
        return found

    def of(self, run_id: str) -> list[Any]:
        return [span for span in self.spans() if attributes(span).get("pawl.run_id") == run_id]


class Taking(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.headers.get("content-encoding") == "gzip":
            import gzip

            body = gzip.decompress(body)
        self.server.bodies.append(body)
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


def attributes(span: Any) -> dict[str, Any]:
    found = {}
    for pair in span.attributes:
        kind = pair.value.WhichOneof("value")
        value = getattr(pair.value, kind)
        found[pair.key] = [each.string_value for each in value.values] if kind == "array_value" else value
    return found


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[World, Collector]]:
    collector = Collector()
    threading.Thread(target=collector.serve_forever, daemon=True).start()
    address = f"127.0.0.1:{collector.server_address[1]}"
    env, server = {**QUICK, "PAWL_OTEL": f"http://{address}"}, {"RESTATE_TRACING_ENDPOINT": f"otlp+http://{address}"}
    with Stack(Path(tmp_path_factory.mktemp("traces")), worker_env=env, server_env=server) as stack:
        world = World(stack, 950)
        world.restore()
        yield world, collector
    collector.shutdown()
    collector.server_close()


def test_each_step_is_a_span_below_the_callers_trace(traced: tuple[World, Collector]) -> None:
    world, collector = traced
    run_id = world.run_id()
    task = world.script(
        calls(call("charge_card", customer_id=world.tag, amount_cents=100, memo="kingfisher")), {"content": "done"}
    )
    reply = httpx.post(
        f"{world.stack.at.ingress}/Agent/{run_id}/run",
        json={"task": task},
        headers={"traceparent": f"00-{TRACE}-{PARENT}-01"},
        trust_env=False,
        timeout=30,
    )
    assert reply.status_code == 200
    key = reply.json()["ledger"][0]["key"]
    world.wait(lambda: len(collector.of(run_id)) == 5, "the spans")
    spans = sorted(collector.of(run_id), key=lambda span: span.start_time_unix_nano)
    assert [span.name for span in spans] == ["begin", "model", "seal", "call charge_card", "model"]
    assert {span.trace_id.hex() for span in spans} == {TRACE}
    assert all(span.end_time_unix_nano > span.start_time_unix_nano for span in spans)
    told = attributes(spans[3])
    assert (told["pawl.keys"], told["pawl.outcome"], told["pawl.attempt"]) == ([key], "done", 1)
    assert all(b"kingfisher" not in body for body in collector.bodies)


def test_a_replay_makes_no_span_again(traced: tuple[World, Collector]) -> None:
    world, collector = traced
    run_id = world.run_id()
    pay = calls(call("charge_card", customer_id=world.tag, amount_cents=100))
    world.submit(run_id, world.script(pay, {"content": "paid"}), grant={"approve_above_cents": {"charge_card": -1}})
    key = world.until(run_id, "waiting_approval")["ledger"][0]["key"]
    world.wait(lambda: len(collector.of(run_id)) == 3, "the spans before the approval")
    world.stack.workers[0].kill()
    world.stack.workers[0].start()
    world.decide(run_id, key, "approve")
    world.until(run_id, "completed")
    world.wait(lambda: len(collector.of(run_id)) == 6, "the spans after it")
    assert sorted(span.name for span in collector.of(run_id)) == sorted(
        ["begin", "model", "seal", "seal", "call charge_card", "model"]
    )
