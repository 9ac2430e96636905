"""Whether an old version may be switched off: `python -m services.drain`.

Rule: it may when no open call is bound to it and new calls go elsewhere. Calls that have ended do not count, nor does
what a run has left for after its retention: the newest version carries that out.
Must not know: what the calls do.
"""

import json
import sys
from collections.abc import Sequence
from contextlib import closing
from typing import Annotated

import typer

from services import vault
from services.addresses import address_fault
from services.fleet import Fleet, Refused, Unreachable
from services.settings import BadSettings, load
from services.show import plain
from services.versions import Deployment, Drain, drain, same_address

FREE, WRONG, UNKNOWN, NEEDED = 0, 1, 2, 3
RUNS_NAMED = 3
"""Enough to see whom one waits for; `pending` lists all."""
EPILOG = "Exit codes: 0 may be switched off; 1 Restate does not answer; 2 not known, or wrong; 3 still needed."


def chosen(known: Sequence[Deployment], names: Sequence[str]) -> list[Deployment]:
    """By id or address; all where none is named. Raises KeyError with the name that nobody has."""
    found = []
    for name in names:
        matching = [each for each in known if each.id == name or same_address(each.uri, name)]
        if not matching:
            raise KeyError(name)
        found += matching
    return found if names else list(known)


def look(fleet: Fleet, deployment: Deployment) -> Drain:
    runs = fleet.runs_on(deployment.id, RUNS_NAMED)
    named = [f"{plain(run.run_id)} ({run.state.value})" for run in runs]
    return drain(deployment, fleet.open_calls(), named)


def shown(each: Drain) -> dict[str, object]:
    return {
        "id": each.deployment.id,
        "uri": each.deployment.uri,
        "code": each.deployment.offer.code,
        "newest_of": list(each.deployment.newest_of),
        "may_be_switched_off": each.free,
        "open": {f"{call.target} {call.status}": call.count for call in each.bound},
        "runs": list(each.runs),
        "on_their_way": {f"{call.target} {call.status}": call.count for call in each.waiting},
    }


def main(
    names: Annotated[list[str] | None, typer.Argument(metavar="[ID|URL]...", help="All where none is given.")] = None,
    admin: Annotated[str | None, typer.Option(help="Restate's admin API; PAWL_ADMIN where absent.")] = None,
    remove: Annotated[
        bool, typer.Option("--remove", help="Let Restate forget those that may be switched off.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="JSON on standard output.")] = False,
) -> None:
    """Say of each version whether it may be switched off."""
    try:
        settings = load()
        if admin is not None and (fault := address_fault(admin)) is not None:
            raise BadSettings(fault)
        vault.use(settings.vault())
        with closing(Fleet(admin or settings.admin)) as fleet:
            looked = [look(fleet, each) for each in chosen(fleet.deployments(), names or [])]
            if as_json:
                print(json.dumps([shown(each) for each in looked], indent=2))
            for each in looked:
                if not as_json:
                    print(each.sentence())
                if remove and each.free:
                    fleet.remove(each.deployment.id)
                    print(f"{each.deployment.id} is no longer registered.", file=sys.stderr if as_json else sys.stdout)
    except KeyError as unknown:
        print(f"pawl: no deployment is registered as {unknown.args[0]}.", file=sys.stderr)
        raise typer.Exit(UNKNOWN) from None
    except BadSettings as error:
        print(f"pawl: {error}", file=sys.stderr)
        raise typer.Exit(UNKNOWN) from None
    except (Unreachable, Refused) as error:
        print(f"pawl: {error}", file=sys.stderr)
        raise typer.Exit(WRONG) from None
    raise typer.Exit(FREE if all(each.free for each in looked) else NEEDED)


def app() -> typer.Typer:
    made = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    made.command(epilog=EPILOG)(main)
    return made


if __name__ == "__main__":
    app()()
