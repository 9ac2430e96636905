"""What the tests of edges say: a worker with settings of their own, and what the model was sent."""

import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from lab.process import Command, Process
from lab.targets import PAWL, Addresses
from tests.server.world import WAIT_S, World

MODULE = "tests.server.workers.edges"
SETTINGS = {"PAWL_MODEL_BACKOFF_S": "0.1", "PAWL_MODEL_DEADLINE_S": "20", "PAWL_MODEL_ATTEMPTS": "3"}


def environment(listen: str, at: Addresses) -> Mapping[str, str]:
    return {**PAWL.env(listen, at), **SETTINGS}


EDGES = replace(PAWL, argv=lambda _listen, _at: (sys.executable, "-m", MODULE), env=environment)

Message = dict[str, Any]


def served_with(**settings: str) -> pytest.MarkDecorator:
    """The test's worker has these settings (their names less the prefix)."""
    return pytest.mark.parametrize("edge", [settings], indirect=True, ids=["-".join(settings)])


class Edge(World):
    @property
    def worker(self) -> Process:
        return self.stack.workers[0]

    def restore(self) -> None:
        """Behaviours and switches off, every process up; the worker serves as it did last."""
        for process in self.stack.processes():
            if not process.alive:
                process.start()
        super().restore()

    def serve_with(self, *without: str, **settings: str) -> None:
        """Another worker in the place of the one that is there, where it differs: without these tools, with these
        settings (their names less the prefix)."""
        command = self._command(without, settings)
        if command == self.worker.command:
            return
        self.worker.kill()
        self.worker.command = command
        self.worker.start()
        # Restate learns of what the worker says about itself, its time-outs for instance.
        self.stack.admin.register(self.stack.url(self.worker))

    def _command(self, without: tuple[str, ...], settings: Mapping[str, str]) -> Command:
        command = self.worker.command
        env = environment(f"127.0.0.1:{command.port}", self.stack.at)
        more = {f"PAWL_{name.upper()}": value for name, value in settings.items()}
        return replace(command, argv=(sys.executable, "-m", MODULE, *without), env={**env, **more})

    def kill_worker(self) -> None:
        """SIGKILL, and a new one at once."""
        self.worker.kill()
        self.worker.start()

    def switch(self, **switches: Any) -> None:
        """The model's switches; strict stays on."""
        self.stack.model.json("PUT", "/switches", {"strict": True, **switches})

    def rows(self, name: str = "s") -> list[Any]:
        """The model's requests for a script of this test, refused ones included."""
        return [row for row in self.stack.model.requests() if row["script"] == f"{self.tag}-{name}"]

    def sent(self, name: str = "s") -> list[Message]:
        """The messages of the newest request for a script."""
        body = self.stack.model.json("GET", f"/requests/{self.rows(name)[-1]['n']}")["body"]
        return list(body["messages"])

    def told(self, name: str = "s") -> list[str]:
        """What the model was told about its calls, in the newest request."""
        return [message["content"] for message in self.sent(name) if message["role"] == "tool"]

    def say(self, message_id: str, text: str) -> None:
        """A message to the session of this test."""
        body = {"message_id": message_id, "text": text}
        reply = self.stack.ingress.invoke("Session", self.tag, "send", body, 5.0)
        assert reply.status_code == 200, reply.text

    def heard(self, message_id: str, wait_s: float = WAIT_S) -> Message:
        """That message, once it has been answered, well or badly."""

        def answered() -> Message | None:
            listed = self.stack.ingress.invoke("Session", self.tag, "history", None, 5.0).json()["messages"]
            (found,) = [each for each in listed if each["message_id"] == message_id]
            return None if found["state"] in ("running", "queued") else dict(found)

        return dict(self.wait(answered, f"the answer to {message_id}", wait_s=wait_s))

    def failed_attempts(self, run_id: str) -> int:
        """Attempts of the run that Restate had to make again."""
        rows = self.stack.admin.query(
            "SELECT count(1) AS n FROM sys_journal_events e JOIN sys_invocation i ON e.id = i.id"
            f" WHERE i.target_service_key = '{run_id}' AND e.event_type = 'TransientError'"
        )
        return int(rows[0]["n"])
