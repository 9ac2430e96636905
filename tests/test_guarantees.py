"""The table of classes and faults in docs/guarantees.md: it says what the tests and the lab expect, of all of them."""

import re
from fnmatch import fnmatchcase
from itertools import product
from pathlib import Path

import pytest

from lab.cells import Cell, Fault, Group, Point, Verdict
from lab.jobs import JOBS, Class
from lab.matrix import cells
from tests.server.faults import FAULTS
from tests.server.stand import KINDS

TEXT = (Path(__file__).parent.parent / "docs" / "guarantees.md").read_text()
CLASSES = (Class.READ, Class.SET, Class.KEYED, Class.ONCE_FOUND, Class.ONCE)
NOTHING = "-"
TESTED = {
    "once": {"done"},
    "found": {"done"},
    "again": {"done"},
    "told": {"done"},
    "asks": {"applied", "not applied", "stays"},
    "alarm": {"alarm"},
}
PLAYED = {
    "once": {Verdict.ONCE, Verdict.NONE},
    "found": {Verdict.ONCE},
    "again": {Verdict.NONE},
    "asks": {Verdict.UNKNOWN},
}


def rows() -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
    """By what stands in their last column: the words for the five classes, and the names there."""
    table = TEXT[TEXT.index("| fault | READ |") :].partition("\n\n")[0]
    found = {}
    for line in table.splitlines()[2:]:
        _, _, *words, shown, _ = (part.strip() for part in line.split("|"))
        names = tuple(name for group in re.findall(r"`([^`]+)`", shown) for name in spelt_out(group))
        found[shown] = (tuple(re.split(r"[ ,]", word)[0] for word in words), names)
    assert len(found) == len(table.splitlines()) - 2
    return found


def spelt_out(group: str) -> list[str]:
    """`{a,b}/c` is `a/c` and `b/c`."""
    parts = re.split(r"\{([^}]+)\}", group)
    choices = [part.split(",") if at % 2 else [part] for at, part in enumerate(parts)]
    return ["".join(each) for each in product(*choices)]


ROWS = rows()
PLACES = [cell for cell in cells() if cell.group is Group.PAWL and cell.fault is not Fault.NONE]


def at(name: str) -> list[Cell]:
    """The lab's cells that a name of the last column means."""
    return [cell for cell in PLACES if fnmatchcase(place(cell), name)]


def place(cell: Cell) -> str:
    return cell.fault.value if cell.point is Point.NONE else f"{cell.fault.value}/{cell.point.value}"


@pytest.mark.parametrize("shown", ROWS)
def test_a_row_says_what_is_expected(shown: str) -> None:
    words, names = ROWS[shown]
    assert names
    for name in names:
        known = FAULTS.get(name)
        if known is None:
            played = at(name)
            assert played, f"{name} is no fault of the tests and no cell of the lab"
            for cell in played:
                word = words[CLASSES.index(JOBS[cell.job].kind)]
                assert word != NOTHING and PLAYED[word] & cell.expected, (cell.id, word)
            continue
        for word, expected, kind in zip(words, known.expected, KINDS, strict=True):
            # A read that was not brought to the point completes, and says nothing.
            assert expected in TESTED[word] if word != NOTHING else not kind.changes, (name, kind.name, word)


def test_it_is_the_whole_table() -> None:
    named = [name for _, names in ROWS.values() for name in names]
    assert set(FAULTS) <= set(named)
    assert not [cell.id for cell in PLACES if not any(fnmatchcase(place(cell), name) for name in named)]


def test_the_test_that_can_be_run_alone_is_one() -> None:
    (chosen,) = re.findall(r"::test_an_effect_is_made_once_or_a_person_is_asked\[(.+?)\]", TEXT)
    assert chosen in {f"{name}-{kind.name}" for name in FAULTS for kind in KINDS}


def test_every_promise_names_what_shows_it() -> None:
    """What is promised stands in lists; what nobody can promise stands at the end and names nothing."""
    promises = TEXT[TEXT.index("## Keys") : TEXT.index("## What nobody can promise")]
    listed = re.split(r"\n- ", promises)[1:]
    assert len(listed) > 5
    assert not [each for each in listed if "::test_" not in each]
