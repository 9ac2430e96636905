"""The benchmark's lines in the README, written from bench.json between two marks.

Rule: the numbers are those of the sitting; nothing is typed by hand. A quick sitting is not written.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from lab.bench.plots import number_text
from lab.bench.sums import by_name
from lab.bench.tables import alone_ms, goals, spread
from lab.errors import UsageError

BEGIN, END = "<!-- bench: results -->", "<!-- bench: end of results -->"
Told = Mapping[str, Any]


def tables(told: Told) -> str:
    """Markdown: what was tested, the contestants, the goals. Raises UsageError for a quick sitting."""
    if told["quick"]:
        raise UsageError("the benchmark was a quick one, whose times say nothing: run `make bench`")
    versions, parts = told["versions"], told["parts"]
    about = (
        f"{told['machine']['processors']} processors for everything; restate-server {versions['restate_server']}, "
        f"restate-sdk {versions['restate-sdk']}, Python {versions['python']}, openai {versions['openai']}, httpx "
        f"{versions['httpx']}. Medians; in brackets the least and the most of the rounds."
    )
    made = goals(told)
    reached = _table(("What must be reached", *made.columns[1:]), made.rows)
    return "\n\n".join(part for part in (about, _contestants(parts), reached) if part)


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
