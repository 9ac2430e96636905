"""Gates: hold a request at a named point until told to let it go.

Rule: a gate lives in memory only and knows nothing of HTTP or of what the request does; a held request goes on when the
gate is released, whether or not its client is still there.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from mocks.rows import GatePoint, GateRow

ANY_EFFECT = "*"


@dataclass(slots=True)
class Gate:
    """One armed gate. `left` is how many requests it will still hold."""

    id: str
    effect: str
    point: GatePoint
    left: int
    held: int = 0
    reached: asyncio.Event = field(default_factory=asyncio.Event)
    opened: asyncio.Event = field(default_factory=asyncio.Event)

    def catches(self, effect: str, point: GatePoint) -> bool:
        """Whether a request of `effect` at `point` is held here."""
        return (
            self.left > 0 and not self.opened.is_set() and self.point == point and self.effect in (effect, ANY_EFFECT)
        )

    def row(self) -> GateRow:
        """What is served."""
        return {"id": self.id, "held": self.held, "released": self.opened.is_set()}


class Gates:
    """All gates of one process. `settled` returns when what the held request has written is on disk."""

    def __init__(self, settled: Callable[[], Awaitable[None]]) -> None:
        self._gates: dict[str, Gate] = {}
        self._settled = settled

    def arm(self, effect: str, point: GatePoint, times: int) -> Gate:
        """Hold the next `times` requests of `effect` at `point`."""
        gate = Gate(f"gate_{len(self._gates) + 1}", effect, point, times)
        self._gates[gate.id] = gate
        return gate

    def find(self, gate_id: str) -> Gate | None:
        """The gate of this id, released or not."""
        return self._gates.get(gate_id)

    async def pass_through(self, effect: str, point: GatePoint) -> None:
        """Return at once, or when the first gate that catches this request is released."""
        for gate in self._gates.values():
            if gate.catches(effect, point):
                gate.left -= 1
                await self._settled()  # whoever learns that it is held may kill us in the next moment
                gate.held += 1
                gate.reached.set()
                await gate.opened.wait()
                return

    def release(self, gate: Gate) -> None:
        """Let go everything held and hold nothing more."""
        gate.opened.set()
