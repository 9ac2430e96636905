"""What was seen of one trial: what the lab did and when, which faults landed and how that is known, and the rows of
the model and the receiver. Plain data that goes to JSON and back.

Rule: it is written down as it was seen, without a judgement. All times are unix seconds.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from mocks.rows import EffectRow, ModelRow, RequestRow


@dataclass(frozen=True, slots=True)
class Event:
    """Something that the lab did or saw. `lane` is where: lab, run, worker, worker-2, server, receiver, model or
    line; `what` one word, `text` a sentence."""

    at: float
    lane: str
    what: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class Landing:
    """A fault that landed, with the proof: what was seen of the point, and what was asserted of the fault."""

    at: float
    fault: str
    proof: str


@dataclass(frozen=True, slots=True)
class RunSeen:
    """One run of the trial. `state` is the last that was seen, `rested` whether the run had ended or waited for a
    person; `decided` is what was answered to it then, and `state_after` how it ended on that. `newest` is what somebody
    else has written since, where a SET is judged. `abandoned`: it was stopped, and nobody goes on with it."""

    run_id: str
    tag: str
    state: str
    rested: bool
    decided: str | None = None
    state_after: str | None = None
    newest: Mapping[str, Any] | None = None
    abandoned: bool = False


@dataclass(frozen=True, slots=True)
class Ledger:
    """The rows that came during the trial."""

    model: tuple[ModelRow, ...] = ()
    requests: tuple[RequestRow, ...] = ()
    effects: tuple[EffectRow, ...] = ()


@dataclass(frozen=True, slots=True)
class History:
    """`strikes` is how many faults had to land. `ledger` is None where it could not be read, `after` what it was once
    a person had decided on what was unknown. `beside` are the tags of other cells' runs that were under way at the same
    time, on the same ledger. `recovered_s`: from the last strike until the run was at rest. `error` says why the trial
    broke off."""

    cell: str
    job: str
    trial: int
    seed: int
    started_at: float
    strikes: int
    runs: tuple[RunSeen, ...] = ()
    landings: tuple[Landing, ...] = ()
    events: tuple[Event, ...] = ()
    ledger: Ledger | None = None
    after: Ledger | None = None
    beside: tuple[str, ...] = ()
    recovered_s: float | None = None
    error: str | None = None
    logs: Mapping[str, str] = field(default_factory=dict)

    def thawed_at(self) -> float | None:
        """When a frozen worker went on, where one did."""
        times = [event.at for event in self.events if event.what == "thawed"]
        return max(times) if times else None


def write(history: History, file: Path) -> None:
    """As JSON, for the report and for whoever wants to judge again."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(asdict(history), indent=1) + "\n", encoding="utf-8")


def read(file: Path) -> History:
    """What `write` wrote."""
    return of_json(json.loads(file.read_text(encoding="utf-8")))


def of_json(told: dict[str, Any]) -> History:
    """From the JSON's value."""
    made: dict[str, Any] = {
        **told,
        "runs": tuple(RunSeen(**run) for run in told["runs"]),
        "landings": tuple(Landing(**landing) for landing in told["landings"]),
        "events": tuple(Event(**event) for event in told["events"]),
        "ledger": _ledger(told["ledger"]),
        "after": _ledger(told["after"]),
        "beside": tuple(told["beside"]),
    }
    return History(**made)


def _ledger(told: dict[str, Any] | None) -> Ledger | None:
    return None if told is None else Ledger(**{name: tuple(rows) for name, rows in told.items()})
