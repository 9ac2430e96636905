"""The remotes, as the lab speaks to them: receiver, model, ingress and admin, in JSON over HTTP on this machine.

Rule: no proxy, no retry, a timeout on every call. What the receiver says it received and applied is the truth that the
lab judges by.
"""

from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

import httpx

from lab.errors import LabError
from mocks.rows import EffectRow, GatePoint, ModelRow, RequestRow

CALL_S = 10.0
# An answer of a run waits for every deadline inside it: the caller chooses a shorter one where it knows better.
RUN_S = 300.0


class Remote:
    """One HTTP server on this machine."""

    def __init__(self, name: str, url: str) -> None:
        self.name = name
        self.url = url
        self._client = httpx.Client(base_url=url, timeout=CALL_S, trust_env=False)

    def close(self) -> None:
        self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def answers(self, path: str) -> bool:
        """Whether a GET of `path` gives 200 now."""
        try:
            return self._client.get(path, timeout=2.0).status_code == 200
        except httpx.HTTPError:
            return False

    def call(self, method: str, path: str, body: Any = None, timeout_s: float = CALL_S) -> httpx.Response:
        """One exchange, whatever the status; raises LabError where there is no answer."""
        content: dict[str, Any] = {} if body is None else {"json": body}
        try:
            return self._client.request(
                method, path, timeout=timeout_s, headers={"accept": "application/json"}, **content
            )
        except httpx.HTTPError as error:
            raise LabError(f"the {self.name} at {self.url} did not answer {method} {path}: {error!r}") from error

    def json(self, method: str, path: str, body: Any = None, timeout_s: float = CALL_S) -> Any:
        """One exchange that must succeed; the answer's JSON, None where it is empty."""
        reply = self.call(method, path, body, timeout_s)
        if not reply.is_success:
            raise LabError(f"the {self.name} answered {method} {path} with {reply.status_code}: {reply.text[:500]}")
        return reply.json() if reply.content else None


@dataclass(frozen=True, slots=True)
class Gate:
    """A request of one effect is held at a point until it is let go."""

    remote: Remote
    gate_id: str

    def wait_held(self, wait_s: float) -> bool:
        """Wait until a request is held; False where none came in time."""
        row = self.remote.json("GET", f"/gates/{self.gate_id}?wait_s={wait_s}", timeout_s=wait_s + CALL_S)
        return bool(row["held"] >= 1)

    def held(self) -> int:
        """How many requests it has held so far."""
        return int(self.remote.json("GET", f"/gates/{self.gate_id}")["held"])

    def release(self) -> None:
        self.remote.json("POST", f"/gates/{self.gate_id}/release")


class MockRemote(Remote):
    """What the receiver and the model have in common."""

    def gate(self, effect: str, point: GatePoint, times: int = 1) -> Gate:
        """Hold the next `times` requests of `effect` at `point`."""
        row = self.json("POST", "/gates", {"effect": effect, "point": point, "times": times})
        return Gate(self, str(row["id"]))


class Receiver(MockRemote):
    """The mock receiver."""

    def requests(self, after: int = 0) -> list[RequestRow]:
        """The rows that come after number `after`."""
        rows: list[RequestRow] = self.json("GET", f"/requests?after={after}")
        return rows

    def effects(self, after: int = 0) -> list[EffectRow]:
        rows: list[EffectRow] = self.json("GET", f"/effects?after={after}")
        return rows


class Model(MockRemote):
    """The mock model."""

    def requests(self, after: int = 0) -> list[ModelRow]:
        """The rows that come after number `after`."""
        rows: list[ModelRow] = self.json("GET", f"/requests?after={after}")
        return rows


class Ingress(Remote):
    """Restate's ingress: where runs are submitted."""

    def invoke(
        self, service: str, key: str, handler: str, body: Any = None, timeout_s: float = RUN_S
    ) -> httpx.Response:
        """Call a handler of a virtual object and wait for its answer, whatever the status."""
        return self.call("POST", f"/{service}/{quote(key, safe='')}/{handler}", body, timeout_s)


class Admin(Remote):
    """Restate's admin API."""

    def register(self, worker: str) -> None:
        """Make the worker at this address known; where it is known already, its handlers are read anew."""
        self.json("POST", "/deployments", {"uri": worker, "force": True}, timeout_s=30.0)

    def query(self, sql: str) -> list[dict[str, Any]]:
        """Rows of Restate's own tables."""
        rows: list[dict[str, Any]] = self.json("POST", "/query", {"query": sql})["rows"]
        return rows

    def leads(self) -> bool:
        """Whether every partition has a leader, so that a first call is answered: only then can all runs be counted."""
        try:
            return self.call("POST", "/query", {"query": "SELECT count(1) AS runs FROM sys_invocation"}).is_success
        except LabError:
            return False
