"""What goes wrong, by its name: a function that starts a run of every kind and brings the fault at its point.

Each is noted with what is expected of the five classes: read, set, keyed, once with find, once without. The words:
`done`: the run completes by itself, with one effect. `applied`, `not applied`: it waits for a person, and so it is at
the receiver; told the truth it completes with one effect. `alarm`: it waits, nothing was applied, and it says that
this is our own mistake. `stays`: told that it did not happen it waits again, because the receiver answers from its
record.
"""

from collections.abc import Callable
from dataclasses import dataclass

from tests.server.stand import KINDS, Cell, Kind, Stand

Cells = dict[Kind, Cell]
Fault = Callable[[Stand], Cells]


@dataclass(frozen=True)
class Known:
    """A fault, what is expected of each class, and whether it is left to the longer tests."""

    act: Fault
    expected: tuple[str, ...]
    long: bool


FAULTS: dict[str, Known] = {}


def fault(*expected: str, long: bool = False) -> Callable[[Fault], Fault]:
    def note(act: Fault) -> Fault:
        assert len(expected) == len(KINDS)
        FAULTS[act.__name__] = Known(act, expected, long)
        return act

    return note
