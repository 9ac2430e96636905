"""What the lab prints: lines, steps and tables, for a person at a terminal or for a log file.

Rule: what a person may paste is never wrapped, coloured or shortened.
"""

import sys
import time
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table
from rich.text import Text

WIDE = 160


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that happened; `at` in unix seconds, now where it is None."""

    what: str
    text: str
    key: str | None = None
    style: str = ""
    at: float | None = None


class Show:
    """Everything goes through here, so that it looks the same."""

    def __init__(self) -> None:
        # A file or a pipe has no width of its own, and a table there shall not be folded into one for a small terminal.
        width = None if sys.stdout.isatty() else WIDE
        self._console = Console(highlight=False, soft_wrap=True, width=width)
        self._errors = Console(stderr=True, highlight=False, soft_wrap=True)
        self._started_s = time.time()

    def line(self, text: str, style: str = "") -> None:
        self._console.print(Text(text, style=style))

    def blank(self) -> None:
        self._console.print()

    def heading(self, text: str) -> None:
        self._console.print()
        self._console.print(Text(text, style="bold"))

    def pair(self, name: str, value: str) -> None:
        self._console.print(Text.assemble((f"  {name:<26}", "cyan"), value))

    def verbatim(self, text: str) -> None:
        """As it is, whatever the width."""
        self._console.file.write(f"  {text}\n")
        self._console.file.flush()

    def error(self, text: str) -> None:
        self._errors.print(Text(text, style="red"))

    def restart_clock(self) -> None:
        """Steps count their seconds from now."""
        self._started_s = time.time()

    def step(self, step: Step) -> None:
        """One line: seconds since the clock was restarted, what, key, the rest."""
        elapsed_s = (step.at or time.time()) - self._started_s
        key = f"key {step.key}  " if step.key else ""
        self._console.print(Text(f"{elapsed_s:7.2f} s  {step.what:<9} {key}{step.text}", style=step.style))

    def table(self, table: Table) -> None:
        self._console.print(table, soft_wrap=False)
