"""Which behaviour the next request of an effect meets.

Rule: `times` is counted down on disk, so a restart renews nothing. It must not know what a behaviour does.
"""

from mocks.behaviour import HONEST, Behaviour
from mocks.gates import ANY_EFFECT
from mocks.store import Store


class Behaviours:
    """The behaviours set now: an effect's own one, else the one for all effects, else the honest one."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._set = store.behaviours()

    def show(self) -> dict[str, Behaviour]:
        """All that are set, by effect."""
        return dict(self._set)

    def put(self, effect: str, behaviour: Behaviour) -> None:
        """Replace the behaviour of an effect, or of all (`*`)."""
        self._set[effect] = behaviour
        self._store.set_behaviour(effect, behaviour)

    def reset(self, effect: str) -> None:
        """Honest again: one effect, or (`*`) whatever is set."""
        for name in list(self._set) if effect == ANY_EFFECT else [effect]:
            self._drop(name)

    def take(self, effect: str) -> Behaviour:
        """The behaviour for one request, counted."""
        if not self._set:
            return HONEST
        name = effect if effect in self._set else ANY_EFFECT
        behaviour = self._set.get(name, HONEST)
        if behaviour.times is not None and behaviour.times > 1:
            self.put(name, behaviour.model_copy(update={"times": behaviour.times - 1}))
        elif behaviour.times is not None:
            self._drop(name)
        return behaviour

    def _drop(self, name: str) -> None:
        self._set.pop(name, None)
        self._store.set_behaviour(name, None)
