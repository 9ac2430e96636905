"""The terms of a pass: what it may use and do, and how patient it is, as they were when it began.

Rule: they are recorded in the step that begins the pass, and nothing else is asked later. So a worker that comes back
with other settings goes on with a run as it was begun, and replays it the same way.
Must not know: how any of it is used.
"""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field, JsonValue

from services.bucket import Rate
from services.grants import closed, misnamed, narrowed
from services.limits import Limits
from services.messages import Grant, Kept, RunRequest
from services.moves import Caps
from services.outside import Outside
from services.provider import Provider
from tools.tool import Tool

PATIENCE = frozenset({"attempts", "backoff_s", "backoff_max_s", "wait_budget_s", "price_in", "price_out"})
"""The provider's settings that decide what a run does next. The others are used inside a step only."""


class Terms(Kept):
    limits: Limits
    grant: Grant
    approve_above_cents: dict[str, int]
    approval_expires_s: float | None
    unknown: Literal["park", "tell"]
    key_lifetime_s: float | None
    patience: dict[str, JsonValue]
    instructions: str
    rates: dict[str, Rate] = Field(default_factory=dict)
    misnamed: str = ""
    """What the request's grant names that was not there; a run that begins with it is refused, one that has begun goes
    on."""

    def caps(self) -> Caps:
        return Caps(self.unknown, self.key_lifetime_s, self.limits.result_bytes)

    def granted(self, tools: Mapping[str, Tool]) -> Mapping[str, Tool]:
        """Those that the model hears of."""
        names = self.grant.tools
        return tools if names is None else {name: tool for name, tool in tools.items() if name in names}

    def provider(self, now: Provider) -> Provider:
        """The provider as it is now, with the patience and the prices of when the pass began."""
        return now.model_copy(update=self.patience)


def terms_of(outside: Outside, request: RunRequest) -> Terms:
    """The settings, and what the request asks for where it may."""
    return Terms(
        limits=tightened(outside.limits, request),
        grant=closed(narrowed(outside.grant, request.grant), outside.tools),
        approve_above_cents=dict(outside.people.approve_above_cents),
        approval_expires_s=outside.people.approval_expires_s,
        unknown=request.unknown or outside.caps.unknown,
        key_lifetime_s=outside.caps.key_lifetime_s,
        patience=outside.provider.model_dump(mode="json", include=set(PATIENCE)),
        instructions=outside.instructions,
        rates=dict(outside.rates),
        misnamed=misnamed(request.grant, outside.tools),
    )


def tightened(limits: Limits, request: RunRequest) -> Limits:
    """The settings' limits, or the run's own where those are stricter."""
    wanted = request.limits.model_dump(exclude_none=True) if request.limits is not None else {}
    stricter = {
        name: value for name, value in wanted.items() if (most := getattr(limits, name)) is None or value < most
    }
    return limits.model_copy(update=stricter)
