"""Looks at everything a run depends on, and says what to do: `python -m services.doctor`.

Rule: it only looks. What is wrong turns the exit code.
Must not know: how anything is checked.
"""

import json
import sys
from dataclasses import asdict
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from services.addresses import address_fault
from services.checks import Check, State, checks
from services.settings import BadSettings, load

STYLES = {State.OK: "green", State.NOTE: "yellow", State.WRONG: "bold red", State.SKIPPED: "dim"}
COLUMNS_MIN = 100
EPILOG = "Exit codes: 0 everything is in order; 1 something is wrong; 2 a setting is wrong."


def table(made: list[Check]) -> Table:
    shown = Table(box=None, padding=(0, 2, 0, 0))
    for title in ("check", "state", "seen", "what to do"):
        shown.add_column(title, overflow="fold")
    for each in made:
        shown.add_row(each.name, Text(each.state.value, style=STYLES[each.state]), Text(each.seen), Text(each.remedy))
    return shown


def main(
    worker: Annotated[str | None, typer.Option(help="The worker's address as Restate reaches it.")] = None,
    model: Annotated[bool, typer.Option("--model", help="Ask the model one tiny thing.")] = False,
    inside: Annotated[bool, typer.Option("--inside", help="Leave out the receiver and the model.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="JSON on standard output.")] = False,
) -> None:
    """Check versions, ports, Restate, registration, time-outs, retentions, receiver and model."""
    try:
        settings = load()
        if worker is not None and (fault := address_fault(worker)) is not None:
            raise BadSettings(fault)
    except BadSettings as error:
        print(f"pawl: {error}", file=sys.stderr)
        raise typer.Exit(2) from None
    made = list(checks(settings, worker or f"http://{settings.listen}", ask_model=model, inside=inside))
    if as_json:
        print(json.dumps([asdict(each) for each in made], indent=2))
    else:
        out = Console(highlight=False)
        wide = out if out.width >= COLUMNS_MIN else Console(highlight=False, width=COLUMNS_MIN)
        wide.print(table(made))
    raise typer.Exit(1 if any(each.state is State.WRONG for each in made) else 0)


def app() -> typer.Typer:
    made = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    made.command(epilog=EPILOG)(main)
    return made


if __name__ == "__main__":
    app()()
