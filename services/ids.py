"""The ids under which calls are sent back to the model. Pure.

Rule: unique in the whole history, and usable with every provider. An id depends only on what came before, so it never
changes later.
Must not know: what is asked for, what is sent.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from services.reply import given_ids, usable_id


@dataclass(frozen=True, slots=True)
class Ids:
    """The ids of the calls of each reply, in order."""

    of: tuple[tuple[str, ...], ...] = ()
    taken: frozenset[str] = frozenset()

    def plus(self, raw: Mapping[str, JsonValue]) -> "Ids":
        """With the calls of one more reply. A session's turns begin anew with each run; the count of replies does
        not."""
        given = given_ids(raw)
        if not given:
            return Ids((*self.of, ()), self.taken)
        taken, chosen = set(self.taken), []
        for index, identifier in enumerate(given):
            chosen.append(_id(identifier, len(self.of) + 1, index, taken))
        return Ids((*self.of, tuple(chosen)), frozenset(taken))


def _id(given: str, nth: int, index: int, taken: set[str]) -> str:
    """The provider's id where it is usable and new; otherwise nine plain characters, which every provider takes."""
    chosen, number = given, 0
    while not usable_id(chosen) or chosen in taken:
        chosen = f"t{nth:04d}c{index:03d}" if number == 0 else f"t{nth:04d}c{index:03d}x{number}"
        number += 1
    taken.add(chosen)
    return chosen
