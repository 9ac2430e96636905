"""The timeline of one trial as SVG: lanes for run, model, worker, server and receiver, and what struck them. Pure.

Rule: everything on it was noted with its time. Pauses are drawn shorter than they were, so that moments which lie
milliseconds apart can be told from each other; the seconds are written beside each mark, and every mark has a number
that is explained in words below.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from lab.checker import sent
from lab.history import History, Ledger
from lab.jobs import JOBS, is_of
from lab.page_style import text

LANES = ("run", "model", "worker", "worker-2", "server", "line", "receiver")
ALWAYS = ("model", "worker", "server", "receiver")
MARKS_MAX = 60
"""More would not be read."""
LEFT, RIGHT, TOP, LANE_H = 92, 40, 34, 46
STEP_MIN, STEP_MAX, PER_S = 44.0, 120.0, 60.0
STRUCK = frozenset({"killed", "frozen", "cut", "blackhole", "dead"})
DOWN, UP = ("killed", "ended", "left"), ("started",)
RED, BLUE, GREEN, GREY = "#b3261e", "#1d5fa8", "#2f7d46", "#7a8590"


@dataclass(frozen=True, slots=True)
class Mark:
    """One thing on a lane. `shape`: dot, ring (not applied, not answered), cross (a strike), square (the lab's act)."""

    at: float
    lane: str
    shape: str
    colour: str
    words: str


def marks(history: History) -> list[Mark]:
    """What is drawn, in order of time."""
    made = [*_events(history), *(_rows(history, history.after or history.ledger))]
    return sorted(made, key=lambda mark: mark.at)


def _events(history: History) -> Iterator[Mark]:
    for event in history.events:
        lane = event.lane if event.lane in LANES else _lane(event.lane)
        words = f"{event.what}: {event.text}" if event.text else event.what
        if lane is None:
            continue
        struck = event.what in STRUCK
        yield Mark(event.at, lane, "cross" if struck else "square", RED if struck else GREY, words)
    struck_at = {event.at for event in history.events if event.what in STRUCK}
    for landing in history.landings:
        if not any(abs(landing.at - at) < 1.0 for at in struck_at):
            yield Mark(landing.at, "run", "cross", RED, f"{landing.fault}: {landing.proof}")


def _lane(name: str) -> str | None:
    """A node of a cluster is the server; what the lab only says of itself is not drawn."""
    return "server" if name.startswith(("server", "node")) else None


def _rows(history: History, ledger: Ledger | None) -> Iterator[Mark]:
    if ledger is None:
        return
    job = JOBS.get(history.job)
    scripts = {history.job, *(run.tag for run in history.runs), *(() if history.beside else (None,))}
    for call in ledger.model:
        if call["script"] in scripts:
            turn = "a call" if call["turn"] is None else f"call for reply {call['turn'] + 1}"
            answered = call["status"] is not None
            words = f"{turn}, answered with {call['status']}" if answered else f"{turn}, never answered"
            yield Mark(call["at"], "model", "dot" if answered else "ring", BLUE, words)
    names = {job.effect, *job.others} if job is not None else set()
    wanted = {id(row) for row in sent(job, ledger.requests)} if job is not None else set()
    beside = {row["key"] for row in ledger.effects if any(is_of(row, tag) for tag in history.beside)}
    for row in ledger.requests:
        own = job is None or id(row) in wanted or row["effect"] in names or row["effect"].removeprefix("find_") in names
        if not own or (row["key"] is not None and row["key"] in beside):
            continue
        status = "never answered" if row["status"] is None else f"answered with {row['status']}"
        key = f", key {row['key'][:8]}" if row["key"] else ", no key" if row["method"] != "GET" else ""
        did = "APPLIED" if row["applied"] else "nothing applied"
        words = f"{row['method']} {row['effect']}: {did}, {status}{key}"
        yield Mark(row["at"], "receiver", "dot" if row["applied"] else "ring", GREEN, words)


def timeline(history: History, title: str) -> str:
    """The drawing and the story in words."""
    drawn = marks(history)
    more = len(drawn) - MARKS_MAX
    drawn = drawn[:MARKS_MAX]
    if not drawn:
        return "<p>Nothing was noted of this trial.</p>"
    story = "".join(
        f"<li><b>{mark.at - history.started_at:.3f} s</b> {text(mark.lane)}: {text(mark.words)}</li>" for mark in drawn
    )
    proofs = dict.fromkeys(f"{landing.fault}: {landing.proof}" for landing in history.landings)
    landed = "".join(f"<li>Landed: {text(proof)}.</li>" for proof in proofs)
    rest = f"<p>{more} further marks are in the history.</p>" if more > 0 else ""
    return (
        (f"<ul>{landed}</ul>" if landed else "")
        + f'<div class="scroll" role="region" tabindex="0" aria-label="timeline of {text(title)}">'
        f'{_svg(drawn, history.started_at, title)}</div><ol class="story">{story}</ol>{rest}'
    )


def _svg(drawn: Sequence[Mark], began: float, title: str) -> str:
    lanes = [lane for lane in LANES if lane in ALWAYS or any(mark.lane == lane for mark in drawn)]
    y = {lane: TOP + LANE_H * (index + 0.5) for index, lane in enumerate(lanes)}
    x = _places(drawn)
    width, bottom = x[-1] + RIGHT, TOP + LANE_H * len(lanes)
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{bottom + 30:.0f}" '
            f'viewBox="0 0 {width:.0f} {bottom + 30:.0f}" role="img" aria-label="{text(title)}; told in words below">'
        )
    ]
    for lane in lanes:
        parts.append(f'<text x="10" y="{y[lane] + 4:.0f}" font-weight="600">{lane}</text>')
        parts.append(_bar(lane, y[lane], drawn, x, width))
    for mark, at in zip(drawn, x, strict=True):
        if mark.shape == "cross":
            parts.append(
                f'<line x1="{at:.1f}" y1="{TOP - 6}" x2="{at:.1f}" y2="{bottom}" stroke="{RED}" '
                'stroke-dasharray="4 3"/>'
                f'<text x="{at:.1f}" y="{TOP - 12}" text-anchor="middle" style="fill:{RED};font-weight:600">'
                f"{text(mark.words.split(':')[0])}</text>"
            )
    written = -STEP_MAX
    for number, (mark, at) in enumerate(zip(drawn, x, strict=True), 1):
        parts.append(_drawn(mark, number, at, y[mark.lane]))
        if at - written >= 46:
            parts.append(
                f'<text x="{at:.1f}" y="{bottom + 20:.0f}" text-anchor="middle" style="fill:#56606b">'
                f"{mark.at - began:.2f} s</text>"
            )
            written = at
    return "".join(parts) + "</svg>"


def _places(drawn: Sequence[Mark]) -> list[float]:
    """Where each mark is, from left to right: a pause is as wide as it was long, within limits."""
    x = [float(LEFT + 20)]
    for before, mark in pairwise(drawn):
        x.append(x[-1] + min(STEP_MAX, max(STEP_MIN, (mark.at - before.at) * PER_S)))
    return x


def _bar(lane: str, y: float, drawn: Sequence[Mark], x: Sequence[float], width: float) -> str:
    """The life of a lane: a line, broken while its process is dead, thick and pale while it is frozen."""
    parts, since, look = [], float(LEFT), "live"
    for mark, at in zip(drawn, x, strict=True):
        if mark.lane != lane:
            continue
        word = mark.words.split(":")[0]
        after = (
            "dead" if word in DOWN else "frozen" if word == "frozen" else "live" if word in (*UP, "thawed") else look
        )
        if after != look:
            parts.append(_segment(look, since, at, y))
            since, look = at, after
    return "".join((*parts, _segment(look, since, width - 10, y)))


def _segment(look: str, since: float, until: float, y: float) -> str:
    styles = {
        "live": 'stroke="#aeb6bf" stroke-width="2"',
        "dead": f'stroke="{RED}" stroke-width="2" stroke-dasharray="1 5"',
        "frozen": 'stroke="#bcd4ee" stroke-width="12"',
    }
    words = {"dead": "dead", "frozen": "frozen", "live": ""}[look]
    label = f'<text x="{since + 14:.1f}" y="{y + 20:.1f}" style="fill:#56606b">{words}</text>' if words else ""
    return f'<line x1="{since:.1f}" y1="{y}" x2="{until:.1f}" y2="{y}" {styles[look]}/>{label}'


def _drawn(mark: Mark, number: int, x: float, y: float) -> str:
    ink, fill = ("#fff", mark.colour) if mark.shape != "ring" else (mark.colour, "#fff")
    shape = (
        f'<rect x="{x - 10:.1f}" y="{y - 10:.1f}" width="20" height="20" rx="{0 if mark.shape == "cross" else 4}" '
        if mark.shape in ("cross", "square")
        else f'<circle cx="{x:.1f}" cy="{y:.1f}" r="10.5" '
    )
    return (
        f"<g><title>{text(mark.words)}</title>{shape}"
        f'fill="{fill}" stroke="{mark.colour}" stroke-width="2"/>'
        f'<text x="{x:.1f}" y="{y + 4:.1f}" text-anchor="middle" style="fill:{ink};font-size:11px;font-weight:600">'
        f"{number}</text></g>"
    )
