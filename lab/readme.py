"""The tables of results in the README, written between two marks from what matrix, storm, window and bench left.

Rule: the numbers and verdicts are those of the report; nothing is typed by hand. A class's cell says every verdict that
was seen there. The nine published scenarios stand first. What was not run is not mentioned.
Must not know: how anything was played.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lab.bench import written
from lab.cells import Verdict
from lab.errors import UsageError
from lab.paths import shown
from lab.published import TITLE
from lab.show import Show
from lab.words import WORDS, count

BEGIN, END = "<!-- lab: results -->", "<!-- lab: end of results -->"
CLASSES = ("read", "set", "keyed", "once, can be looked up", "once")
Told = Mapping[str, Any]


def run(out: Path, file: Path, show: Show, performance: Path | None = None) -> int:
    """Write the tables into the file: of the matrix, of the benchmark, or of both; all of the benchmark's go to the
    page `performance`. The exit code. Raises UsageError where there is neither, or no place for it."""
    report, bench = _read(out / "report.json"), _read(out / "bench.json")
    if report is None and bench is None:
        raise UsageError(f"there is no report in {shown(out)}: run `make lab` first")
    text = file.read_text(encoding="utf-8")
    if report is not None:
        told = tables(report, _read(out / "window.json"), _read(out / "storm.json"))
        text = replaced(text, told, str(file))
    if bench is not None:
        marks = (written.BEGIN, written.END)
        text = replaced(text, written.tables(bench), str(file), marks)
        if performance is not None:
            before = performance.read_text(encoding="utf-8")
            performance.write_text(replaced(before, written.every(bench), str(performance), marks), encoding="utf-8")
    file.write_text(text, encoding="utf-8")
    show.line(f"the results of {shown(out)} are in {shown(file)}")
    return 0


def _read(file: Path) -> dict[str, Any] | None:
    try:
        return dict(json.loads(file.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise UsageError(f"{shown(file)} cannot be read: {error}") from error


def replaced(text: str, tables: str, name: str, marks: tuple[str, str] = (BEGIN, END)) -> str:
    """The text with the tables between the marks. Raises UsageError where the marks are not there, once each."""
    begin, end = marks
    if text.count(begin) != 1 or text.count(end) != 1 or text.index(begin) > text.index(end):
        raise UsageError(f"{name} must hold the lines {begin} and {end} once each: the results go between them")
    head, _, rest = text.partition(begin)
    _, _, tail = rest.partition(end)
    return f"{head}{begin}\n{tables}\n{end}{tail}"


def tables(report: Told, window: Told | None = None, storm: Told | None = None) -> str:
    """Markdown: what was tested, the published scenarios, Pawl by fault and class, controls and peers by point, and a
    sentence each about storm and window."""
    versions, cells = report["versions"], report["cells"]
    about = (
        f"{count(report['summary']['cells'], 'cell')}, {count(report['trials'], 'trial')} each, seed {report['seed']}, "
        f"in {report['seconds'] / 60:.0f} minutes on {report['machine']['processors']} processors: restate-server "
        f"{versions['restate_server']}, restate-sdk {versions['restate-sdk']}, Python {versions['python']}."
    )
    parts = (about, _published(report), _pawl(cells), _others(cells), _storm(storm), _window(window))
    return "\n\n".join(part for part in parts if part)


def _pawl(cells: Sequence[Told]) -> str:
    mine = [cell for cell in cells if cell["group"] == "pawl"]
    rows = []
    for fault in dict.fromkeys(cell["fault"] for cell in mine):
        of_fault = [cell for cell in mine if cell["fault"] == fault]
        points = list(dict.fromkeys(cell["point"] for cell in of_fault))
        verdicts = [_verdicts([cell for cell in of_fault if cell["class"] == kind]) for kind in CLASSES]
        rows.append([WORDS.get(fault, fault), str(len(points)), *verdicts])
    table = _table(["Pawl: what happened", "points", "READ", "SET", "KEYED", "ONCE, with a look-up", "ONCE"], rows)
    return f"{table}\n\n{LEGEND}" if rows else ""


def _others(cells: Sequence[Told]) -> str:
    others = [cell for cell in cells if cell["group"] in ("control", "contestant") and cell["fault"] in KILLS]
    points = ("before", "arrived", "applied", "unrecorded", "recorded")
    rows = []
    for target, fault in dict.fromkeys((cell["target"], cell["fault"]) for cell in others):
        members = [cell for cell in others if (cell["target"], cell["fault"]) == (target, fault)]
        verdicts = [_verdicts([cell for cell in members if cell["point"] == point]) for point in points]
        rows.append([f"{members[0]['title']}{KILLS[fault]}", *verdicts])
    return _table(["One charge, the worker killed", *(f"request {point}" for point in points)], rows)


def _published(report: Told) -> str:
    told = report["published"]
    rows = [
        [row["scenario"], *(f"{_number(row['told'][name])} / {row['counted'][name]}" for name in COUNTS)]
        for row in told["rows"]
        if row["cell"] is not None
    ]
    if not rows:
        return ""
    source = (
        f"Repeated: the scenarios of *{TITLE}*, which ran on {told['server']} with the {told['sdk']}. Each pair is the "
        "count that was published (? where its text states none) / the one counted here."
    )
    return f"{source}\n\n{_table(['scenario', 'model calls', 'charges received', 'charges applied'], rows)}"


def _storm(told: Told | None) -> str:
    if told is None:
        return ""
    landed = sum(each["landed"] for each in told["kinds"].values())
    bad = ", ".join(f"{sum(map(len, told[name].values()))} {name}" for name in ("duplicated", "lost", "hanging"))
    return (
        f"The storm (`{told['again']}`): {told['runs']} runs at once over two workers, {landed} faults landed, "
        f"{told['hit']} runs were hit; {told['completed']} completed, {len(told['parked'])} wait for a person; {bad}."
    )


def _window(told: Told | None) -> str:
    if told is None:
        return ""
    widths = "; ".join(
        f"{each['name']}: median {each['median_ms']:.1f} ms, 95 % {each['p95_ms']:.1f} ms, longest "
        f"{each['max_ms']:.1f} ms, {each['effects']} effects"
        for each in told["series"]
    )
    kills = told["kills"]
    counted = (
        ""
        if kills is None
        else f" Counted with {kills['name']}: {kills['kills']} kills at random moments doubled {kills['doubled']} of "
        f"{kills['effects']} effects."
    )
    return f"The window from applied to recorded (`python -m lab window`): {widths}.{counted}"


LEGEND = (
    "*Points*: at how many points of a run it was brought about. *once*: applied once, and the run completed. *none*: "
    "nothing was to be applied, and nothing was. *unknown*: applied once or not at all; the run waits for a person, "
    "with the evidence. *duplicated*: applied more often. -: not played."
)
KILLS = {"worker-kill": "", "keys-ignored": ", before a receiver that takes no notice of keys"}
"""The faults of the table of controls and peers, and what is added to the title there."""
COUNTS = ("model_calls", "received", "applied")


def _number(value: int | None) -> str:
    return "?" if value is None else str(value)


def _verdicts(cells: Sequence[Told]) -> str:
    """Each verdict once, in the order of `Verdict`, in bold where it is not as promised."""
    order = [verdict.value for verdict in Verdict]
    ranked = sorted(cells, key=lambda cell: order.index(cell["verdict"]))
    seen = dict.fromkeys(
        cell["verdict"] if cell["result"] == "as promised" else f"**{cell['verdict']}**" for cell in ranked
    )
    return " or ".join(seen) or "-"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return ""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
