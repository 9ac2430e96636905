"""Somebody outside is told: once for each event, signed, and again where nobody answers."""

import hashlib
import hmac
import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from lab.stack import Stack
from tests.server.stand import QUICK
from tests.server.world import World, call, calls

SECRET = "whsec_test"
SHUTDOWN_S = 3.0


class Ear(ThreadingHTTPServer):
    """Hears notices; answers 503 to the first of each id, so that every one must be repeated."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Hearing)
        self.heard: list[tuple[dict[str, str], bytes]] = []
        self.ids: set[str] = set()
        self.slow_s = 0.0
        """How long it lets those who tell it wait."""

    def events(self, run_id: str) -> list[dict[str, Any]]:
        bodies = [json.loads(body) for _, body in self.heard]
        return [body for body in bodies if body["run_id"] == run_id]


class Hearing(BaseHTTPRequestHandler):
    server: Ear

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.heard.append(({name.lower(): value for name, value in self.headers.items()}, body))
        new = json.loads(body)["id"] not in self.server.ids
        self.server.ids.add(json.loads(body)["id"])
        time.sleep(self.server.slow_s)
        self.send_response(503 if new else 200)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
def ear() -> Iterator[Ear]:
    made = Ear()
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    yield made
    made.shutdown()
    made.server_close()


@pytest.fixture(scope="module")
def told(ear: Ear, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    settings = {
        "PAWL_WEBHOOK_URL": f"http://127.0.0.1:{ear.server_address[1]}/hook?from=pawl",
        "PAWL_WEBHOOK_SECRET": SECRET,
        "PAWL_ESCALATE_S": "1",
        "PAWL_SHUTDOWN_S": str(SHUTDOWN_S),
    }
    with Stack(Path(tmp_path_factory.mktemp("notice")), worker_env={**QUICK, **settings}) as stack:
        world = World(stack, 900)
        world.restore()
        yield world


def test_a_waiting_run_and_its_end_are_told_until_somebody_has_heard(told: World, ear: Ear) -> None:
    run_id = told.run_id()
    pay = calls(call("charge_card", customer_id=told.tag, amount_cents=100))
    told.submit(run_id, told.script(pay, {"content": "paid"}), grant={"approve_above_cents": {"charge_card": -1}})
    key = told.until(run_id, "waiting_approval")["ledger"][0]["key"]
    told.wait(lambda: [e["name"] for e in ear.events(run_id)].count("escalated") == 2, "the escalation")
    told.decide(run_id, key, "approve")
    told.until(run_id, "completed")
    told.wait(lambda: [e["name"] for e in ear.events(run_id)].count("ended") == 2, "the end")
    names = [event["name"] for event in ear.events(run_id)]
    assert names == ["waiting", "waiting", "escalated", "escalated", "ended", "ended"]
    assert len({event["id"] for event in ear.events(run_id)}) == 3
    assert ear.events(run_id)[0]["questions"][0]["key"] == key


def test_a_question_is_told_once(told: World, ear: Ear) -> None:
    """Whatever else of the run comes along meanwhile."""
    run_id, refund = told.run_id(), call("refund_payment", payment_id=told.tag, amount_cents=10)
    told.behave("refund", fail={"status": 503, "when": "before_commit"}, times=2)
    pay = call("charge_card", customer_id=told.tag, amount_cents=100)
    grant = {"approve_above_cents": {"charge_card": -1}}
    told.submit(run_id, told.script(calls(pay, refund), {"content": "paid"}), grant=grant)
    told.until(run_id, "waiting_approval")
    told.wait(
        lambda: [row["state"] for row in told.status(run_id)["ledger"]] == ["waiting", "done"], "the refund", run_id
    )
    told.wait(lambda: [e["name"] for e in ear.events(run_id)].count("escalated") == 2, "the escalation")
    assert [event["name"] for event in ear.events(run_id)] == ["waiting", "waiting", "escalated", "escalated"]
    told.decide(run_id, told.status(run_id)["questions"][0]["key"], "deny")
    told.until(run_id, "completed")


def test_whoever_does_not_answer_holds_up_neither_the_runs_nor_the_worker(told: World, ear: Ear) -> None:
    worker, run_id = told.stack.workers[0], told.run_id()
    ear.slow_s = 60.0
    try:
        began = time.monotonic()
        for _ in range(5):
            told.run(told.run_id(), told.script({"content": "done"}, name="hang"))
        told.run(run_id, told.script({"content": "done"}, name="hang"))
        assert time.monotonic() - began < 10
        told.wait(lambda: ear.events(run_id), "the notice")
        os.kill(worker.pid, signal.SIGTERM)
        told.wait(lambda: not worker.alive, "the end of the worker", wait_s=SHUTDOWN_S + 2)
        assert worker.exit_code == 0
    finally:
        ear.slow_s = 0.0
        told.restore()
    # The worker that left in the middle has not recorded it: it is told again, with the same id.
    told.wait(lambda: len(ear.events(run_id)) >= 2, "the notice again")
    assert len({event["id"] for event in ear.events(run_id)}) == 1


def test_a_notice_is_signed_and_carries_its_id_as_key(told: World, ear: Ear) -> None:
    run_id = told.run_id()
    told.run(run_id, told.script({"content": "done"}))
    told.wait(lambda: len(ear.events(run_id)) == 2, "the end")
    first, second = [(headers, body) for headers, body in ear.heard if json.loads(body)["run_id"] == run_id]
    assert first[1] == second[1]
    for headers, body in (first, second):
        moment, _, mac = headers["x-pawl-signature"].removeprefix("t=").partition(",v1=")
        assert mac == hmac.new(SECRET.encode(), moment.encode() + b"." + body, hashlib.sha256).hexdigest()
        assert headers["idempotency-key"] == json.loads(body)["id"]
