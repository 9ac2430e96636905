"""Who takes part: each contestant with the way in which a run is submitted and awaited.

Rule: every contestant sends the stable id that its framework offers as the key of each effect, in its documented way,
with the clients that it comes with. Names on the command line are those of this list.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from lab.contestants import targets
from lab.errors import UsageError
from lab.targets import PAWL, Addresses, Target

WAIT_S = 120
PLAIN, BARE, LEAN = "plain", "bare", "bare-lean"


@dataclass(frozen=True, slots=True)
class Contestant:
    """`target` is how it starts; `missing` is why it cannot take part here, where it cannot."""

    name: str
    title: str
    target: Target
    missing: str | None = None

    def url(self, at: Addresses, worker: str, run_id: str) -> str:
        """Where a run is posted; the answer comes at its end."""
        if self.target.service:
            return f"{at.ingress}/{self.target.service}/{run_id}/run"
        return f"{worker}/runs/{run_id}?wait_s={WAIT_S}"


def _named(target: Target) -> Contestant:
    title = target.title.removesuffix(", keyed")
    return Contestant(target.name.removesuffix("-keyed"), title, target, targets.why_not(target))


def _keyed(name: str) -> Target:
    return next(target for target in targets.WITH_KEY if target.name == f"{name}-keyed")


CONTESTANTS: tuple[Contestant, ...] = (
    _named(targets.PLAIN_LOOP),
    _named(targets.BARE_LOOP),
    _named(targets.LEAN_LOOP),
    Contestant("pawl", "Pawl", PAWL),
    *(_named(_keyed(name)) for name in ("typescript", "openai-agents", "pydantic-ai")),
    _named(targets.PYDANTIC_AI_CACHED),
    *(_named(_keyed(name)) for name in ("dbos", "langgraph", "temporal")),
)
NAMES = tuple(contestant.name for contestant in CONTESTANTS)


def contestant(name: str) -> Contestant:
    """The one of that name. Raises UsageError where there is none."""
    for each in CONTESTANTS:
        if each.name == name:
            return each
    raise UsageError(f"the benchmark has no contestant {name}; there are {', '.join(NAMES)}")


def present(chosen: Sequence[str]) -> tuple[tuple[Contestant, ...], tuple[str, ...]]:
    """Those of the chosen that can run here, and a sentence for each that cannot."""
    wanted = [contestant(name) for name in chosen]
    missing = tuple(f"{each.title}: {each.missing}" for each in wanted if each.missing is not None)
    return tuple(each for each in wanted if each.missing is None), missing
