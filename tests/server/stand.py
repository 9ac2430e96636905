"""A stack whose worker stands behind a relay, a second worker to take over, and one run of each class at a time.

Rule: the receiver is asked what it applied for a *subject* (a customer, an account, a text that only this run knows),
not for a key: an effect under a second key must be seen.
"""

import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from lab import pids
from lab.ports import all_free
from lab.process import Process
from lab.relay import Relay, Way
from lab.remotes import Gate
from lab.stack import Stack
from lab.targets import PAWL, Addresses, Target
from mocks.rows import EffectRow, GatePoint, RequestRow
from tests.server.world import World, call, calls

QUICK = {
    "PAWL_MODEL_BACKOFF_S": "0.1",
    "PAWL_MODEL_DEADLINE_S": "20",
}
LANDS_S = 20.0
"""How long a fault may take to land: a step of a run on a busy machine, or a worker that is just starting."""


@dataclass(frozen=True)
class Kind:
    """A class of effects, and the tool and receiver's effect that stand for it."""

    name: str
    effect: str
    tool: str
    keyed: bool = False
    changes: bool = True


READ = Kind("read", "order", "look_up_order", changes=False)
SET = Kind("set", "customer", "update_crm")
KEYED = Kind("keyed", "charge", "charge_card", keyed=True)
FOUND = Kind("once_with_find", "transfer", "transfer_money")
ONCE = Kind("once_without_find", "sms", "send_sms")
KINDS = (READ, SET, KEYED, FOUND, ONCE)
REFUND = Kind("refund", "refund", "refund_payment", keyed=True)
EMAIL = Kind("email", "email", "send_email", keyed=True)
MORE_KEYED = (REFUND, EMAIL)
"""The other tools whose receiver takes notice of keys."""


def arguments(kind: Kind, subject: str) -> dict[str, Any]:
    match kind.effect:
        case "order":
            return {"order_id": subject}
        case "customer":
            return {"customer_id": subject, "fields": {"subject": subject}}
        case "charge":
            return {"customer_id": subject, "amount_cents": 1200, "memo": subject}
        case "refund":
            return {"payment_id": subject, "amount_cents": 1200, "reason": subject}
        case "email":
            return {"to": "ada@example.test", "subject": "receipt", "body": subject}
        case "transfer":
            return {"to_account": subject, "amount_cents": 1200}
        case _:
            return {"to": "+491", "text": subject}


@dataclass(frozen=True)
class Cell:
    """One run of one class under one fault."""

    world: "Stand"
    kind: Kind
    run_id: str
    subject: str
    after: int
    """The number of the last request that the receiver had seen before."""
    invocation: str = ""

    def status(self) -> dict[str, Any]:
        return self.world.status(self.run_id)

    def effects(self) -> list[EffectRow]:
        """What was applied for this subject, under whatever key."""
        return self.world.effects_of(self.kind.effect, self.subject)

    def settled(self) -> bool:
        """It has ended, or waits for a person."""
        return self.status()["state"] in ("completed", "failed", "outcome_unknown", "waiting_approval")

    def arrived(self) -> bool:
        """Something of it has arrived at the receiver; seen without asking the worker."""
        rows = [row for row in self.world.stack.receiver.requests() if row["n"] > self.after]
        return any(row["effect"] == self.kind.effect for row in rows)

    def applied(self) -> int:
        """How many effects that is; repeating a write leaves the same state, so what was written counts, not how
        often."""
        effects = self.effects()
        return len({str(row["body"]) for row in effects}) if self.kind is SET else len(effects)

    def requests(self) -> list[RequestRow]:
        """What arrived under the keys of the run; of a read, what arrived for the subject."""
        if not self.kind.changes:
            return [row for row in self.world.stack.receiver.requests() if row["path"].endswith(f"/{self.subject}")]
        keys = {row["key"] for row in self.status()["ledger"]}
        rows = self.world.stack.receiver.requests()
        return [row for row in rows if row["key"] in keys and row["effect"] == self.kind.effect]


@dataclass
class Stand(World):
    """World with a relay before the workers."""

    relay: Relay = field(kw_only=True)
    kinds: tuple[Kind, ...] = field(default=KINDS, kw_only=True)
    """Of these a run is begun, where nothing else is said."""

    @property
    def a(self) -> Process:
        return self.stack.workers[0]

    @property
    def b(self) -> Process:
        return self.stack.workers[1]

    def restore(self) -> None:
        for process in self.stack.processes():
            if process.alive and pids.state(process.pid) == "T":
                process.thaw()
            elif not process.alive:
                process.start()
        for extra in self.stack.workers[2:]:
            extra.end(1.0)
        del self.stack.workers[2:]
        self.relay.release()
        self.lead_to(self.a)
        super().restore()

    def lead_to(self, worker: Process) -> None:
        """The next connection goes to this worker; those that are there end."""
        self.relay.aim(worker.command.port)
        self.relay.cut()

    def begin(self, *kinds: Kind, **more: Any) -> dict[Kind, Cell]:
        """Submits one run of each kind, one call each."""
        return {kind: self.begin_one(kind, **more) for kind in kinds or self.kinds}

    def begin_one(self, kind: Kind, *further: dict[str, Any], **more: Any) -> Cell:
        run_id = self.run_id(kind.effect)
        made = call(kind.tool, **arguments(kind, run_id))
        task = self.script(calls(made), *further, {"content": "done"}, name=run_id)
        after = max((row["n"] for row in self.stack.receiver.requests()), default=0)
        return Cell(self, kind, run_id, run_id, after, self.submit(run_id, task, **more))

    def third(self, env: Mapping[str, str]) -> Process:
        """One more worker, with settings of its own; the relay does not lead to it yet."""
        target = replace(behind(self.relay), register=lambda _at, _worker: None)
        return self.stack.add_worker(target, {**QUICK, **env})

    def gates(self, point: GatePoint, *kinds: Kind, times: int = 1) -> list["Held"]:
        return [Held.arm(self, kind.effect, point, times) for kind in kinds or self.kinds]

    def model_gate(self, point: GatePoint, times: int) -> "Held":
        row = self.stack.model.json("POST", "/gates", {"effect": "chat", "point": point, "times": times})
        return Held(Gate(self.stack.model, str(row["id"])), times)

    def effects_of(self, effect: str, subject: str) -> list[EffectRow]:
        rows = [row for row in self.stack.receiver.effects() if row["effect"] == effect]
        return [row for row in rows if row["id"] == subject or subject in str(row["body"])]

    def bugs(self, invocation: str) -> list[str]:
        """What made attempts of an invocation fail, lost connections left out: a journal that does not fit, a bug."""
        of_run = f"id = '{invocation}' AND event_type = 'TransientError'"
        rows = self.stack.admin.query(f"SELECT event_json FROM sys_journal_events WHERE {of_run}")
        return [row["event_json"] for row in rows if '"RT0010"' not in row["event_json"]]

    def back(self) -> None:
        """Everything that was killed or frozen is up again."""
        for process in self.stack.processes():
            if not process.alive:
                process.start()
            elif pids.state(process.pid) == "T":
                process.thaw()


@dataclass(frozen=True)
class Held:
    """A gate that several requests must reach."""

    gate: Gate
    times: int

    @classmethod
    def arm(cls, world: Stand, effect: str, point: GatePoint, times: int) -> "Held":
        row = world.stack.receiver.json("POST", "/gates", {"effect": effect, "point": point, "times": times})
        return cls(Gate(world.stack.receiver, str(row["id"])), times)

    def wait(self) -> None:
        """Until all are held; an assertion where they are not in time, because then the fault has not landed."""
        end = time.monotonic() + LANDS_S
        while (held := self.gate.remote.json("GET", f"/gates/{self.gate.gate_id}?wait_s=1")["held"]) < self.times:
            assert time.monotonic() < end, f"{held} of {self.times} requests were held"
            time.sleep(0.02)

    def release(self) -> None:
        self.gate.release()


def behind(relay: Relay) -> Target:
    """The worker of these tests, made known under the relay's address."""

    def register(at: Addresses, _worker: str) -> None:
        PAWL.register(at, relay.url)

    return replace(
        PAWL, argv=lambda _listen, _at: (sys.executable, "-m", "tests.server.workers.quick"), register=register
    )


@contextmanager
def standing(folder: Path, env: Mapping[str, str]) -> Iterator[tuple[Stack, Relay]]:
    """A stack with two workers behind a relay that leads to the first."""
    ports = all_free()
    with (
        Relay(ports.worker) as relay,
        Stack(folder, ports=ports, target=behind(relay), workers=2, worker_env=env) as stack,
    ):
        yield stack, relay


__all__ = [
    "EMAIL",
    "FOUND",
    "KEYED",
    "KINDS",
    "MORE_KEYED",
    "ONCE",
    "READ",
    "REFUND",
    "SET",
    "Cell",
    "Held",
    "Kind",
    "Stand",
    "Way",
    "standing",
]
