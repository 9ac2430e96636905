"""The object `Lookout`: it looks for runs that are stuck, which no run can say of itself, and has somebody told.

Rule: every worker asks for a look now and then, and so may anybody; there is one object for all, it does not look more
often than is set, and it remembers what was told. It takes no word of who asks: what is stuck stands in Restate's
tables. A look that cannot be made says so, and one that itself gets stuck ends, since the next would wait behind it.
Must not know: what counts as stuck, what is told.
"""

import asyncio
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import httpx
import structlog
from restate import InvocationRetryPolicy, ObjectContext, Service, TerminalError, VirtualObject

from services import public, tables
from services.codec import AnswerCodec, codec
from services.encrypted import Parcel
from services.journal import Journal, recorded_key
from services.outside import Outside
from services.restate_api import CALL_S, Admin, Refused, Unanswered
from services.stuck import Heard, Looked, Memory, NotLooked, Patience, due, looked
from services.watch import About

NAME, KEY, MEMORY = "Lookout", "runs", "memory"
LOOK_S = 30.0
"""A look at a thousand stuck runs takes a second or two; what takes longer is not worth the wait."""
EARLY = 0.8
"""Part of the time between two looks after which the next may be made: workers' timers are not in step."""
TRIES = InvocationRetryPolicy(
    initial_interval=timedelta(milliseconds=500),
    exponentiation_factor=2.0,
    max_interval=timedelta(seconds=5),
    max_attempts=6,
    on_max_attempts="kill",
)
"""Some fifteen seconds: a worker that is started again is back by then. The next look finds what this one did not."""


def lookout_object(outside: Outside, notices: Service, admin: str, stuck_s: float) -> VirtualObject:
    # A look is made every few seconds, and nobody will ever look at one that is over.
    lookout = VirtualObject(NAME, journal_retention=timedelta(0), invocation_retry_policy=TRIES)
    patience = Patience(stuck_s, outside.people.escalate_s)
    answers: Any = AnswerCodec()
    tell: Any = notices.handlers["tell"].fn
    log = structlog.get_logger("pawl.lookout")

    @lookout.handler(name="look", output_serde=answers)
    async def look(ctx: ObjectContext) -> public.Shown:
        """Looks for stuck runs, and has somebody told of those that are new."""
        if ctx.key() != KEY:
            # Another would remember nothing of what was told, and tell it again.
            raise TerminalError(f"there is one {NAME}, and its key is {KEY}.", 404)
        if outside.people.webhook_path is None:
            return {"looked": False, "reason": "nobody is to be told: PAWL_WEBHOOK_URL is not set"}
        at, serde = await ctx.time(), codec(Memory)
        memory = await ctx.get(MEMORY, serde=serde) or Memory()
        if 0 <= at - memory.looked_at < EARLY * patience.look_s:
            return {"looked": False, "reason": f"the last look was {at - memory.looked_at:.1f} s ago"}
        journal = Journal(ctx, ctx.key(), outside.busy, outside.watch)
        journal.key = await recorded_key(ctx)

        async def act() -> Looked | NotLooked:
            return await seen_by(admin, memory.told)

        seen = await journal.run("look", (Looked, NotLooked), act, About(kind="look"))
        if isinstance(seen, NotLooked):
            log.warning("stuck runs could not be looked for", why=seen.why)
            return {"looked": False, "reason": seen.why}
        now = due(memory, seen, at, patience)
        ctx.set(MEMORY, now.memory, serde=serde)
        for event in now.events:
            ctx.service_send(tell, Parcel(event, journal.key))
        return {"looked": True, "stuck": len(seen.found), "told": [event.run_id for event in now.events]}

    return lookout


async def seen_by(admin: str, told: Mapping[str, Heard]) -> Looked | NotLooked:
    """What stands in Restate's tables; bounded in time."""
    try:
        async with asyncio.timeout(LOOK_S):
            return await asyncio.to_thread(read, admin, told)
    except TimeoutError:
        return NotLooked(f"Restate at {admin} did not answer within {LOOK_S:g} s")
    except (Unanswered, Refused) as error:
        return NotLooked(str(error))


def read(admin: str, told: Mapping[str, Heard]) -> Looked:
    restate = Admin(admin)
    try:
        names = sorted({*tables.doubtful_runs(restate.query), *told})
        return looked(tables.look(restate.query, names, whole=False), told)
    finally:
        restate.close()


async def keep_looking(ingress: str, stuck_s: float) -> None:
    """Asks for a look now and then, for as long as the worker serves. Never raises: it is asked again next time."""
    log, failed = structlog.get_logger("pawl.lookout"), False
    url = f"{ingress.rstrip('/')}/{NAME}/{KEY}/look"
    while True:
        await asyncio.sleep(Patience(stuck_s).look_s)
        why = await asyncio.to_thread(asked, url)
        if why is not None and not failed:
            log.warning("nobody looks for stuck runs", why=why, url=url)
        failed = why is not None


def asked(url: str) -> str | None:
    """Why nobody looked; None where that was not for want of an answer."""
    try:
        answer = httpx.post(url, timeout=LOOK_S + CALL_S, trust_env=False)
    except httpx.HTTPError as error:
        return str(error) or type(error).__name__
    return None if answer.is_success else f"status {answer.status_code}"
