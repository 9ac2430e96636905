"""What a storm does and when: its runs, and a schedule of strikes, both from the seed. Pure.

Rule: the same seed, number of runs and length give the same schedule, to the last digit. A part is never struck while
it is still down from the strike before, and has a moment to live in between, so that runs get on at all.
Must not know: processes, clocks.
"""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from lab.jobs import CHARGE, DONE, FIELDS, RECEIPT, RECORD, TEXT, TRANSFER, calls

WORKERS = ("worker-1", "worker-2")
LINES = ("line-1", "line-2")
"""From the server to a worker. While a worker is struck, its line leads to the other one."""
TO_MODEL, TO_RECEIVER = "line to the model", "line to the receiver"
MOCK_LINES = (TO_MODEL, TO_RECEIVER)
EFFECTS = ("charge", "refund", "customer", "email", "transfer", "sms")


class Kind(StrEnum):
    KILL = "kill"
    """SIGKILL, and started again."""
    FREEZE = "freeze"
    """SIGSTOP, and SIGCONT."""
    RESTART = "restart"
    """SIGTERM, and started again."""
    CUT = "cut"
    """The connections end."""
    HOLD = "hold"
    """What a worker tells the server is kept, and then lost with the connection: done and not recorded."""
    LOSE = "lose answers"
    """The receiver applies an effect and ends the connection without an answer, or does so before it applies it."""


@dataclass(frozen=True, slots=True)
class Strike:
    """`at_s` from the beginning of the storm; `for_s` until it is undone. `detail`: when
    answers are lost, and of how many requests."""

    at_s: float
    kind: Kind
    part: str
    for_s: float = 0.0
    detail: str = ""

    @property
    def name(self) -> str:
        """Its kind for the figures, with what it strikes."""
        return f"{self.part.rstrip('-12')} {self.kind.value}"


@dataclass(frozen=True, slots=True)
class _Choice:
    weight: int
    kind: Kind
    parts: tuple[str, ...]
    for_s: tuple[float, float] = (0.0, 0.0)


# What needs several parts at work at once falls out most often, so it is drawn more often.
# A frozen worker is noticed after at most 5 s, so the longer freezes see another attempt at work when it is thawed.
CHOICES = (
    _Choice(5, Kind.KILL, WORKERS, (0.1, 1.5)),
    _Choice(4, Kind.FREEZE, WORKERS, (0.5, 9.0)),
    _Choice(2, Kind.RESTART, WORKERS, (0.1, 0.5)),
    _Choice(2, Kind.KILL, ("server",), (0.1, 1.0)),
    _Choice(2, Kind.FREEZE, ("server",), (0.3, 3.0)),
    _Choice(2, Kind.KILL, ("receiver",), (0.1, 0.8)),
    _Choice(2, Kind.FREEZE, ("receiver",), (0.3, 3.0)),
    _Choice(2, Kind.KILL, ("model",), (0.1, 0.8)),
    _Choice(1, Kind.FREEZE, ("model",), (0.3, 3.0)),
    _Choice(7, Kind.CUT, (*LINES, *MOCK_LINES)),
    _Choice(10, Kind.HOLD, LINES, (0.3, 1.5)),
    _Choice(9, Kind.LOSE, ("receiver",), (2.0, 4.0)),
)
THINK_S_MAX = 5.0
GAP_S = (0.3, 1.2)
"""Between two strikes, whatever they are."""
LIFE_S = {"server": 10.0, "receiver": 5.0, "model": 12.0}
WORKER_LIFE_S = 4.0
"""A part lives at least so long between two strikes: a process needs one or two of them to serve, and where the server
or the model is never up for long, nothing gets on that could be struck."""
DRAWS = 8
"""So many draws for a moment; where none falls on a part that lives, the moment passes."""
_SHARES = {"line-1": "worker-1", "line-2": "worker-2", TO_MODEL: "model", TO_RECEIVER: "receiver"}
"""The far end of a line."""
SERVES_S = 3.0
"""After so long what was struck is at work again."""
_NEEDS = {
    "line-1": ("worker-1", "server"),
    "line-2": ("worker-2", "server"),
    TO_MODEL: ("worker-1", "model", "server"),
    TO_RECEIVER: ("worker-1", "receiver", "server"),
}
"""A line is struck only while its ends are at work: nothing would be cut."""


def length_s(runs: int) -> float:
    """How long a storm over so many runs lasts: long enough for each of them to be hit, short enough to watch."""
    return min(90.0, max(20.0, 0.45 * runs))


def schedule(seed: int, seconds: float) -> tuple[Strike, ...]:
    """All strikes in their order."""
    rng = random.Random(f"storm/{seed}/{seconds}")
    back_at = dict.fromkeys((*WORKERS, "server", "receiver", "model"), -max(LIFE_S.values()))
    made: list[Strike] = []
    at_s = rng.uniform(*GAP_S)
    while at_s < seconds:
        drawn = (_draw(rng, round(at_s, 3)) for _ in range(DRAWS))
        strike = next((each for each in drawn if _may_come(each, back_at)), None)
        if strike is not None:
            made.append(strike)
            back_at[part_of(strike)] = at_s + strike.for_s
        at_s += rng.uniform(*GAP_S)
    return tuple(made)


def _may_come(strike: Strike, back_at: Mapping[str, float]) -> bool:
    """`back_at`: when each part was, or will be, back from the strike before."""
    needs = _NEEDS.get(strike.part, _NEEDS[TO_RECEIVER] if strike.kind is Kind.LOSE else ())
    at_work = all(back_at[part] + SERVES_S <= strike.at_s for part in needs)
    return at_work and back_at[part_of(strike)] + life_s(strike) <= strike.at_s


def part_of(strike: Strike) -> str:
    """The process that is struck, or that stands at the far end of the line."""
    return _SHARES.get(strike.part, strike.part)


def _draw(rng: random.Random, at_s: float) -> Strike:
    choice = rng.choices(CHOICES, [each.weight for each in CHOICES])[0]
    part, detail = rng.choice(choice.parts), ""
    if choice.kind is Kind.LOSE:
        when = rng.choice(("after_commit", "after_commit", "before_commit"))
        detail = f"{when} {rng.randint(1, 4)}"
    return Strike(at_s, choice.kind, part, round(rng.uniform(*choice.for_s), 3), detail)


def life_s(strike: Strike) -> float:
    """How long what was struck is left alone after it is back."""
    return LIFE_S.get(part_of(strike), WORKER_LIFE_S)


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a kind of run asks for: turns of (tool, arguments), and the effects that they have at the receiver."""

    name: str
    turns: tuple[tuple[tuple[str, Mapping[str, Any]], ...], ...]
    effects: tuple[str, ...]

    def task(self, tag: str) -> str:
        return f"storm {self.name} for {tag}."

    def script(self, seconds: float) -> dict[str, Any]:
        """For the mock model, which thinks for so long in all. Between the effects it looks things up, so that it never
        thinks about one reply for longer than it may live."""
        own = len(self.turns)
        looks = max(0, round(seconds / THINK_S_MAX) - own - 1)
        replies: list[Mapping[str, Any]] = []
        for index, turn in enumerate(self.turns):
            replies += [_look(number) for number in range(looks * index // own, looks * (index + 1) // own)]
            replies.append(_reply(turn))
        replies.append(DONE)
        delay_s = round(min(THINK_S_MAX, seconds / len(replies)), 3)
        thinking = [{**reply, "delay_s": delay_s} for reply in replies]
        return {"match": rf"storm {self.name} for (?P<tag>\w+)\.", "replies": thinking}


def _look(number: int) -> Mapping[str, Any]:
    return calls("look_up_order", {"order_id": f"{{tag}}n{number}"})


def _reply(turn: tuple[tuple[str, Mapping[str, Any]], ...]) -> dict[str, Any]:
    return {"tool_calls": [each for name, arguments in turn for each in calls(name, arguments)["tool_calls"]]}


_CHARGE = ("charge_card", CHARGE)
_REFUND = ("refund_payment", {"payment_id": "pay_{tag}", "amount_cents": 4900, "reason": "storm"})
_CRM = ("update_crm", RECORD)
_MAIL = ("send_email", RECEIPT)
_TRANSFER = ("transfer_money", TRANSFER)
_SMS = ("send_sms", TEXT)
STATE = FIELDS
"""What a record must be at the end."""

# What promises nothing comes last in most: a run that is in doubt about it waits for a person and does no more.
_KINDS = (
    ("money", ((_CHARGE,), (_REFUND,), (_MAIL,)), ("charge", "refund", "email")),
    ("together", ((_CHARGE, _CRM), (_REFUND, _MAIL)), ("charge", "customer", "refund", "email")),
    ("transfer", ((_CHARGE,), (_CRM,), (_TRANSFER,)), ("charge", "customer", "transfer")),
    ("text", ((_REFUND,), (_CRM, _SMS)), ("refund", "customer", "sms")),
    ("all", ((_CHARGE,), (_REFUND, _CRM), (_TRANSFER,), (_MAIL, _SMS)), EFFECTS),
)
PACES = (0.25, 0.5, 0.75, 1.0)
"""The part of the storm that a run's thinking takes: the first end early, the last go on until it is over."""


@dataclass(frozen=True, slots=True)
class Member:
    """One run of a storm: `pace` is how long the model thinks in all, as a part of the storm."""

    recipe: Recipe
    tag: str
    run_id: str


def recipes() -> Iterator[tuple[Recipe, float]]:
    """Every kind of run at every pace."""
    for name, turns, effects in _KINDS:
        for index, pace in enumerate(PACES):
            yield Recipe(f"{name}-{index + 1}", turns, effects), pace


def members(runs: int, seed: int) -> tuple[Member, ...]:
    """The runs, evenly over the kinds and paces."""
    kinds = [recipe for recipe, _ in recipes()]
    random.Random(f"members/{seed}").shuffle(kinds)
    return tuple(
        Member(kinds[number % len(kinds)], f"s{seed}x{number:04}x", f"storm-{seed}-{number:04}")
        for number in range(runs)
    )
