"""OpenTelemetry: a span for each step, below the caller's trace, at a collector of this test."""

import os
import signal
import threading
import time
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
LEAVES_S = 3.0


class Collector(ThreadingHTTPServer):
    """Takes spans as an OTLP/HTTP collector does. It answers after `slow_s`."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Taking)
        self.bodies: list[bytes] = []
        self.slow_s = 0.0

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
        time.sleep(self.server.slow_s)
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
    env, server = (
        {**QUICK, "PAWL_OTEL": f"http://{address}", "PAWL_SHUTDOWN_S": str(LEAVES_S)},
        {"RESTATE_TRACING_ENDPOINT": f"otlp+http://{address}"},
    )
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
    world.wait(lambda: len(collector.of(run_id)) == 5, "the spans before the approval")
    world.stack.workers[0].kill()
    world.stack.workers[0].start()
    world.decide(run_id, key, "approve")
    world.until(run_id, "completed")
    world.wait(lambda: len(collector.of(run_id)) == 8, "the spans after it")
    assert sorted(span.name for span in collector.of(run_id)) == sorted(
        ["begin", "model", "seal", "ask", "listen", "seal", "call charge_card", "model"]
    )


def leave(world: World) -> float:
    """SIGTERM; seconds until the worker has left with 0."""
    worker, began = world.stack.workers[0], time.monotonic()
    os.kill(worker.pid, signal.SIGTERM)
    world.wait(lambda: not worker.alive, "the end of the worker", wait_s=LEAVES_S + 5)
    assert worker.exit_code == 0
    return time.monotonic() - began


def test_the_spans_of_the_last_steps_reach_a_slow_collector_before_the_worker_has_left(
    traced: tuple[World, Collector],
) -> None:
    world, collector = traced
    run_id = world.run_id()
    gate = world.stack.receiver.gate("charge", "applied")
    collector.slow_s = 0.9
    try:
        charge = calls(call("charge_card", customer_id=run_id, amount_cents=1))
        world.submit(run_id, world.script(charge, {"content": "ok"}, name="last"))
        assert gate.wait_held(20)
        # The exporter has the first spans in its hands when the last one ends.
        world.wait(lambda: collector.of(run_id), "the first spans")
        threading.Timer(0.1, gate.release).start()
        leave(world)
        assert "call charge_card" in [span.name for span in collector.of(run_id)]
    finally:
        collector.slow_s = 0.0
        world.stack.workers[0].start()
    world.until(run_id, "completed")


def test_a_collector_that_hangs_holds_the_worker_no_longer_than_is_stated(traced: tuple[World, Collector]) -> None:
    world, collector = traced
    collector.slow_s = 20.0
    try:
        world.run(world.run_id(), world.script({"content": "done"}, name="hang"))
        assert leave(world) < LEAVES_S + 1.5
    finally:
        collector.slow_s = 0.0
        world.stack.workers[0].start()
