"""The limits of a run, and what it has used of them.

Rule: everything is counted from the entries of the transcript, so from journalled values: a crash resets nothing.
Each limit has a default and a reason.
Must not know: Restate, what is done when a limit is reached.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from services.messages import Used
from services.provider import Provider
from services.reason import Limit, Reason
from services.transcript import Extended, Transcript

REASONS: dict[Limit, Reason] = {
    Limit.TURNS: Reason.MAX_TURNS,
    Limit.CALLS: Reason.MAX_CALLS,
    Limit.TOKENS: Reason.MAX_TOKENS,
    Limit.COST: Reason.MAX_COST,
    Limit.WALL: Reason.MAX_WALL,
}


class Limits(BaseModel):
    """What one run may use."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    turns: int = Field(50, ge=1, description="Replies of the model. A task that needs more is going in circles.")
    calls: int = Field(200, ge=0, description="Tool calls of all turns: four to each turn.")
    calls_per_turn: int = Field(32, ge=1, description="Calls that one reply may make; the rest are answered unrun.")
    tokens: int = Field(2_000_000, ge=1, description="Input and output of all turns: 40,000 to each of fifty turns.")
    cost_cents: float | None = Field(
        None, gt=0, description="Cost of all turns; none, because without prices nothing is counted."
    )
    wall_s: float = Field(
        6 * 3600, gt=0, description="From start to end without waits for people. Longer than a provider's longest wait."
    )
    bad_turns: int = Field(
        3, ge=1, description="Replies in a row that cannot be read. The third shows that it is no chance."
    )
    result_bytes: int = Field(
        32_000, ge=200, description="One tool result: some 8,000 tokens, more than a model needs."
    )
    arguments_bytes: int = Field(
        64_000, ge=100, le=200_000, description="The arguments of one call: a long mail with room to spare."
    )
    history_bytes: int = Field(
        1_000_000, ge=2_000, description="The messages of one request; far below the server's 32 MiB for a message."
    )
    answer_bytes: int = Field(64_000, ge=200, description="The final answer: a text for people, kept with the run.")
    on_limit: Literal["fail", "ask"] = Field("fail", description="At a limit the run fails, or waits for a person.")


def amounts(transcript: Transcript, provider: Provider) -> dict[Limit, float]:
    """What the run has used, by limit. Costs come from the provider's prices."""
    tally = transcript.tally
    usage = tally.usage
    cost = (usage.tokens_in * provider.price_in + usage.tokens_out * provider.price_out) / 1_000_000
    return {
        Limit.TURNS: tally.turns,
        Limit.CALLS: tally.calls,
        Limit.TOKENS: usage.tokens_in + usage.tokens_out,
        Limit.COST: cost,
        Limit.WALL: tally.wall_s,
    }


def used(transcript: Transcript, provider: Provider) -> Used:
    """What the run has used, as `status` shows it."""
    so_far = amounts(transcript, provider)
    return Used(
        turns=int(so_far[Limit.TURNS]),
        calls=int(so_far[Limit.CALLS]),
        tokens=int(so_far[Limit.TOKENS]),
        cost_cents=so_far[Limit.COST],
    )


def allowed(transcript: Transcript, limits: Limits) -> dict[Limit, float]:
    """What the run may use: the limits and what people added to them. A limit that is not set is absent."""
    most: dict[Limit, float] = {
        Limit.TURNS: limits.turns,
        Limit.CALLS: limits.calls,
        Limit.TOKENS: limits.tokens,
        Limit.WALL: limits.wall_s,
    }
    if limits.cost_cents is not None:
        most[Limit.COST] = limits.cost_cents
    for entry in transcript.of(Extended):
        if entry.limit in most:
            most[entry.limit] += max(0.0, entry.by)
    return most


def left(transcript: Transcript, limits: Limits, provider: Provider) -> dict[str, float]:
    """What is left of each limit, by its name; never below zero."""
    so_far = amounts(transcript, provider)
    return {limit.value: max(0.0, most - so_far[limit]) for limit, most in allowed(transcript, limits).items()}


def reached(transcript: Transcript, limits: Limits, provider: Provider) -> tuple[Limit, float, float] | None:
    """The first limit that forbids another turn, with what was used and what is allowed; None while there is room.

    Calls are left to the turn that wants to make them: a run that has none left may still give its answer.
    """
    so_far = amounts(transcript, provider)
    for limit, most in allowed(transcript, limits).items():
        if limit is not Limit.CALLS and so_far[limit] >= most:
            return limit, so_far[limit], most
    return None
