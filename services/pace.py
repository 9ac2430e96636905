"""Waiting for room in a rate that is set, before anything leaves for what it limits.

Rule: room is asked for before an effect is sealed, so that the wait is no part of its send deadline; a send that is
repeated under its seal asks again, and is sealed anew where the wait outlasts the seal. Where no rate is set nothing is
asked and nothing is journalled.
Must not know: what is sent, how a wait is shown.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from restate import ObjectContext, RestateDurableFuture

from services.bucket import Rate
from services.lane import Lane
from services.margins import open_until
from services.messages import IntentState
from services.moves import LookUp, Move, Progress, Seal, Send, Wait
from services.rate import Room, Take, take

Pending = dict[RestateDurableFuture[Any], Callable[[], Awaitable[None]]]


def ask_for_room(ctx: ObjectContext, rate: Rate) -> RestateDurableFuture[Room]:
    return ctx.object_call(take, rate.name, Take(rate=rate))


def next_move(ctx: ObjectContext, rates: Mapping[str, Rate], lane: Lane, pending: Pending) -> Move | None:
    """Takes the lane's move; None where there is none, or where it must wait for room. Then it is asked for, and the
    lane gets the move back when there is some."""
    move, lane.move = lane.move, None
    rate = rate_of(lane.progress, move, rates)
    if rate is None or not isinstance(move, Seal | Send | LookUp):
        return move
    if lane.room:
        lane.room = isinstance(move, Seal)
        return move
    call, lane.doing = ask_for_room(ctx, rate), "step"
    held = move

    async def arrived() -> None:
        room: Room = await call
        lane.doing, lane.room = "", True
        lane.move = later(lane.progress, held, room, rate)

    pending[call] = arrived
    return None


def rate_of(progress: Progress, move: Move | None, rates: Mapping[str, Rate]) -> Rate | None:
    """The rate that limits what the move begins. What a tool does itself is not limited, its look-up is."""
    tool = progress.tool
    if tool is None:
        return None
    match move:
        case LookUp():
            return rates.get(tool.base)
        case Send() | Seal(IntentState.ARMED) if not tool.code:
            return rates.get(tool.base)
        case _:
            return None


def later(progress: Progress, move: Seal | Send | LookUp, room: Room, rate: Rate) -> Move:
    """The move, after the wait that the room needs."""
    if room.wait_s <= 0:
        return move
    outlasts = progress.intent is not None and room.at + room.wait_s > open_until(progress)
    if isinstance(move, Send) and outlasts and not progress.policy.within_deadline:
        move = Seal(IntentState.ARMED)
    return Wait(room.wait_s, move, said(rate))


def said(rate: Rate) -> str:
    """Why there is a wait, for who looks at the run."""
    return f"no more than {rate.per_s:g} requests a second may go to the {rate.name}"
