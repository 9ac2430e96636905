"""After a cancel: who did it, and undoing what was done, the last effect first, each as an effect with its own key.

Rule: an undo is in the ledger like any effect. Where its outcome is unknown the row says so; a cancelled run waits for
nobody.
Must not know: what the run was at.
"""

from dataclasses import replace
from typing import TypeVar

import restate
from restate import ObjectContext, RestateDurableFuture, TerminalError

from services.calls import Call
from services.decision import Stop, Stopped, stopped
from services.journal import Journal
from services.ledger import in_order, plan_undo
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
    rows = reversed(in_order(turn.ledger.rows.values()))
    done = [row for row in rows if row.state is IntentState.DONE and not row.undoes and not turn.ledger.undone(row)]
    undone: list[Intent] = []
    left: list[Intent] = []
    for row in done:
        tool = turn.outside.tools.get(row.tool)
        planned = plan_undo(turn.ledger, row, as_undo(tool)) if tool is not None and tool.undo is not None else None
        if planned is None:
            left.append(row)
            continue
        call = Call(row.turn, row.index, "", row.tool, row.arguments, None)
        result = await turn.perform_undo(call, planned, number=row.turn)
        (undone if result is IntentState.DONE else left).append(row)
    parts = [f"; undone: {', '.join(row.tool for row in undone)}"] if undone else []
    parts += [f"; not undone: {', '.join(row.tool for row in left)}"] if left else []
    return "".join(parts)


def doubts(turn: Turn) -> str:
    """What to say of effects of which nobody knows: a cancelled run asks no one about them."""
    rows = in_order(row for row in turn.ledger.rows.values() if row.state in MAY_HAVE_HAPPENED)
    return f"; may have happened, so ask the receiver: {', '.join(row.tool for row in rows)}" if rows else ""


def as_undo(tool: Tool) -> Tool:
    """The tool as it takes back: under a key, whatever its own class is, and with nothing to look it up by."""
    return replace(tool, effect=Effect.KEYED, find=None)
