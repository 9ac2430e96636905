"""Makes a worker known to Restate: `python -m services.register`.

Rule: it says what it did. Where the address is known already, it compares: the same is left alone; other code takes its
place only where no call depends on what was there, or where somebody says so after having read how many do.
Must not know: what the worker does.
"""

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import typer

from services.addresses import address_fault
from services.fleet import NAMES_IT, Fleet, Refused, Unreachable
from services.settings import BadSettings, load
from services.versions import (
    UNMARKED,
    Deployment,
    Offer,
    bound_to,
    change,
    counts,
    in_use_instead,
    lost,
    other_timeouts,
    same_address,
    total,
)

WAIT_S = 30.0


class NotRegistered(Exception):
    """The text says what stands in the way, and what to do."""


@dataclass(frozen=True, slots=True)
class Leave:
    """What the caller allows. `force`, and `yes` too where calls are open: other code at the same address. `breaking`:
    handlers may go. `newest`: an older version gets the new calls again."""

    force: bool = False
    yes: bool = False
    breaking: bool = False
    newest: bool = False


NONE = Leave()


def register(admin: str, worker: str, wait_s: float, leave: Leave = NONE) -> str:
    """Registers `worker` at the admin API; the sentence says what was done. Raises NotRegistered."""
    end = time.monotonic() + wait_s
    fleet = Fleet(admin)
    try:
        await_restate(fleet, wait_s, end)
        served, known = fleet.served(worker, end), fleet.deployments()
        at_address = next((each for each in known if same_address(each.uri, worker)), None)
        if at_address is not None and change(at_address.offer, served).same:
            told = other_timeouts(at_address.offer, served)
            if told:
                # The same code: no call depends on how long Restate's patience was before.
                fleet.register(worker, replace=True, breaking=True)
                moved = taken_over(known, at_address)
                return f"{worker} is registered anew as {at_address.id}, with the same code; time-outs: {told}{moved}"
            return same(fleet, at_address, known, leave)
        check_lost(known, served, worker, leave)
        if at_address is not None:
            return instead(fleet, at_address, served, worker, leave) + taken_over(known, at_address)
        name = fleet.register(worker, replace=False, breaking=leave.breaking)
        return f"{worker} is registered as {name}, code {served.code or UNMARKED}: {services(served)}"
    except (Unreachable, Refused) as error:
        raise NotRegistered(str(error)) from error
    finally:
        fleet.close()


def await_restate(fleet: Fleet, wait_s: float, end: float) -> None:
    """Until it answers; says so at once where it does not, since nobody should wait without knowing for what."""
    try:
        fleet.await_restate(time.monotonic())
    except Unreachable as error:
        if wait_s > 0:
            print(f"pawl: {error}. {NAMES_IT} Waiting for it, {wait_s:g} s at most.", file=sys.stderr)
        fleet.await_restate(end)


def taken_over(known: Sequence[Deployment], registered: Deployment) -> str:
    """Registering anew makes a version the newest; in words where another was."""
    elsewhere = in_use_instead(known, registered)
    return f"; new calls go to it from now on, and no longer to {' and '.join(elsewhere)}" if elsewhere else ""


def check_lost(known: Sequence[Deployment], served: Offer, worker: str, leave: Leave) -> None:
    gone = lost(known, served)
    if gone and not leave.breaking:
        raise NotRegistered(
            f"{worker} does not serve {', '.join(gone)}, which callers can reach now. Serve them too, or say"
            " --breaking if nobody calls them any more."
        )


def same(fleet: Fleet, known: Deployment, others: Sequence[Deployment], leave: Leave) -> str:
    """The address is known with this very code: nothing to do, unless it is to get the new calls again."""
    already = f"{known.uri} is already registered as {known.id}, with the same code ({known.offer.code or UNMARKED})"
    elsewhere = " and ".join(in_use_instead(others, known))
    if not elsewhere:
        return already
    if not leave.newest:
        return f"{already}, and is NOT in use: new calls go to {elsewhere}; to send them here: --newest"
    check_lost(others, known.offer, known.uri, leave)
    fleet.register(known.uri, replace=True, breaking=True)
    return f"{already}; new calls go to it from now on"


def instead(fleet: Fleet, known: Deployment, served: Offer, worker: str, leave: Leave) -> str:
    """Other code at an address that is known: it takes the place of what was there, where that endangers nobody."""
    calls = bound_to(fleet.open_calls(), known.id)
    difference = change(known.offer, served).sentence()
    if calls and not (leave.force and leave.yes):
        raise NotRegistered(
            f"{worker} is registered as {known.id}, and serves something else now: {difference}. Open on it:"
            f" {total(calls)} calls ({counts(calls)}); other code may leave them stuck. Serve the old code there again,"
            " and the new code at an address of its own: runs stay on the code they began on."
            + (" To endanger them, say --yes too." if leave.force else " To replace it all the same: --force --yes.")
        )
    fleet.register(worker, replace=True, breaking=True)
    endangered = f"{total(calls)} open calls are endangered ({counts(calls)})" if calls else "no call was open on it"
    return f"{worker} is registered anew as {known.id}: {difference}; {endangered}"


def services(offer: Offer) -> str:
    return ", ".join(sorted({name.split("/")[0] for name in offer.handlers}))


def main(
    worker: Annotated[str | None, typer.Option(help="The worker's address as Restate reaches it.")] = None,
    admin: Annotated[str | None, typer.Option(help="Restate's admin API; PAWL_ADMIN where absent.")] = None,
    wait: Annotated[float, typer.Option(help="Seconds to wait for both to answer.")] = WAIT_S,
    force: Annotated[bool, typer.Option("--force", help="Replace other code at the same address.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="With --force: also where calls are open on it.")] = False,
    breaking: Annotated[
        bool, typer.Option("--breaking", help="Also where callers could no longer reach a handler that they reach now.")
    ] = False,
    newest: Annotated[
        bool, typer.Option("--newest", help="Send new calls to it, where another version has them: a roll back.")
    ] = False,
) -> None:
    """Register a worker with Restate, and say what was done."""
    try:
        settings = load()
        address = f"http://{settings.listen}" if worker is None else worker
        at = settings.admin if admin is None else admin
        for url in (address, at):
            if (fault := address_fault(url)) is not None:
                raise BadSettings(fault)
        print(register(at, address, wait, Leave(force, yes, breaking, newest)))
    except (BadSettings, NotRegistered) as error:
        print(f"pawl: {error}", file=sys.stderr)
        raise typer.Exit(2 if isinstance(error, BadSettings) else 1) from None


if __name__ == "__main__":
    typer.run(main)
