"""The pictures: latency, throughput, and the cost of a turn as a run grows. Pure: parts in, SVG out.

Rule: each number that is drawn is also in a table; a bar carries its number in words, a line its name. The whisker is
the least and the most of the rounds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lab.page_style import text

Parts = Mapping[str, Mapping[str, Any]]
WIDTH, ROW, LABEL, RIGHT, TOP = 760, 26, 230, 90, 40
MINE, THEIRS, INK, FAINT = "#1d5fa8", "#9aa5b1", "#1b1f24", "#d8dde3"
INKS = ("#1b1f24", "#9a4a06", "#2f7d46", "#1d5fa8", "#5b1a6e", "#8c1d18")
DASHES = ("2 3", "7 4", "9 3 2 3", "", "4 4", "1 5")


@dataclass(frozen=True, slots=True)
class Bar:
    """One contestant's number, with the least and the most of the rounds."""

    title: str
    value: float
    least: float
    most: float
    mine: bool


def pictures(parts: Parts) -> dict[str, str]:
    """By name; what was not measured has none."""
    found = {}
    if "speed" in parts:
        rows = parts["speed"]["contestants"]
        alone = [_bar(row, row["alone_ms"]["median_of_round"]) for row in rows]
        found["latency"] = bars("One run at a time, median, ms", alone)
        found["throughput"] = bars("Runs per second, 32 at once", [_bar(row, row["runs_per_s"]["32"]) for row in rows])
    if "growth" in parts:
        found["growth"] = lines(parts["growth"]["contestants"])
    return found


def _bar(row: Mapping[str, Any], spread: Mapping[str, float]) -> Bar:
    return Bar(row["title"], spread["median"], spread["least"], spread["most"], row["name"] == "pawl")


def bars(title: str, found: Sequence[Bar]) -> str:
    """Horizontal bars, in the order given."""
    most = max(bar.most for bar in found) or 1.0
    height = TOP + ROW * len(found) + 10
    room = WIDTH - LABEL - RIGHT
    parts = [
        _begin(height, f"{title}; the numbers are in the table"),
        f'<text x="8" y="22" font-weight="600">{text(title)}</text>',
    ]
    for number, bar in enumerate(found):
        top = TOP + ROW * number
        middle = top + ROW / 2
        end, least, highest = (LABEL + room * value / most for value in (bar.value, bar.least, bar.most))
        weight, ink = (600, MINE) if bar.mine else (400, THEIRS)
        parts.append(
            f'<text x="{LABEL - 8}" y="{middle + 4:.1f}" text-anchor="end" font-weight="{weight}">'
            f'{text(bar.title)}</text><rect x="{LABEL}" y="{top + 4}" width="{max(1.0, end - LABEL):.1f}" '
            f'height="{ROW - 8}" fill="{ink}"/><line x1="{least:.1f}" x2="{highest:.1f}" y1="{middle:.1f}" '
            f'y2="{middle:.1f}" stroke="{INK}" stroke-width="1.5"/>'
            f'<text x="{max(end, highest) + 6:.1f}" y="{middle + 4:.1f}">{number_text(bar.value)}</text>'
        )
    return "".join((*parts, "</svg>"))


def lines(contestants: Sequence[Mapping[str, Any]]) -> str:
    """What each turn cost, over the turns of the run."""
    height, bottom = 380, 46
    top = TOP + 20 * len(contestants)
    height += top
    smooth = {row["name"]: smoothed(row["each_turn_ms"]) for row in contestants}
    turns = max(len(values) for values in smooth.values())
    most = max(value for values in smooth.values() for value in values) * 1.05

    def x(turn: float) -> float:
        return 60 + (WIDTH - 90) * turn / turns

    def y(value: float) -> float:
        return top + (height - top - bottom) * (1 - value / most)

    parts = [
        _begin(height, "cost of a turn by its number; the numbers are in the table"),
        '<text x="8" y="22" font-weight="600">Cost of a turn of a long run, ms</text>',
    ]
    for share in (0, 0.25, 0.5, 0.75, 1):
        value, turn = most * share, turns * share
        parts.append(
            f'<line x1="60" x2="{WIDTH - 30}" y1="{y(value):.1f}" y2="{y(value):.1f}" stroke="{FAINT}"/>'
            f'<text x="52" y="{y(value) + 4:.1f}" text-anchor="end">{number_text(value)}</text>'
            f'<text x="{x(turn):.1f}" y="{height - bottom + 18}" text-anchor="middle">{turn:.0f}</text>'
        )
    for number, row in enumerate(contestants):
        ink, dash = INKS[number % len(INKS)], DASHES[number % len(DASHES)]
        style = f'stroke="{ink}" stroke-width="2" stroke-dasharray="{dash}" fill="none"'
        points = " ".join(f"{x(at + 1):.1f},{y(value):.1f}" for at, value in enumerate(smooth[row["name"]]))
        key = TOP + 20 * number
        parts.append(
            f'<polyline points="{points}" {style}/><line x1="60" x2="96" y1="{key}" y2="{key}" {style}/>'
            f'<text x="104" y="{key + 4}">{text(row["title"])}</text>'
        )
    parts.append(f'<text x="{WIDTH / 2:.0f}" y="{height - 8}" text-anchor="middle">turn</text></svg>')
    return "".join(parts)


def smoothed(values: Sequence[float], near: int = 9) -> list[float]:
    """The median of each value and its neighbours: single turns jump with the machine."""
    half = near // 2
    found = []
    for at in range(len(values)):
        part = sorted(values[max(0, at - half) : at + half + 1])
        found.append(part[len(part) // 2])
    return found


def number_text(value: float) -> str:
    """As many digits as say something."""
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 1 else f"{value:.2f}"


def _begin(height: int, label: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
        f'font-family="system-ui,sans-serif" font-size="12" role="img" aria-label="{text(label)}">'
        f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>'
    )
