"""The run's own state in its Restate object: the only place that names its entries and reads or writes them.

Rule: no write can take back what is final. A journal that is continued by another invocation may write again what it
wrote before its next step, so what is open and what is final stand in entries of their own, and the final one is
believed: `open/KEY` and `intent/KEY` for an intent, `run` and `end` for the run. Entries are few and small.
Must not know: models, tools, what a row means.
"""

from uuid import UUID

from restate import ObjectContext, ObjectSharedContext

from services.codec import codec
from services.ledger import in_order
from services.messages import FINAL, Begun, Intent, RunEnd, RunRow, Tombstone

BEGUN, RUN, END, ROOT = "begun", "run", "end", "root"
OPEN, INTENT = "open/", "intent/"

Reader = ObjectContext | ObjectSharedContext


async def begun(ctx: Reader) -> Begun | None:
    return await ctx.get(BEGUN, serde=codec(Begun))


def set_begun(ctx: ObjectContext, row: Begun) -> None:
    ctx.set(BEGUN, row, serde=codec(Begun))


async def run_row(ctx: Reader) -> RunRow | None:
    return await ctx.get(RUN, serde=codec(RunRow))


def set_run_row(ctx: ObjectContext, row: RunRow) -> None:
    ctx.set(RUN, row, serde=codec(RunRow))


async def end(ctx: Reader) -> RunEnd | Tombstone | None:
    """The end of the last pass that ended, or what is left of it."""
    return await ctx.get(END, serde=codec(RunEnd, Tombstone))


def set_end(ctx: ObjectContext, row: RunEnd) -> None:
    ctx.set(END, row, serde=codec(RunEnd, Tombstone))


async def root(ctx: Reader) -> UUID | None:
    return await ctx.get(ROOT, serde=codec(UUID))


def set_root(ctx: ObjectContext, value: UUID) -> None:
    ctx.set(ROOT, value, serde=codec(UUID))


def set_intent(ctx: ObjectContext, row: Intent) -> None:
    if row.state in FINAL:
        ctx.set(INTENT + row.key, row, serde=codec(Intent))
        ctx.clear(OPEN + row.key)
    else:
        ctx.set(OPEN + row.key, row, serde=codec(Intent))


async def intent(ctx: Reader, key: str) -> Intent | None:
    final = await ctx.get(INTENT + key, serde=codec(Intent))
    return final if final is not None else await ctx.get(OPEN + key, serde=codec(Intent))


async def intents(ctx: Reader) -> list[Intent]:
    """The rows of the ledger, in the order in which the model asked for them."""
    rows: dict[str, Intent] = {}
    for name in sorted(await ctx.state_keys(), reverse=True):
        # "open/" sorts after "intent/", so in this order the final row comes last and is the one that stays.
        if name.startswith((OPEN, INTENT)) and (row := await ctx.get(name, serde=codec(Intent))) is not None:
            rows[row.key] = row
    return in_order(rows.values())


def bury(ctx: ObjectContext, stone: Tombstone) -> None:
    """Everything goes but the tombstone."""
    ctx.clear_all()
    ctx.set(END, stone, serde=codec(RunEnd, Tombstone))
