"""Histories written by hand, for tests of the checker and of what is made of its judgements."""

from dataclasses import replace
from typing import Any

from lab.cells import Cell, Counts, Fault, Group, Point, Verdict
from lab.history import Event, History, Landing, Ledger, RunSeen
from mocks.rows import EffectRow, ModelRow, RequestRow

TAG = "tabc"


def cell(job: str = "charge", *expected: Verdict, **more: Any) -> Cell:
    return Cell(
        target=more.pop("target", "pawl"),
        job=job,
        fault=more.pop("fault", Fault.WORKER_KILL),
        point=more.pop("point", Point.APPLIED),
        expected=frozenset(expected or (Verdict.ONCE,)),
        group=more.pop("group", Group.PAWL),
        counts=more.pop("counts", Counts()),
        **more,
    )


def asked(n: int, script: str | None = "charge") -> ModelRow:
    return {
        "n": n,
        "at": 100.0 + n,
        "script": script,
        "turn": n - 1,
        "status": 200,
        "messages": 2,
        "digest": "d",
        "bytes": 9,
    }


def request(n: int, effect: str = "charge", *, applied: bool = True, key: str | None = "k1", **more: Any) -> RequestRow:
    row: RequestRow = {
        "n": n,
        "effect": effect,
        "key": key,
        "reference": key,
        "digest": "d",
        "applied": applied,
        "status": 201,
        "at": 100.0 + n,
        "method": "POST",
        "path": f"/{effect}",
    }
    row.update(more)  # type: ignore[typeddict-item]
    return row


def effect(n: int, name: str = "charge", *, key: str | None = "k1", **body: Any) -> EffectRow:
    return {
        "n": n,
        "effect": name,
        "id": f"{name}_{n}",
        "key": key,
        "reference": key,
        "body": body or {"customer_id": f"cus_{TAG}"},
        "at": 100.0 + n,
    }


def ledger(*requests: RequestRow, effects: tuple[EffectRow, ...] = (), script: str = "charge") -> Ledger:
    return Ledger((asked(1, script), asked(2, script)), requests, effects)


def run(state: str = "completed", *, rested: bool = True, **more: Any) -> RunSeen:
    return RunSeen("run-1", more.pop("tag", TAG), state, rested, **more)


def history(seen: Ledger | None, *runs: RunSeen, job: str = "charge", **more: Any) -> History:
    """A history in which one fault was to land, and did."""
    made = History(
        cell="pawl/charge/worker-kill/applied",
        job=job,
        trial=1,
        seed=1,
        started_at=100.0,
        strikes=1,
        runs=runs or (run(),),
        landings=(Landing(101.0, "SIGKILL to the worker", "the receiver holds the answer"),),
        events=(Event(100.0, "run", "submitted"),),
        ledger=seen,
        recovered_s=1.0,
    )
    return replace(made, **more)


def sane() -> History:
    """Applied once; the repeat was answered from the record."""
    return history(ledger(request(1), request(2, applied=False), effects=(effect(1),)))
