"""What the commands about versions say where Restate does not answer a query of its tables."""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import httpx
import pytest
import typer
from typer.testing import CliRunner

from lab.ports import free_port
from services import drain, fleet, register
from services.checks import State, registration
from services.fleet import Fleet, Unreachable

WORKER = "http://127.0.0.1:1"
LISTS: dict[str, dict[str, Any]] = {
    "/deployments": {"deployments": [{"id": "dp_1", "uri": WORKER, "created_at": "2026"}]},
    "/deployments/dp_1": {"services": []},
    "/services": {"services": []},
}


class Admin(BaseHTTPRequestHandler):
    """Lists deployments, and is not well enough for a query."""

    def do_GET(self) -> None:
        self._answer(200, LISTS[self.path])

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self._answer(500, {"message": "the tables are not ready"})

    def _answer(self, status: int, body: dict[str, Any]) -> None:
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def admin() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), Admin)
    thread = Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("ask", [Fleet.open_calls, Fleet.stuck])
def test_a_query_that_is_not_answered_is_a_restate_that_is_not_reached(admin: str, ask: Any) -> None:
    asked = Fleet(admin)
    with pytest.raises(Unreachable, match="did not answer a query of its tables: the tables are not ready"):
        ask(asked)
    asked.close()


def test_the_person_reads_one_sentence_and_the_connections_are_closed(
    admin: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[str] = []
    monkeypatch.setattr(fleet.Fleet, "close", lambda self: closed.append(self.url))
    said = CliRunner().invoke(drain.app(), ["--admin", admin])
    assert said.exit_code == drain.WRONG
    assert said.stderr.startswith("pawl: Restate at") and len(said.stderr.splitlines()) == 1
    assert closed == [admin]


def test_who_registers_hears_at_once_that_restate_does_not_answer_and_who_names_the_address() -> None:
    nobody = f"http://127.0.0.1:{free_port()}"
    app = typer.Typer()
    app.command()(register.main)
    said = CliRunner().invoke(app, ["--admin", nobody, "--worker", WORKER, "--wait", "0.1"])
    assert said.exit_code == 1
    first, last = said.stderr.splitlines()
    assert first.endswith("Connection refused. PAWL_ADMIN names the address. Waiting for it, 0.1 s at most.")
    assert last.startswith(f"pawl: Restate's admin API at {nobody} did not answer")
    assert CliRunner().invoke(drain.app(), ["--admin", nobody]).stderr.endswith("PAWL_ADMIN names the address.\n")


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("[META0003] [META0003] not reached", "[META0003] not reached"),
        ("[META0003] [META0014] both", "[META0003] [META0014] both"),
        ("[META0003] not reached", "[META0003] not reached"),
    ],
)
def test_the_code_of_an_error_is_said_once(said: str, shown: str) -> None:
    assert fleet.message_of(httpx.Response(500, json={"message": said})) == shown


def test_the_doctor_goes_on(admin: str) -> None:
    asked = Fleet(admin)
    assert [check.state for check in registration(asked, WORKER)] == [State.WRONG]
    asked.close()
