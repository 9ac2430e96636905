"""The result at the terminal."""

from collections.abc import Mapping
from typing import Any

from rich.table import Table as Rich

from lab.bench.tables import Table, goals, of_parts
from lab.show import Show


def show(told: Mapping[str, Any], out: Show) -> None:
    """Every table, the goals last."""
    for table in of_parts(told["parts"]):
        _table(table, out)
    if told["quick"]:
        out.line("quick: it went through all of it, and its times say nothing")
    else:
        _table(goals(told), out)


def _table(table: Table, out: Show) -> None:
    out.heading(table.title)
    if table.says:
        out.line(table.says)
    if not table.rows:
        return
    rich = Rich()
    for number, column in enumerate(table.columns):
        rich.add_column(column, justify="left" if number == 0 else "right", overflow="fold", no_wrap=number == 0)
    for row in table.rows:
        rich.add_row(*row)
    out.table(rich)
