"""The parts of the report that the matrix does not fill: the window's plot and the storm's figures. Pure."""

import math
import time
from collections.abc import Mapping, Sequence
from typing import Any

from lab.page_style import figures, table, text

Told = Mapping[str, Any]
INKS = ("#1d5fa8", "#9a4a06", "#5b1a6e")
DASHES = ("", "7 4", "2 3")
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 760, 390, 56, 40, 80, 46


def window(told: Told | None) -> str:
    """How wide the window is in which a crash doubles an unkeyed effect."""
    head = '<h2 id="window">The window: applied, and not yet recorded</h2>'
    if told is None:
        return f"{head}<p>Not measured here: <code>python -m lab window</code> does.</p>"
    series: Sequence[Told] = told["series"]
    columns = [
        ("load", False),
        ("effects", True),
        ("median, ms", True),
        ("95 %, ms", True),
        ("longest, ms", True),
        ("worker's share, median, ms", True),
        ("doubled per 1000 crashes, derived", True),
    ]
    rows = [
        (
            text(each["name"]),
            str(each["effects"]),
            f"{each['median_ms']:.2f}",
            f"{each['p95_ms']:.2f}",
            f"{each['max_ms']:.2f}",
            f"{each['worker']['median_ms']:.2f}",
            f"{each['doubled_per_1000']:.1f}",
        )
        for each in series
    ]
    return (
        f"{head}<p>{text(told['says'])}</p>{table('the window', columns, rows)}"
        f'<div class="scroll" role="region" tabindex="0" aria-label="plot of the window">{plot(series)}</div>'
        f"<p class=soft>{text(told['estimate'])} {_when(told)}</p>"
    )


def _when(told: Told) -> str:
    """Each part may be of another hour than the matrix."""
    at = told.get("started_at")
    return "" if at is None else f"Measured {time.strftime('%Y-%m-%d %H:%M UTC', time.gmtime(at))}."


def plot(series: Sequence[Told]) -> str:
    """For each load, which part of the effects had a window at most so wide; the axis is logarithmic."""
    every = [value for each in series for value in each["samples_ms"]]
    low = math.floor(math.log10(max(0.01, min(every))))
    high = max(low + 1, math.ceil(math.log10(max(0.02, *every))))

    def x(value_ms: float) -> float:
        part = (math.log10(max(10.0**low, value_ms)) - low) / (high - low)
        return LEFT + part * (WIDTH - LEFT - RIGHT)

    def y(share: float) -> float:
        return TOP + (1 - share) * (HEIGHT - TOP - BOTTOM)

    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" '
            'font-family="system-ui,sans-serif" font-size="12" role="img" '
            'aria-label="share of effects by the width of their window; the numbers are in the table above">'
        ),
        *(
            f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(share):.1f}" y2="{y(share):.1f}" stroke="#d8dde3"/>'
            f'<text x="{LEFT - 8}" y="{y(share) + 4:.1f}" text-anchor="end">{share:.0%}</text>'
            for share in (0, 0.25, 0.5, 0.75, 0.95)
        ),
    ]
    for power in range(low, high + 1):
        at = x(10.0**power)
        parts.append(
            f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}" stroke="#e9ecef"/>'
            f'<text x="{at:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{10.0**power:g} ms</text>'
        )
    for index, each in enumerate(series):
        parts.append(_curve(each, index, x, y))
    parts.append(
        f'<text x="{(LEFT + WIDTH) / 2:.0f}" y="{HEIGHT - 8}" text-anchor="middle">'
        "from applied to recorded</text></svg>"
    )
    return "".join(parts)


def _curve(each: Told, index: int, x: Any, y: Any) -> str:
    ink, dash = INKS[index % len(INKS)], DASHES[index % len(DASHES)]
    samples = sorted(each["samples_ms"])
    points = [(x(samples[0]), y(0.0))]
    for number, value in enumerate(samples, 1):
        points += [(x(value), points[-1][1]), (x(value), y(number / len(samples)))]
    line = " ".join(f"{left:.1f},{top:.1f}" for left, top in points)
    middle = x(each["median_ms"])
    return (
        f'<polyline points="{line}" fill="none" stroke="{ink}" stroke-width="2" stroke-dasharray="{dash}"/>'
        f'<circle cx="{middle:.1f}" cy="{y(0.5):.1f}" r="4.5" fill="{ink}"/>'
        f'<line x1="{LEFT}" x2="{LEFT + 28}" y1="{14 + 20 * index}" y2="{14 + 20 * index}" '
        f'stroke="{ink}" stroke-width="2" stroke-dasharray="{dash}"/>'
        f'<text x="{LEFT + 36}" y="{18 + 20 * index}">{text(each["name"])}, '
        f"median {each['median_ms']:.2f} ms</text>"
    )


def storm(told: Told | None) -> str:
    """What was done to many runs at once, and what the receiver counted."""
    head = '<h2 id="storm">The storm</h2>'
    if told is None:
        return f"{head}<p>Not run here: <code>python -m lab storm</code> does.</p>"
    counts = {name: sum(len(each) for each in told[name].values()) for name in ("duplicated", "lost", "hanging")}
    numbers: list[tuple[str, object]] = [
        ("runs", told["runs"]),
        ("faults landed", sum(each["landed"] for each in told["kinds"].values())),
        ("runs hit", told["hit"]),
        ("duplicated", counts["duplicated"]),
        ("lost", counts["lost"]),
        ("hanging", counts["hanging"]),
        ("wait for a person", len(told["parked"])),
        ("completed", told["completed"]),
    ]
    rows = [(text(name), str(each["landed"]), str(each["of"])) for name, each in told["kinds"].items()]
    said = (
        '<div class="good">Every effect was applied once, or is in doubt and its run waits for a person.</div>'
        if told["good"]
        else f'<div class="bad">{text(told["unreadable"] or "Not every effect was applied once.")}</div>'
    )
    wrong = "".join(
        f"<li><code>{text(run_id or 'no run')}</code> {name}: {text('; '.join(sentences))}</li>"
        for name in ("duplicated", "lost", "hanging")
        for run_id, sentences in told[name].items()
    )
    parked = "".join(f"<li><code>{text(run_id)}</code> {text(why)}</li>" for run_id, why in told["parked"].items())
    return (
        f"{head}<p>{text(told['runs'])} runs at once over two workers, struck for {told['storm_s']:.0f} s, seed "
        f"{text(told['seed'])}; {text(told['effects'])} effects applied of {text(told['requests'])} requests, "
        f"{text(told['repeated'])} keys sent more than once. {_when(told)} "
        f"Again: <code>{text(told['again'])}</code></p>{said}"
        f"{figures(numbers)}"
        + (f"<ul>{wrong}</ul>" if wrong else "")
        + table("faults of the storm", [("fault", False), ("landed", True), ("brought", True)], rows)
        + (f"<details><summary>Runs that wait, and why</summary><ul>{parked}</ul></details>" if parked else "")
    )
