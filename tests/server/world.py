"""What the tests on a real server say: scripts for the model, faults at the receiver, runs, and what was applied."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import httpx

from lab.stack import Stack
from mocks.rows import EffectRow, RequestRow

WAIT_S = 30.0


def call(name: str, **arguments: Any) -> dict[str, Any]:
    """One tool call of a scripted reply."""
    return {"name": name, "arguments": arguments}


def calls(*made: dict[str, Any]) -> dict[str, Any]:
    return {"tool_calls": list(made)}


class NoSuchCut(Exception):
    """Restate does not restart from a prefix in which a step has begun and not ended."""


@dataclass
class World:
    stack: Stack
    number: int
    runs: int = 0
    pending: list[Any] = field(default_factory=list)

    def restore(self) -> None:
        """Behaviours and switches off, every process up."""
        for worker in self.stack.workers:
            if not worker.alive:
                worker.start()
        self.stack.receiver.json("DELETE", "/behaviour/*")
        self.stack.model.json("PUT", "/switches", {"strict": True})

    @property
    def tag(self) -> str:
        return f"w{self.number}"

    def run_id(self, name: str = "run") -> str:
        self.runs += 1
        return f"{self.tag}-{name}-{self.runs}"

    def script(self, *replies: dict[str, Any], name: str = "s", loop: bool = False) -> str:
        """Scripts the model for a task of this test; the task."""
        task = f"task {self.tag} {name}."
        body = {"match": task.replace(".", r"\."), "replies": list(replies), "loop": loop}
        self.stack.model.json("PUT", f"/scripts/{self.tag}-{name}", body)
        return task

    def behave(self, effect: str, **behaviour: Any) -> None:
        self.stack.receiver.json("PUT", f"/behaviour/{effect}", behaviour)

    def post(self, run_id: str, handler: str, body: Any = None, timeout_s: float = WAIT_S) -> httpx.Response:
        return self.stack.ingress.invoke("Agent", run_id, handler, body, timeout_s)

    def run(self, run_id: str, task: str, timeout_s: float = WAIT_S, **more: Any) -> dict[str, Any]:
        """Runs to the end; its answer, which must be 200."""
        reply = self.post(run_id, "run", {"task": task, **more}, timeout_s)
        assert reply.status_code == 200, reply.text
        return dict(reply.json())

    def submit(self, run_id: str, task: str, **more: Any) -> str:
        """Starts a run; its invocation id."""
        reply = self.post(run_id, "submit", {"task": task, **more})
        assert reply.status_code == 200, reply.text
        return str(reply.json()["invocation_id"])

    def status(self, run_id: str) -> dict[str, Any]:
        reply = self.post(run_id, "status")
        return dict(reply.json()) if reply.status_code == 200 else {"state": f"http {reply.status_code}", "ledger": []}

    def until(self, run_id: str, *states: str, wait_s: float = WAIT_S) -> dict[str, Any]:
        """Waits until the run is in one of the states; its status."""
        return dict(
            self.wait(lambda: (s := self.status(run_id)) and s["state"] in states and s, f"{states}", run_id, wait_s)
        )

    def wait(self, look: Callable[[], Any], what: str, run_id: str = "", wait_s: float = WAIT_S) -> Any:
        end = time.monotonic() + wait_s
        while not (seen := look()):
            if time.monotonic() > end:
                raise AssertionError(f"{what} did not come in {wait_s:g} s: {self.status(run_id) if run_id else ''}")
            time.sleep(0.05)
        return seen

    def decide(self, run_id: str, key: str, decision: str, **more: Any) -> httpx.Response:
        return self.post(run_id, "decide", {"key": key, "decision": decision, **more})

    def attach(self, invocation: str, timeout_s: float = WAIT_S) -> httpx.Response:
        return self.stack.ingress.call("GET", f"/restate/invocation/{quote(invocation)}/attach", timeout_s=timeout_s)

    def restart(self, invocation: str, prefix: int | None = None) -> str:
        """An operator's restart as new; the id of the new invocation."""
        suffix = "" if prefix is None else f"?from={prefix}"
        reply = self.stack.admin.call("PATCH", f"/invocations/{invocation}/restart-as-new{suffix}")
        if "without respective Completions" in reply.text:
            raise NoSuchCut(reply.text)
        assert reply.is_success, reply.text
        return str(reply.json()["new_invocation_id"])

    def kill_invocation(self, invocation: str) -> None:
        assert self.stack.admin.call("PATCH", f"/invocations/{invocation}/kill").is_success

    def journal(self, invocation: str) -> list[dict[str, Any]]:
        return self.stack.admin.query(
            f"SELECT index, entry_type, name FROM sys_journal WHERE id = '{invocation}' ORDER BY index"
        )

    def retries(self, run_id: str) -> int:
        of_run = f"target_service_key = '{run_id}' AND target_handler_name = 'run'"
        rows = self.stack.admin.query(f"SELECT retry_count FROM sys_invocation WHERE {of_run}")
        return max((int(row.get("retry_count") or 0) for row in rows), default=0)

    def effects(self, run: dict[str, Any], effect: str | None = None) -> list[EffectRow]:
        """What the receiver applied under the keys in a run's ledger."""
        keys = {row["key"] for row in run["ledger"]}
        rows = [row for row in self.stack.receiver.effects() if row["key"] in keys]
        return [row for row in rows if effect is None or row["effect"] == effect]

    def requests(self, run: dict[str, Any], effect: str | None = None) -> list[RequestRow]:
        keys = {row["key"] for row in run["ledger"]}
        rows = [row for row in self.stack.receiver.requests() if row["key"] in keys]
        return [row for row in rows if effect is None or row["effect"] == effect]

    def model_requests(self, name: str = "s") -> int:
        return sum(row["script"] == f"{self.tag}-{name}" for row in self.stack.model.requests())


def once_each(rows: Sequence[EffectRow]) -> bool:
    """No key has more than one effect."""
    keys = [row["key"] for row in rows]
    return len(keys) == len(set(keys))
