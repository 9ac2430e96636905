"""The top of the page: whether all is well, and the published scenarios beside what was counted here. Pure.

Rule: what was not played is left out; of a report with nothing in it that is said.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from lab.page_style import figures, table, text
from lab.published import TITLE
from lab.words import all_well, count

Told = Mapping[str, Any]


def head(report: Told, storm: Told | None) -> str:
    """The title, whether all is well, and the links to the parts."""
    summary = report.get("summary", {})
    red = summary.get("red", [])
    links = (
        *([("scenarios", "Published scenarios")] if _played(report) else []),
        ("matrix", "Matrix"),
        ("timelines", "Timelines"),
        ("window", "Window"),
        ("storm", "Storm"),
        ("bench", "Benchmark"),
        ("machine", "Versions"),
    )
    numbers: list[tuple[str, object]] = [
        ("cells", summary.get("cells", 0)),
        ("trials", summary.get("trials", 0)),
        ("not as they must be", len(red)),
    ]
    if storm is not None:
        numbers.append(("duplicates in the storm", sum(len(each) for each in storm.get("duplicated", {}).values())))
    if red:
        listed = "".join(f"<li><code>{text(each)}</code></li>" for each in red)
        many = count(len(red), "cell")
        verdict = f'<div class="bad"><b>Not as they must be, or cannot be told: {many}.</b><ul>{listed}</ul></div>'
    elif summary.get("cells"):
        verdict = f'<div class="good">{text(all_well({cell["group"] for cell in report["cells"]}))}</div>'
    else:
        verdict = '<div class="bad">No cell was played.</div>'
    navigation = "".join(f'<li><a href="#{name}">{words}</a></li>' for name, words in links)
    return (
        "<h1>What was killed, and what the receiver counted</h1>"
        "<p class=soft>Real processes, real signals. A verdict is what the receiver's own rows say was applied, "
        "never what a run says of itself.</p>"
        f'<nav aria-label="parts of the report"><ul>{navigation}</ul></nav>{verdict}{figures(numbers)}'
    )


def scenarios(report: Told, drawn: Mapping[str, str]) -> str:
    """Those that were played, beside what was published. `drawn` are the timelines by cell."""
    published, played = report.get("published", {}), _played(report)
    if not played:
        return ""
    every = len(published["rows"])
    which = "The nine published scenarios" if len(played) == every else f"{len(played)} of the published scenarios"
    here = report.get("versions", {}).get("restate_server", "unknown")
    names = ("model_calls", "received", "applied")

    def row(each: Told) -> Sequence[str]:
        link = drawn.get(each.get("cell") or "")
        label = text(each["scenario"])
        first = f'<a href="#{link}">{label}</a>' if link else label
        pairs = [f"{text(each['told'][name])} / <b>{text(each['counted'][name])}</b>" for name in names]
        return (first, *pairs, text(each["agree"]))

    columns = [("scenario", False), *((name, True) for name in ("model calls", "received", "applied"))]
    return (
        f'<h2 id="scenarios">{which}, repeated</h2>'
        f"<p>Published as <cite>{TITLE}</cite>, with <b>{text(published.get('server'))}</b> and the "
        f"{text(published.get('sdk'))}; here with <b>restate-server {text(here)}</b> and the Python SDK "
        f"{text(report.get('versions', {}).get('restate-sdk'))}. "
        "Each pair is the published count and the one <b>counted here</b>; a dash is a count that the text does not "
        "state.</p>"
        + table(
            "the published scenarios",
            [*columns, ("trials that agree", False)],
            [row(each) for each in played],
        )
    )


def _played(report: Told) -> list[Told]:
    """The published scenarios that were played."""
    return [row for row in report.get("published", {}).get("rows", ()) if row["cell"] is not None]
