"""The report as one page of HTML: report.json, the histories, and window, storm and bench where they are. Pure.

Rule: one file without a network, from data only; what is missing is said and not made up. The nine published scenarios
stand first, beside what was counted here, with both servers named.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lab.bench.page import section
from lab.cells import Point
from lab.history import History
from lab.page_head import head, scenarios
from lab.page_more import storm, window
from lab.page_style import SHEET, pill, table, text
from lab.page_timeline import timeline
from lab.words import WORDS

Told = Mapping[str, Any]
POINTS = [point.value for point in Point]
FIRST = ("pawl/charge/worker-kill/applied", "pawl/charge/worker-kill/unrecorded")
"""The cell whose timeline is shown until another is chosen, where it was played."""
VERDICTS = (
    ("once", "applied once, and the run completed"),
    ("none", "nothing was to be applied, and nothing was"),
    ("unknown", "once or not at all, and the run waits for a person with the evidence"),
    ("duplicated", "applied more often than asked for"),
    ("lost", "the run completed without it, or came to no end"),
    ("invalid", "the fault did not land, or what happened could not be read"),
)
GROUPS = (
    (
        "pawl",
        "Pawl",
        "Each row is a fault at a point, each column what the tool does. Choose a verdict for its timeline.",
    ),
    (
        "control",
        "Controls",
        "Loops without a key, a step or an engine, and Pawl where no key is heeded. They must fail where they do.",
    ),
    ("contestant", "Peers", "Other frameworks, each in its documented way, without and with its stable id as the key."),
    ("own", "Your target", "The agent that the target's file describes."),
)


@dataclass(frozen=True, slots=True)
class Data:
    """What the page is made of. `histories` are by their file, as report.json names it; `window`, `storm` and
    `bench` are None where they were not run."""

    report: Told
    histories: Mapping[str, History]
    window: Told | None = None
    storm: Told | None = None
    bench: Told | None = None
    chosen: str | None = None


def page(data: Data) -> str:
    """The HTML."""
    report = data.report
    cells: Sequence[Told] = report.get("cells", ())
    drawn = {cell["id"]: f"t{number}" for number, cell in enumerate(cells) if _history(cell, data) is not None}
    parts = (
        head(report, data.storm),
        scenarios(report, drawn),
        '<h2 id="matrix">The matrix</h2>',
        _legend(),
        *(_group(name, title, words, cells, drawn) for name, title, words in GROUPS),
        _every_count(cells),
        _timelines(cells, data, drawn),
        window(data.window),
        storm(data.storm),
        section(data.bench),
        _machine(report, data),
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>Pawl: the lab's report</title><style>{SHEET}</style></head>"
        f"<body><main>{''.join(parts)}</main></body></html>\n"
    )


def _legend() -> str:
    words = "".join(f"<li>{pill(verdict)} {text(said)}</li>" for verdict, said in VERDICTS)
    return f'<ul class="verdicts">{words}</ul>'


def _group(name: str, title: str, words: str, cells: Sequence[Told], drawn: Mapping[str, str]) -> str:
    """A grid: a row for each fault and point, a column for each job, or for each target where there are several."""
    members = [cell for cell in cells if cell["group"] == name]
    if not members:
        return ""
    targets = list(dict.fromkeys(cell["target"] for cell in members))
    by_target = len(targets) > 1
    column_of: Callable[[Told], str] = lambda cell: str(cell["target"] if by_target else cell["job"])  # noqa: E731
    titles = {column_of(cell): cell["title"] if by_target else f"{cell['job']} ({cell['class']})" for cell in members}
    if not by_target:
        titles = {column: said for column, said in titles.items() if sum(column_of(c) == column for c in members) > 2}
    odd = [cell for cell in members if column_of(cell) not in titles]
    rows: dict[tuple[str, str], dict[str, str]] = {}
    for cell in members:
        if column_of(cell) in titles:
            rows.setdefault((cell["fault"], cell["point"]), {})[column_of(cell)] = _pill(cell, drawn)
    columns = [("fault", False), ("point", False), *((said, False) for said in titles.values())]
    lines, before = [], None
    faults = list(dict.fromkeys(fault for fault, _ in rows))
    for fault, point in sorted(rows, key=lambda row: (faults.index(row[0]), POINTS.index(row[1]))):
        found = rows[fault, point]
        verdicts = (found.get(column, '<span class="soft">-</span>') for column in titles)
        lines.append((_fault(fault, again=fault == before), text(point), *verdicts))
        before = fault
    parts = [f"<h3>{title}</h3>"]
    if lines:
        parts += [f"<p>{words}</p>", table(title, columns, lines)]
    if odd:
        heads = [("fault", False), ("point", False), ("job", False), ("verdict", False)]
        parts.append(
            table(
                f"{title}: single cells",
                heads,
                [(_fault(c["fault"], again=False), text(c["point"]), text(c["job"]), _pill(c, drawn)) for c in odd],
            )
        )
    return "".join(parts)


def _fault(name: str, *, again: bool) -> str:
    """Its name; where it begins, what it is in words as well."""
    if again:
        return f'<span class="soft">{text(name)}</span>'
    return f"<b>{text(name)}</b><br><small>{text(WORDS.get(name, ''))}</small>"


def _pill(cell: Told, drawn: Mapping[str, str]) -> str:
    agree, of = cell["agree"], len(cell["trials"])
    note = "" if agree == of else f", {agree} of {of}"
    return pill(cell["verdict"], right=cell["result"] == "as promised", link=drawn.get(cell["id"], ""), note=note)


def _every_count(cells: Sequence[Told]) -> str:
    columns = [
        ("cell", False),
        ("tool", False),
        ("expected", False),
        ("verdict", False),
        ("model calls", True),
        ("received", True),
        ("applied", True),
        ("seconds to recover", True),
        ("trials that agree", True),
    ]

    def row(cell: Told) -> Sequence[str]:
        recovered = cell["recovered_s"]
        return (
            f"<code>{text(cell['id'])}</code>",
            text(cell["tool"]),
            text(" or ".join(cell["expected"])),
            pill(cell["verdict"], right=cell["result"] == "as promised"),
            *(_spread(cell, name) for name in ("model_calls", "received", "applied")),
            text(None if recovered is None else f"{recovered:.1f}"),
            f"{cell['agree']} of {len(cell['trials'])}",
        )

    inner = table("every cell with its counts", columns, [row(cell) for cell in cells])
    return f"<details><summary>Every cell with its counts</summary>{inner}</details>"


def _spread(cell: Told, name: str) -> str:
    told = [trial[name] for trial in cell["trials"] if trial[name] is not None]
    if not told:
        return "-"
    return str(told[0]) if min(told) == max(told) else f"{min(told)}-{max(told)}"


def _history(cell: Told, data: Data) -> History | None:
    """That of a trial which came to the cell's verdict."""
    told = [trial for trial in cell["trials"] if trial["verdict"] == cell["verdict"]]
    return next((data.histories[trial["history"]] for trial in told if trial["history"] in data.histories), None)


def _timelines(cells: Sequence[Told], data: Data, drawn: Mapping[str, str]) -> str:
    first = next((each for each in (data.chosen, *FIRST) if each in drawn), next(iter(drawn), None))
    body = "".join(_sections(cells, data, drawn, first)) or "<p>No history was kept.</p>"
    return (
        '<h2 id="timelines">The timeline of a cell</h2>'
        "<p>Choose a verdict in the matrix. A filled mark was applied or answered, an open one was not; red is a "
        "strike. Pauses are drawn shorter than they were; the seconds are written below.</p>"
        f'<div class="timelines">{body}</div>'
    )


def _sections(cells: Sequence[Told], data: Data, drawn: Mapping[str, str], first: str | None) -> Iterator[str]:
    for cell in cells:
        history = _history(cell, data)
        if history is None:
            continue
        css = "timeline first" if cell["id"] == first else "timeline"
        findings = "".join(f"<li>{text(each)}</li>" for trial in cell["trials"] for each in trial["findings"])
        yield (
            f'<section class="{css}" id="{drawn[cell["id"]]}"><h3>{text(cell["title"])}: {text(cell["fault"])}, '
            f"{text(cell['point'])}, {text(cell['tool'])}</h3><p>{_pill(cell, {})} <code>{text(cell['id'])}</code>, "
            f'trial {history.trial} · <a href="#matrix">back to the matrix</a></p>'
            + (f"<ul>{findings}</ul>" if findings else "")
            + timeline(history, cell["id"])
            + "</section>"
        )


def _machine(report: Told, data: Data) -> str:
    at = report.get("started_at")
    when = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(at)) if at else None
    rows = [("played", when), ("seed", report.get("seed")), ("seconds", report.get("seconds"))]
    rows += [(name.replace("_", "-"), value) for name, value in report.get("versions", {}).items()]
    rows += list(report.get("machine", {}).items())
    if data.chosen:
        rows.append(("chosen cell", data.chosen))
    left = "".join(f"<li>{text(each)}</li>" for each in report.get("left_out", ()))
    return (
        '<h2 id="machine">Versions and machine</h2>'
        + table(
            "versions and machine", [("what", False), ("", False)], [(text(name), text(value)) for name, value in rows]
        )
        + (f"<p>Left out:</p><ul>{left}</ul>" if left else "")
        + "<p class=soft>Times are of this machine at that moment. For programs the same is in report.json and "
        "junit.xml.</p>"
    )
