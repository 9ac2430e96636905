"""Where the command line prints: for people, or JSON for scripts.

Rule: answers go to standard output and sentences about what went wrong to standard error. On a terminal a followed
run is one table that changes; elsewhere each change is a line.
Must not know: what is printed.
"""

import json
from collections.abc import Iterable

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from services import show
from services.overview import Overview
from services.public import Shown
from services.report import Commands, report

PIPE_COLUMNS = 200
"""Where there is no terminal to say how wide it is."""


class Terminal:
    def __init__(self, commands: Commands, *, as_json: bool) -> None:
        self.commands = commands
        self.as_json = as_json
        self._out = Console(highlight=False, soft_wrap=True)
        if not self._out.is_terminal:
            self._out = Console(highlight=False, soft_wrap=True, width=PIPE_COLUMNS)
        self._errors = Console(stderr=True, highlight=False, soft_wrap=True)

    def answer(self, data: Shown, *lines: str) -> None:
        """The data for a script, the lines for a person."""
        if self.as_json:
            self._json(data)
        else:
            self._print(Text(line) for line in lines)

    def error(self, sentence: str, data: Shown) -> None:
        """A sentence for a person also where a script reads the rest."""
        self._errors.print(Text(f"pawl: {show.plain(sentence)}", style="red"))
        if self.as_json and data:
            self._json(data)

    def hint(self, sentence: str) -> None:
        """Something for a person that the data say already."""
        if not self.as_json:
            self._print([Text(sentence)])

    def run(self, seen: Overview) -> None:
        if self.as_json:
            self._json(report(seen, self.commands))
        else:
            self._print((*show.summary(seen), *show.waits(seen, self.commands)))

    def pending(self, runs: list[Overview]) -> None:
        if self.as_json:
            self._json({"runs": [report(run, self.commands) for run in runs]})
        else:
            self._print(show.pending(runs, self.commands))

    def follow(self, looks: Iterable[Overview]) -> Overview | None:
        """Shows a run while it changes; how it was at last."""
        if self.as_json:
            last = self._follow_json(looks)
        elif self._out.is_terminal:
            last = self._follow_live(looks)
        else:
            last = self._follow_lines(looks)
        if last is not None and not self.as_json:
            self.run(last)
        return last

    def _follow_json(self, looks: Iterable[Overview]) -> Overview | None:
        last = None
        for last in looks:
            self._out.file.write(json.dumps(report(last, self.commands)) + "\n")
            self._out.file.flush()
        return last

    def _follow_lines(self, looks: Iterable[Overview]) -> Overview | None:
        last = None
        for seen in looks:
            self._print(show.changes(last, seen))
            last = seen
        return last

    def _follow_live(self, looks: Iterable[Overview]) -> Overview | None:
        last = None
        with Live(console=self._out, auto_refresh=False, transient=True) as live:
            for last in looks:
                live.update(Group(*show.summary(last), *show.waits(last, self.commands)), refresh=True)
        return last

    def _json(self, data: Shown) -> None:
        self._out.file.write(json.dumps(data, indent=2) + "\n")
        self._out.file.flush()

    def _print(self, lines: Iterable[RenderableType]) -> None:
        for line in lines:
            self._out.print(line, soft_wrap=isinstance(line, Text))
