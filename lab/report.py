"""Rounds as a table. Pure: rows in, table out."""

from collections.abc import Callable, Mapping

from rich.table import Table

from lab import judge
from lab.rounds import Round


def table(rounds: Mapping[str, Round]) -> Table:
    """Per effect what each round's receiver received and applied; model calls and recovery as rows of their own."""
    out = Table(title="What was received and applied", title_justify="left")
    out.add_column("")
    for name in rounds:
        out.add_column(f"{name}:\nrequests", justify="right")
        out.add_column(f"{name}:\neffects", justify="right")
    out.add_row("model calls", *_pairs(rounds, lambda r: str(r.model_calls)))
    # Two effects of one turn leave side by side, so their order on arrival says nothing.
    for effect in sorted({effect for r in rounds.values() for effect in r.tally.requests}):
        cells: list[str] = []
        for r in rounds.values():
            cells += [str(r.tally.requests.get(effect, 0)), _applied(r, effect)]
        out.add_row(effect, *cells)
    out.add_section()
    out.add_row("SIGKILL to answer, s", *_pairs(rounds, lambda r: f"{r.recovered_s:.2f}"))
    return out


def _pairs(rounds: Mapping[str, Round], cell: Callable[[Round], str]) -> list[str]:
    """One cell for each round, in its first column; the second stays empty."""
    return [text for r in rounds.values() for text in (cell(r), "")]


def _applied(r: Round, effect: str) -> str:
    """How often, or a dash for what only reads."""
    count = r.tally.effects.get(effect, 0)
    return str(count) if count or effect in judge.TASK_EFFECTS else "-"
