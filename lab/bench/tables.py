"""The numbers as rows of text, for the terminal, the page and the README alike. Pure.

Rule: one place decides what is shown and with how many digits; a number that was not measured is a dash.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from lab.bench.plots import number_text
from lab.bench.sums import by_name
from lab.words import count

Parts = Mapping[str, Mapping[str, Any]]
Row = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """The first column heads its row; `says` is for whoever reads it for the first time."""

    name: str
    title: str
    columns: Row
    rows: tuple[Row, ...]
    says: str = ""


def of_parts(parts: Parts) -> Iterator[Table]:
    """The tables of the parts that were measured."""
    for name, makers in MAKERS.items():
        if name in parts:
            yield from (make(parts[name]) for make in makers)


def goals(told: Mapping[str, Any]) -> Table:
    """What must be reached, and what was, of the parts that were measured; of the others only how many there are."""
    rows = []
    for goal in told["goals"]:
        if goal["value"] is None:
            continue
        least, unit = goal["least"], "" if goal["unit"] == "times" else f" {goal['unit']}"
        bound = f"at least {least:g}" if least is not None else f"at most {goal['most']:g}{unit}"
        rows.append((goal["says"], bound, f"{number_text(goal['value'])}{unit}", REACHED[goal["reached"]]))
    left = len(told["goals"]) - len(rows)
    says = f"{count(left, 'more bound is', 'more bounds are')} for parts that were not measured." if left else ""
    return Table("goals", "What must be reached", ("", "bound", "measured", ""), tuple(rows), says)


REACHED = {True: "reached", False: "not reached", None: "-"}


def contestants(part: Mapping[str, Any]) -> Table:
    """Latency and throughput."""
    plain = by_name(part["contestants"], "plain")
    columns = ("contestant", "alone p50, ms", "p99, ms", "per step over plain, ms", "runs/s at 8", "runs/s at 32")
    rows = []
    for row in part["contestants"]:
        over = None if plain is None else (alone_ms(row) - alone_ms(plain)) / part["job_steps"]
        rows.append(
            (
                row["title"],
                spread(row["alone_ms"]["median_of_round"]),
                number_text(row["alone_ms"]["p99"]),
                "-" if over is None or row is plain else f"{over:.2f}",
                *(spread(row["runs_per_s"][at_once]) for at_once in ("8", "32")),
            )
        )
    return Table("contestants", "The job on every contestant", columns, tuple(rows), SPREAD_SAYS)


def costs(part: Mapping[str, Any]) -> Table:
    """Processor time and memory."""
    columns = (
        "contestant",
        "worker CPU s per 1000",
        "engine CPU s per 1000",
        "memory, MB",
        "after runs",
        "mocks busy",
        "model calls again",
    )
    rows = tuple(
        (
            row["title"],
            *(spread(row["cpu_s_per_1000"][name]) for name in ("worker", "engine")),
            number_text(row["memory_mb"]["resident"]),
            str(row["memory_mb"]["after_runs"]),
            f"{row['mocks_busy']:.0%}",
            str(row["model_calls_again"]),
        )
        for row in part["contestants"]
    )
    says = (
        "At 32 at once. `mocks busy` is how much of one processor model and receiver took at most; all that idle "
        f"meanwhile takes {part['idle_cores']:.3f} of a processor together."
    )
    return Table("costs", "What the job costs", columns, rows, says)


def alone_ms(row: Mapping[str, Any]) -> float:
    """Of one run with nothing beside it: the median over the rounds."""
    return float(row["alone_ms"]["median_of_round"]["median"])


SPREAD_SAYS = "Medians over the rounds; in brackets the least and the most."


def _recovered(row: Mapping[str, Any] | None) -> str:
    if row is None:
        return "-"
    return spread(row["recovered_s"]) + ("" if row["by_itself"] else ", posted again")


def spread(found: Mapping[str, float]) -> str:
    """The median, with the least and the most where they differ."""
    if found["least"] == found["most"]:
        return number_text(found["median"])
    return f"{number_text(found['median'])} ({number_text(found['least'])}-{number_text(found['most'])})"


def ceiling(part: Mapping[str, Any]) -> Table:
    rows = (
        ("the job's requests alone, runs/s", spread(part["runs_per_s"])),
        ("requests/s", str(part["requests_per_s"])),
        ("model and receiver, CPU s per 1000 runs", spread(part["mocks_cpu_s_per_1000"])),
    )
    says = "No contestant can be faster than this, and none is near it: model and receiver are not the limit."
    return Table("ceiling", "What model and receiver can do", ("", ""), rows, says)


def steps(part: Mapping[str, Any]) -> Table:
    made, entries = part["steps"], part["entries"]
    columns = (
        "at once",
        "Pawl, runs/s",
        "by hand, runs/s",
        "Pawl over by hand",
        "rows by hand over by hand",
        "Pawl, CPU ms",
        "rows by hand, CPU ms",
        "by hand, CPU ms",
        "a seal, ms",
        "a seal, CPU ms",
    )
    rows = tuple(
        (
            str(load["at_once"]),
            *(spread(load[name]["runs_per_s"]) for name in ("pawl", "bare")),
            spread(load["pawl_over_bare"]),
            spread(load["rows_over_bare"]),
            *(spread(load[name]["cpu_ms"]) for name in ("pawl", "with_rows", "bare")),
            "-" if load["seal_ms"] is None else spread(load["seal_ms"]),
            spread(load["seal_cpu_ms"]),
        )
        for load in part["loads"]
    )
    says = (
        f"{made['pawl']} steps of Pawl beside {made['bare']} by hand. Without its seals that loop makes "
        f"{made['unsealed']}, which says what one costs. *Rows by hand* is that loop with {entries['with_rows']} "
        f"entries (Pawl: {entries['pawl']}, the loop: {entries['bare']}), the same bytes each time, nothing decided: "
        "what rows like those of the ledger cost by themselves."
    )
    return Table("steps", "Empty steps", columns, rows, says)


def clients(part: Mapping[str, Any]) -> Table:
    columns = ("clients", "model call, 12 messages", "model call, 100 messages", "tool call")
    rows = tuple(
        (row["title"], *(spread(row[what]) for what in ("model_12", "model_100", "tool"))) for row in part["clients"]
    )
    return Table("clients", "Processor time of one call, ms", columns, rows, f"{part['at_once']} calls at once.")


def windows(part: Mapping[str, Any]) -> Table:
    columns = ("contestant", "at once", "effects", "recorded, median ms", "95 %", "most", "of it the worker, median ms")
    rows = tuple(
        (
            row["title"],
            str(load["at_once"]),
            str(load["effects"]),
            *(number_text(load["recorded_ms"][share]) for share in ("median", "p95", "most")),
            number_text(load["worker_ms"]["median"]),
        )
        for row in part["contestants"]
        for load in row["loads"]
    )
    says = "Both stand behind the same relays, whose share is in the numbers."
    return Table("windows", "The window: applied, and not yet recorded", columns, rows, says)


def recovery(part: Mapping[str, Any]) -> Table:
    columns = ("contestant", "kills", "SIGKILL to answer, s", "worker listens after, s")
    rows = tuple(
        (row["title"], str(row["kills"]), _recovered(row), spread(row["listens_s"])) for row in part["contestants"]
    )
    return Table("recovery", "A worker killed in the window and started again at once", columns, rows)


def growth(part: Mapping[str, Any]) -> Table:
    marks = list(part["contestants"][0]["turn_ms"])
    columns = ("contestant", *(f"turn {mark}, ms" for mark in marks))
    rows = tuple((row["title"], *(spread(row["turn_ms"][mark]) for mark in marks)) for row in part["contestants"])
    return Table("growth", f"A run of {part['turns']} turns with replies of {part['reply_bytes']} bytes", columns, rows)


def replay(part: Mapping[str, Any]) -> Table:
    columns = ("contestant", "journal entries", "replay, ms", "ms per entry")
    rows = tuple(
        (
            row["title"],
            str(row["entries"]),
            spread(row["replay_ms"]),
            f"{row['ms_per_entry']['median']:.3f}",
        )
        for row in part["contestants"]
    )
    return Table("replay", f"Replay after a kill at turn {part['turns']}", columns, rows)


def workers(part: Mapping[str, Any]) -> Table:
    rows = tuple(
        (
            str(row["workers"]),
            spread(row["runs_per_s"]),
            spread(row["worker_cpu_s_per_1000"]),
            *(f"{row['busy'][name]['median']:.2f}" for name in ("worker", "engine")),
            f"{row['busy']['mocks']['median'] + row['busy']['load']['median']:.2f}",
        )
        for row in part["counts"]
    )
    columns = ("workers", "runs/s at 32", "workers' CPU s per 1000", "processors: workers", "server", "the rest")
    says = "What is busy near the number of this machine's processors is what limits."
    return Table("workers", "Pawl behind one address", columns, rows, says)


def memory(part: Mapping[str, Any]) -> Table:
    rows = tuple((str(mark["runs"]), number_text(mark["resident_mb"])) for mark in part["marks"])
    return Table("memory", "The memory of Pawl's worker", ("after runs", "MB"), rows)


MAKERS = {
    "speed": (contestants, costs),
    "recovery": (recovery,),
    "steps": (steps,),
    "clients": (clients,),
    "windows": (windows,),
    "growth": (growth,),
    "replay": (replay,),
    "workers": (workers,),
    "memory": (memory,),
    "ceiling": (ceiling,),
}
