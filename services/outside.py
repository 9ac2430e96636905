"""What a run works with, made once by the composition and shared by all runs of a worker.

Rule: nothing here belongs to one run.
Must not know: Restate's contexts.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import SecretStr

from services.bucket import Rate
from services.busy import Busy
from services.deadlines import Timeouts
from services.doorway import Doorway
from services.limits import Limits
from services.messages import Grant
from services.model import Model
from services.moves import Caps
from services.provider import Provider
from services.watch import Watch
from tools.tool import Tool
from tools.wire import Wire

MODEL, RECEIVER = "model", "receiver"
"""Names of what may have a rate; the latter is also the tools' usual receiver."""


@dataclass(frozen=True, slots=True)
class People:
    """When people are asked, and how long they have."""

    approve_above_cents: Mapping[str, int]
    """Per tool, the amount above which a person must approve; -1 for every call."""
    approval_expires_s: float | None
    """An approval that nobody decides in this time is denied."""
    actor_header: str
    """The header in which the gateway says who acts."""
    actor_required: bool
    webhook_path: str | None
    """Where at its address somebody is told when a run waits, is in doubt, is stuck or has ended; None: nobody is."""
    webhook_secret: SecretStr | None
    escalate_s: float | None
    """After so long without an answer they are told once more."""


@dataclass(frozen=True, slots=True)
class Outside:
    tools: Mapping[str, Tool]
    wire: Wire
    model: Model
    provider: Provider
    limits: Limits
    grant: Grant
    caps: Caps
    people: People
    retention_s: float
    """How long an ended run is kept before only its tombstone stays."""
    instructions: str
    timeouts: Timeouts
    rates: Mapping[str, Rate]
    """By what is limited: `model`, or the name of a receiver. What is not in it may be asked at any rate."""
    busy: Busy
    doorway: Doorway
    watch: Watch

    async def open(self) -> None:
        """Loads the client libraries, which takes about a second; awaited once the port is open."""
        await asyncio.to_thread(self.wire.load)
        await self.model.open()
