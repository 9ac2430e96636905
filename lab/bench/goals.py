"""What must be reached, and what was: each goal reads its number from the parts of bench.json. Pure.

Rule: a goal whose part was not measured, or only quickly, has no number; it is neither reached nor missed. A comparison
is made within one part, so within one sitting.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lab.bench.sums import by_name, ratio

Parts = Mapping[str, Mapping[str, Any]]
Read = Callable[[Parts], float | None]
BUSY = "32"


@dataclass(frozen=True, slots=True)
class Goal:
    """`least` or `most` is its bound, in `unit`; `aim` is what was hoped for beyond it."""

    name: str
    says: str
    read: Read
    least: float | None = None
    most: float | None = None
    aim: float | None = None
    unit: str = "times"


def job_over(other: str) -> Read:
    """Runs per second of Pawl over those of another, 32 at once, round by round."""

    def read(parts: Parts) -> float | None:
        rows = parts.get("speed", {}).get("contestants", ())
        mine, theirs = by_name(rows, "pawl"), by_name(rows, other)
        if mine is None or theirs is None:
            return None
        return ratio(mine["runs_per_s"][BUSY]["each_round"], theirs["runs_per_s"][BUSY]["each_round"])["median"]

    return read


def steps(*path: str) -> Read:
    """From the busiest load of the empty steps."""
    return lambda parts: _dig(parts.get("steps", {}).get("loads", [{}])[-1], path)


def client(what: str) -> Read:
    return lambda parts: _dig(by_name(parts.get("clients", {}).get("clients", ()), "pawl"), (what, "median"))


def recovery(*path: str) -> Read:
    return lambda parts: _dig(by_name(parts.get("recovery", {}).get("contestants", ()), "pawl"), path)


def last_turn_over(other: str) -> Read:
    """What the last turns of a long run cost Pawl, over what they cost another."""

    def read(parts: Parts) -> float | None:
        rows = parts.get("growth", {}).get("contestants", ())
        mine, theirs = by_name(rows, "pawl"), by_name(rows, other)
        if mine is None or theirs is None:
            return None
        last = list(mine["turn_ms"])[-1]
        return float(mine["turn_ms"][last]["median"] / theirs["turn_ms"][last]["median"])

    return read


def replay(parts: Parts) -> float | None:
    return _dig(by_name(parts.get("replay", {}).get("contestants", ()), "pawl"), ("ms_per_entry", "median"))


def memory(parts: Parts) -> float | None:
    return _dig(parts.get("memory"), ("grown_mb",))


def window(place: int) -> Read:
    """Of the load at that place."""

    def read(parts: Parts) -> float | None:
        mine = by_name(parts.get("windows", {}).get("contestants", ()), "pawl")
        return None if mine is None else _dig(mine["loads"][place], ("recorded_ms", "median"))

    return read


def _dig(value: Any, path: Sequence[str]) -> float | None:
    for name in path:
        if not isinstance(value, Mapping) or name not in value:
            return None
        value = value[name]
    return None if value is None else float(value)


GOALS: tuple[Goal, ...] = (
    Goal("throughput_vs_bare", "empty steps, Pawl over a loop by hand", steps("pawl_over_bare", "median"), least=0.95),
    Goal("job_vs_plain", "the job, Pawl over the plain loop", job_over("plain"), least=1.0, aim=3.0),
    Goal("job_vs_bare", "the job, Pawl over Restate by hand, default clients", job_over("bare"), least=4.0),
    Goal(
        "job_vs_bare_lean", "the job, Pawl over Restate by hand, aiohttp", job_over("bare-lean"), least=0.65, aim=0.85
    ),
    Goal("job_vs_typescript", "the job, Pawl over Restate TypeScript", job_over("typescript"), least=0.75),
    Goal("job_vs_openai_agents", "the job, Pawl over openai-agents on Restate", job_over("openai-agents"), least=4.0),
    Goal("model_call_12", "processor time of a model call, 12 messages", client("model_12"), most=1.5, unit="ms"),
    Goal("model_call_100", "processor time of a model call, 100 messages", client("model_100"), most=1.5, unit="ms"),
    Goal("tool_call", "processor time of a tool call", client("tool"), most=0.9, unit="ms"),
    Goal(
        "recovery", "SIGKILL in the window to the answer, median", recovery("recovered_s", "median"), most=1.2, unit="s"
    ),
    Goal("recovery_worst", "the same, worst", recovery("recovered_s", "most"), most=2.0, unit="s"),
    Goal("listens", "a started worker listens", recovery("listens_s", "median"), most=0.5, unit="s"),
    Goal("growth", "the last turns of a long run, Pawl over the plain loop", last_turn_over("plain"), most=1.2),
    Goal("replay", "replay of one journal entry", replay, most=0.2, unit="ms"),
    Goal("memory", "the worker's memory from the first mark to the last", memory, most=10.0, unit="MB"),
    Goal("window_alone", "applied to recorded, one run at a time, median", window(0), most=1.0, unit="ms"),
    Goal("window_busy", "applied to recorded, 32 at once, median", window(1), most=5.0, unit="ms"),
)


def judged(parts: Parts) -> list[dict[str, Any]]:
    """Each goal with its number. `ratio` is the number itself where it is one, and else the number over its bound."""
    thorough = {name: part for name, part in parts.items() if not part["quick"]}
    told = []
    for goal in GOALS:
        value, rough = goal.read(thorough), goal.read(parts)
        bound = goal.least if goal.least is not None else goal.most
        assert bound is not None
        reached = None if value is None else (value >= bound if goal.least is not None else value <= bound)
        told.append(
            {
                "name": goal.name,
                "says": goal.says,
                "unit": goal.unit,
                "least": goal.least,
                "most": goal.most,
                "aim": goal.aim,
                "value": _rounded(rough),
                "ratio": _rounded(rough if goal.unit == "times" or rough is None else rough / bound),
                "reached": reached,
            }
        )
    return told


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
