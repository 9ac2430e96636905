"""The run's own state in its Restate object: the only place that names its entries and reads or writes them.

Rule: no write can take back what is final. A journal that is continued by another invocation may write again what it
wrote before its next step, so what is open and what is final stand in entries of their own, and the final one is
believed: `open/KEY` and `intent/KEY` for an intent, `run` and `end` for the run. Entries are few and small.
What may hold texts of the task, of arguments or of results is encrypted under the key that the run's journal names.
Must not know: models, tools, what a row means.
"""

from uuid import UUID

from restate import ObjectContext, ObjectSharedContext

from services.codec import codec
from services.encrypted import Encrypted, PartlyEncrypted
from services.ledger import in_order
from services.messages import FINAL, Begun, Intent, RunEnd, RunRow, Tombstone
from services.vault import PLAIN

BEGUN, RUN, END, ROOT = "begun", "run", "end", "root"
OPEN, INTENT = "open/", "intent/"

BEGUN_BLANKS = {"task": ""}
ROW_BLANKS = {"reason": "", "refused": [], "questions": []}
"""What anybody with access to Restate's tables may not read of two rows of which they may read the rest."""

Reader = ObjectContext | ObjectSharedContext


def place(run_id: str, name: str, service: str = "Agent") -> str:
    """Where an entry is, for what is encrypted there."""
    return f"{service}/{run_id}/{name}"


def encrypted_begun(run_id: str, key: str = PLAIN, *, lenient: bool = False) -> PartlyEncrypted[Begun]:
    return PartlyEncrypted(codec(Begun), BEGUN_BLANKS, place(run_id, BEGUN), key, lenient=lenient)


def encrypted_row(run_id: str, key: str = PLAIN, *, lenient: bool = False) -> PartlyEncrypted[RunRow]:
    return PartlyEncrypted(codec(RunRow), ROW_BLANKS, place(run_id, RUN), key, lenient=lenient)


def encrypted_intent(run_id: str, name: str, key: str = PLAIN) -> Encrypted[Intent]:
    return Encrypted(codec(Intent), place(run_id, name), key)


async def begun(ctx: Reader, *, texts: bool = False) -> Begun | None:
    """`texts`: with the fields that may be encrypted; without, they are blank where the key is not here."""
    return await ctx.get(BEGUN, serde=encrypted_begun(ctx.key(), lenient=not texts))


def set_begun(ctx: ObjectContext, row: Begun, key: str) -> None:
    ctx.set(BEGUN, row, serde=encrypted_begun(ctx.key(), key))


async def run_row(ctx: Reader, *, texts: bool = False) -> RunRow | None:
    """`texts`: as for `begun`."""
    return await ctx.get(RUN, serde=encrypted_row(ctx.key(), lenient=not texts))


def set_run_row(ctx: ObjectContext, row: RunRow, key: str) -> None:
    ctx.set(RUN, row, serde=encrypted_row(ctx.key(), key))


async def end(ctx: Reader) -> RunEnd | Tombstone | None:
    """The end of the last pass that ended, or what is left of it."""
    return await ctx.get(END, serde=codec(RunEnd, Tombstone))


def set_end(ctx: ObjectContext, row: RunEnd) -> None:
    ctx.set(END, row, serde=codec(RunEnd, Tombstone))


async def root(ctx: Reader) -> UUID | None:
    return await ctx.get(ROOT, serde=codec(UUID))


def set_root(ctx: ObjectContext, value: UUID) -> None:
    ctx.set(ROOT, value, serde=codec(UUID))


def set_intent(ctx: ObjectContext, row: Intent, key: str) -> None:
    final = row.state in FINAL
    name = (INTENT if final else OPEN) + row.key
    ctx.set(name, row, serde=encrypted_intent(ctx.key(), name, key))
    if final:
        ctx.clear(OPEN + row.key)


async def intent(ctx: Reader, key: str) -> Intent | None:
    final = await _intent(ctx, INTENT + key)
    return final if final is not None else await _intent(ctx, OPEN + key)


async def intents(ctx: Reader) -> list[Intent]:
    """The rows of the ledger, in the order in which the model asked for them."""
    rows: dict[str, Intent] = {}
    for name in sorted(await ctx.state_keys(), reverse=True):
        # "open/" sorts after "intent/", so in this order the final row comes last and is the one that stays.
        if name.startswith((OPEN, INTENT)) and (row := await _intent(ctx, name)) is not None:
            rows[row.key] = row
    return in_order(rows.values())


async def _intent(ctx: Reader, name: str) -> Intent | None:
    return await ctx.get(name, serde=encrypted_intent(ctx.key(), name))


def bury(ctx: ObjectContext, stone: Tombstone) -> None:
    """Everything goes but the tombstone."""
    ctx.clear_all()
    ctx.set(END, stone, serde=codec(RunEnd, Tombstone))
