"""Each class of effects under each fault: the receiver has the effect once, or a person is asked, with the evidence.

The judge is what the receiver applied. One fault meets five runs, one of each class; a test is one of them.
"""

from typing import Any

import pytest

from lab.relay import Relay
from lab.stack import Stack
from tests.server.faults import FAULTS, Cells
from tests.server.faults.kills import killed_at
from tests.server.stand import KEYED, KINDS, MORE_KEYED, Cell, Kind, Stand


class Performed:
    """Each fault is brought once for all kinds that are played together."""

    def __init__(self, stack: Stack, relay: Relay) -> None:
        self.stack, self.relay = stack, relay
        self.cells: dict[tuple[str, tuple[Kind, ...]], Cells] = {}

    def cell(self, name: str, kind: Kind, together: tuple[Kind, ...] = KINDS) -> Cell:
        if (name, together) not in self.cells:
            stand = Stand(self.stack, 1000 + len(self.cells), relay=self.relay, kinds=together)
            stand.restore()
            self.cells[name, together] = FAULTS[name].act(stand)
        return self.cells[name, together][kind]


@pytest.fixture(scope="module")
def performed(place: tuple[Stack, Relay]) -> Performed:
    return Performed(*place)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.long] if known.long else []) for name, known in FAULTS.items()]
)
def test_an_effect_is_made_once_or_a_person_is_asked(performed: Performed, name: str, kind: Kind) -> None:
    cell = performed.cell(name, kind)
    judge(cell, FAULTS[name].expected[KINDS.index(kind)])


@pytest.mark.long
@pytest.mark.parametrize("kind", MORE_KEYED, ids=lambda kind: kind.name)
@pytest.mark.parametrize("name", [name for name in FAULTS if name.startswith("killed_")])
def test_a_kill_of_the_worker_at_any_point_doubles_no_refund_and_no_mail(
    performed: Performed, name: str, kind: Kind
) -> None:
    judge(performed.cell(name, kind, MORE_KEYED), FAULTS[name].expected[KINDS.index(KEYED)])


def judge(cell: Cell, expected: str) -> None:
    status = cell.world.until(cell.run_id, "completed", "failed", "outcome_unknown", "waiting_approval")
    found = verdict(cell, status)
    assert found == {"stays": "not applied"}.get(expected, expected), (status, cell.requests())
    if found != "done":
        tell_the_truth(cell, status)
        if expected == "stays":
            give_up(cell, status)
            return
        status = cell.world.until(cell.run_id, "completed", "failed")
        assert verdict(cell, status) == "done", (status, cell.requests())
    assert_well_made(cell, status)


def verdict(cell: Cell, status: dict[str, Any]) -> str:
    applied = cell.applied()
    if applied > 1:
        return "duplicated"
    match status["state"]:
        case "completed" if not cell.kind.changes or applied:
            return "done"
        case "completed":
            return "lost"
        case "outcome_unknown" if status["ledger"][-1]["alarm"] and not applied:
            return "alarm"
        case "outcome_unknown":
            return "applied" if applied else "not applied"
        case other:
            return str(other)


def tell_the_truth(cell: Cell, status: dict[str, Any]) -> None:
    (question,) = status["questions"]
    assert question["kind"] == "unknown" and question["text"] and question["choices"]
    effects = cell.effects()
    if effects:
        reply = cell.world.decide(cell.run_id, question["key"], "happened", receiver_id=str(effects[0]["id"]))
    else:
        reply = cell.world.decide(cell.run_id, question["key"], "did_not_happen")
    assert reply.status_code == 200, reply.text


def give_up(cell: Cell, before: dict[str, Any]) -> None:
    """The receiver answers from its record for ever: the run asks again, and a person ends it."""
    number = before["questions"][0]["number"]
    again = cell.world.wait(
        lambda: [each for each in cell.status().get("questions", []) if each["number"] > number],
        "a second question",
        cell.run_id,
    )
    assert cell.world.decide(cell.run_id, again[0]["key"], "give_up").status_code == 200
    status = cell.world.until(cell.run_id, "completed")
    assert [row["state"] for row in status["ledger"]] == ["given_up"]
    assert not cell.effects()


def assert_well_made(cell: Cell, status: dict[str, Any]) -> None:
    """One key, the same bytes each time, one row in the ledger, and a history that the strict model took."""
    assert not cell.world.bugs(cell.invocation)
    requests = cell.requests()
    assert len({row["key"] for row in requests}) <= 1
    assert len({row["digest"] for row in requests}) <= 1
    assert [row["state"] for row in status["ledger"]] == (["done"] if cell.kind.changes else [])
    assert not [row for row in cell.world.stack.model.requests() if row["status"] == 400]


def test_a_receiver_that_ignores_keys_shows_two(stand: Stand) -> None:
    """So the judge can fail."""
    stand.behave("charge", ignore_keys=True)
    cell = killed_at(stand, "applied")[KEYED]
    status = stand.until(cell.run_id, "completed")
    assert verdict(cell, status) == "duplicated" and cell.applied() == 2
    assert len({row["key"] for row in cell.requests()}) == 1
