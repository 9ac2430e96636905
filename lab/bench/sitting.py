"""One sitting of the benchmark: what every part is given. Must not know: any part."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from lab.bench.contestants import Contestant, contestant
from lab.bench.field import Field


@dataclass(slots=True)
class Sitting:
    """`quick` makes every part as small as it can be and still go through all that it does. `say` tells a person how
    far it is."""

    folder: Path
    binary: Path
    rounds: int
    quick: bool
    contestants: tuple[Contestant, ...]
    say: Callable[[str], None]
    _numbers: "Iterator[int]" = field(default_factory=count)

    @contextmanager
    def field(self) -> Iterator[Field]:
        """A new one, with an empty server."""
        folder = self.folder / f"field-{next(self._numbers)}"
        folder.mkdir(parents=True)
        with Field(folder, self.binary) as made:
            yield made

    def pick(self, full: int, quick: int) -> int:
        """A size."""
        return quick if self.quick else full

    def of(self, *names: str) -> tuple[Contestant, ...]:
        """Those of the names that take part."""
        return tuple(each for each in self.contestants if each.name in names)

    def pawl(self) -> Contestant:
        """It is always there."""
        return contestant("pawl")
