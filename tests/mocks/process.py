"""Start, kill and restart a mock as a real process on a free port.

Clients are made with `verify=False`: there is no TLS here, and loading certificates takes longer than most tests.
"""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import httpx

ROOT = Path(__file__).parents[2]
# Starting takes about half a second; a machine under load may take ten times that.
ANSWER_S_MAX = 10.0


@dataclass
class MockProcess:
    """One mock over one database; it comes back on the same port after a restart."""

    kind: str
    db: Path
    port: int = 0
    url: str = ""
    process: "subprocess.Popen[str]" = field(init=False)
    client: httpx.Client = field(init=False)

    def start(self) -> Self:
        """Start and wait for the line that names the address."""
        self.process = subprocess.Popen(
            [sys.executable, "-m", "mocks", self.kind, "--port", str(self.port), "--db", str(self.db)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line.startswith(f"{self.kind} listening on http://127.0.0.1:"), line
        self.url = line.split()[-1]
        self.port = int(self.url.rsplit(":", 1)[1])
        self.client = httpx.Client(base_url=self.url, timeout=ANSWER_S_MAX, verify=False)
        return self

    def kill(self) -> None:
        """SIGKILL, and the proof that it died of it."""
        self.process.kill()
        assert self.process.wait(ANSWER_S_MAX) == -signal.SIGKILL
        self._close()

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Ask it to stop; the exit code."""
        self.process.send_signal(number)
        code = self.process.wait(ANSWER_S_MAX)
        self._close()
        return code

    def restart(self) -> None:
        """SIGKILL and start again over the same database and port."""
        self.kill()
        self.start()

    def rows(self, path: str = "/requests", **params: Any) -> list[dict[str, Any]]:
        """A list that it serves."""
        rows: list[dict[str, Any]] = self.client.get(path, params=params).raise_for_status().json()
        return rows

    def arm(self, effect: str, point: str, times: int = 1) -> str:
        """Arm a gate; its id."""
        answer = self.client.post("/gates", json={"effect": effect, "point": point, "times": times})
        return str(answer.raise_for_status().json()["id"])

    def held(self, gate: str, wait_s: float = ANSWER_S_MAX) -> int:
        """How many requests the gate has held, after waiting for the first."""
        answer = self.client.get(f"/gates/{gate}", params={"wait_s": wait_s}, timeout=wait_s + ANSWER_S_MAX)
        return int(answer.raise_for_status().json()["held"])

    def release(self, gate: str) -> None:
        """Let go what the gate holds."""
        self.client.post(f"/gates/{gate}/release").raise_for_status()

    def _close(self) -> None:
        self.client.close()
        assert self.process.stdout is not None
        self.process.stdout.close()


@contextmanager
def running(kind: str, db: Path) -> Iterator[MockProcess]:
    """A mock for the length of the block."""
    mock = MockProcess(kind, db).start()
    try:
        yield mock
    finally:
        if mock.process.poll() is None:
            assert mock.stop() == 0
