"""The benchmark's section of the report: pictures and tables. Pure: bench.json in, HTML out."""

import time
from collections.abc import Mapping
from typing import Any

from lab.bench.plots import pictures
from lab.bench.tables import Table, goals, of_parts
from lab.page_style import table, text

Told = Mapping[str, Any]
SAYS = (
    "The same job on every contestant, in turn: three model calls and two effects over HTTP, against a model and a "
    "receiver without latency of their own. Every run was checked against the receiver's ledger."
)


def section(told: Told | None) -> str:
    """What was measured, or the command that measures it."""
    head = '<h2 id="bench">The benchmark</h2>'
    if told is None:
        return f"{head}<p>Not measured here: <code>python -m lab bench</code> does.</p>"
    drawn = "".join(
        f'<div class="scroll" role="region" tabindex="0" aria-label="plot of {name}">{picture}</div>'
        for name, picture in pictures(told["parts"]).items()
    )
    left = "".join(f"<li>{text(each)}</li>" for each in told.get("left_out", ()))
    return "".join(
        (
            head,
            f"<p>{SAYS}</p>{_quick(told)}",
            "" if told["quick"] else _html(goals(told)),
            drawn,
            *(_html(each) for each in of_parts(told["parts"])),
            f"<p>Left out:</p><ul>{left}</ul>" if left else "",
            f"<p class=soft>{_dates(told['parts'])}</p>",
        )
    )


def _quick(told: Told) -> str:
    return '<div class="bad">A quick sitting: its times say nothing.</div>' if told["quick"] else ""


def _html(made: Table) -> str:
    columns = [(column, number > 0) for number, column in enumerate(made.columns)]
    says = f"<p>{text(made.says)}</p>" if made.says else ""
    rows = [[text(cell) for cell in row] for row in made.rows]
    return f"<h3>{text(made.title)}</h3>{says}{table(made.title, columns, rows) if rows else ''}"


def _dates(parts: Mapping[str, Told]) -> str:
    """Each part is a sitting of its own; numbers of two are never divided by each other."""
    told = (
        f"{name} {time.strftime('%Y-%m-%d %H:%M UTC', time.gmtime(part['started_at']))}, {part['rounds']} rounds"
        for name, part in parts.items()
    )
    return text(f"Measured: {'; '.join(told)}.")
