"""The benchmark's lines in the README and on the page on performance, written from bench.json between two marks.

Rule: the numbers are those of the sitting; nothing is typed by hand. A quick sitting is not written.
"""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from lab.bench.plots import number_text
from lab.bench.sums import by_name
from lab.bench.tables import Table, alone_ms, goals, of_parts, spread
from lab.errors import UsageError

BEGIN, END = "<!-- bench: results -->", "<!-- bench: end of results -->"
Told = Mapping[str, Any]


def tables(told: Told) -> str:
    """Markdown for the README: what was tested, and the contestants. Raises UsageError for a quick sitting."""
    return "\n\n".join(part for part in (_about(told), _contestants(told["parts"])) if part)


def every(told: Told) -> str:
    """Markdown for the page on performance: every table, and the goals. Raises UsageError for a quick sitting."""
    made = (_of(table) for table in (*of_parts(told["parts"]), goals(told)))
    return "\n\n".join((_about(told), *made))


def _about(told: Told) -> str:
    if told["quick"]:
        raise UsageError("the benchmark was a quick one, whose times say nothing: run `make bench`")
    versions = told["versions"]
    days = sorted({time.strftime("%Y-%m-%d", time.gmtime(part["started_at"])) for part in told["parts"].values()})
    return (
        f"{' and '.join(days)}, {told['machine']['processors']} processors for everything; restate-server "
        f"{versions['restate_server']}, restate-sdk {versions['restate-sdk']}, Python {versions['python']}, openai "
        f"{versions['openai']}, httpx {versions['httpx']}. Medians; in brackets the least and the most of the rounds."
    )


def _of(table: Table) -> str:
    says = f" {table.says}" if table.says else ""
    head = f"**{table.title}.**{says}"
    return f"{head}\n\n{_table(table.columns, table.rows)}" if table.rows else head


def _contestants(parts: Mapping[str, Told]) -> str:
    if "speed" not in parts:
        return ""
    killed = parts.get("recovery", {}).get("contestants", ())
    grown = parts.get("growth", {}).get("contestants", ())
    head = (
        "The same job",
        "alone, ms",
        "runs/s at 32",
        "worker CPU s per 1000",
        "SIGKILL to answer, s",
        "last turns of 200, ms",
    )
    rows = []
    for row in parts["speed"]["contestants"]:
        back, long = by_name(killed, row["name"]), by_name(grown, row["name"])
        again = "" if back is None or back["by_itself"] else ", posted again"
        rows.append(
            (
                row["title"],
                number_text(alone_ms(row)),
                spread(row["runs_per_s"]["32"]),
                number_text(row["cpu_s_per_1000"]["worker"]["median"]),
                ("lost" if row["name"] == "plain" else "-") if back is None else spread(back["recovered_s"]) + again,
                "-" if long is None else number_text(list(long["turn_ms"].values())[-1]["median"]),
            )
        )
    return _table(head, rows)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
