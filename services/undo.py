"""After a cancel: who did it, and undoing what was done, the last effect first, each as an effect with its own key.

Rule: an undo is in the ledger like any effect. Where its outcome is unknown the row says so; a cancelled run waits for
nobody.
Must not know: what the run was at.
"""

from dataclasses import replace
from typing import TypeVar

import restate
from pydantic import JsonValue
from restate import ObjectContext, RestateDurableFuture, TerminalError

from services.calls import Call
from services.decision import Stop, Stopped, stopped
from services.journal import Journal
from services.ledger import Go, in_order
from services.messages import MAY_HAVE_HAPPENED, Intent, IntentState
from services.turn import CANCELS_MAX, Turn
from tools.effect import Effect
from tools.tool import Tool

T = TypeVar("T")


async def insist(future: RestateDurableFuture[T]) -> T:
    """The future's value, also while further cancels arrive."""
    for _ in range(CANCELS_MAX):
        try:
            await restate.wait_completed(future)
            break
        except TerminalError:
            continue
    return await future


async def who_cancelled(ctx: ObjectContext, journal: Journal, at: float) -> Stop:
    """Asks the `Decision`. A further cancel ends the call that asks, too; then it is asked again."""
    home = journal.home or journal.invocation
    for _ in range(CANCELS_MAX):
        call = ctx.object_call(stopped, ctx.key(), Stopped(invocation=home))
        try:
            said: Stop = await insist(call)
        except TerminalError:
            continue
        return said
    return Stop(who="the operator", at=at)


async def undo(turn: Turn) -> str:
    """Undoes Done effects in reverse order; returns what to say about it."""
    done = [
        row for row in reversed(in_order(turn.ledger.rows.values())) if row.state is IntentState.DONE and not row.undoes
    ]
    undone: list[Intent] = []
    left: list[Intent] = []
    for row in done:
        tool = turn.outside.tools.get(row.tool)
        if tool is None or tool.undo is None:
            left.append(row)
            continue
        result = await turn.perform_undo(*undoing(turn, row, tool), number=row.turn)
        (undone if result is IntentState.DONE else left).append(row)
    parts = [f"; undone: {', '.join(row.tool for row in undone)}"] if undone else []
    parts += [f"; not undone: {', '.join(row.tool for row in left)}"] if left else []
    return "".join(parts)


def doubts(turn: Turn) -> str:
    """What to say of effects of which nobody knows: a cancelled run asks no one about them."""
    rows = in_order(row for row in turn.ledger.rows.values() if row.state in MAY_HAVE_HAPPENED)
    return f"; may have happened, so ask the receiver: {', '.join(row.tool for row in rows)}" if rows else ""


def undoing(turn: Turn, row: Intent, tool: Tool) -> tuple[Call, Go]:
    identity: dict[str, JsonValue] = {"undoes": row.key}
    intent = Intent(
        key=turn.ledger.key(row.tool, identity, 1),
        tool=row.tool,
        effect=Effect.KEYED.value,
        identity=identity,
        occurrence=1,
        arguments=row.arguments,
        pass_number=turn.ledger.pass_number,
        turn=row.turn,
        index=row.index,
        state=IntentState.PROPOSED,
        digest="",
        size_bytes=0,
        amount_cents=row.amount_cents,
        currency=row.currency,
        value=row.value,
        undoes=row.key,
    )
    call = Call(row.turn, row.index, "", row.tool, row.arguments, None)
    return call, Go(replace(tool, effect=Effect.KEYED, find=None), intent)
