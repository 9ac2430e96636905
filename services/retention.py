"""How long each part remembers, side by side, and whether that fits together. Pure.

Rule: whoever remembers a key must do so for longer than anything may repeat it by itself, and a run must be remembered
for longer than every key: as long as a repeat could be recognised outside, it is recognised here first.
Must not know: where the numbers are set or kept.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from services.margins import backoff_s
from services.moves import Caps
from tools.tool import Tool

MINUTE_S, HOUR_S, DAY_S = 60, 3600, 86_400
PARTS = ((DAY_S, "d"), (HOUR_S, "h"), (MINUTE_S, "min"))


@dataclass(frozen=True, slots=True)
class Lifetime:
    """`seconds` is None where it ends never; `until` says what ends it."""

    what: str
    seconds: float | None
    until: str
    setting: str = ""

    def length(self) -> str:
        return "for ever" if self.seconds is None else spoken(self.seconds)


@dataclass(frozen=True, slots=True)
class Kept:
    """What Restate keeps of a call that has ended, in seconds."""

    ingress_s: float | None
    journal_s: float | None


def spoken(seconds: float) -> str:
    """The largest unit that is whole: 30 d, 36 h, 90 s."""
    for size, unit in PARTS:
        if seconds >= size and seconds % size == 0:
            return f"{seconds / size:g} {unit}"
    return f"{seconds:g} s"


def repeats_s(tool: Tool) -> float:
    """The longest from the first send of an effect to the last that is made by itself, while workers stay up. After an
    outage the age of the key is looked at before each send."""
    waits = sum(backoff_s(tries) for tries in range(1, tool.attempts))
    return tool.attempts * tool.send_deadline_s + waits


def lifetimes(tools: Iterable[Tool], caps: Caps, run_s: float, kept: Kept | None = None) -> tuple[Lifetime, ...]:
    """Everything that is remembered, the shortest first. `kept` is known only with Restate at hand."""
    rows = [
        Lifetime("run: task, ledger, end", run_s, "then a tombstone, for ever: 410 under its id", "PAWL_RETENTION_S"),
        Lifetime("session: messages", None, "the newest 200 and a million characters, until deleted"),
    ]
    for tool in tools:
        if tool.key_lifetime_s is not None:
            until = f"the receiver forgets the key of {tool.name}; repeated for {spoken(repeats_s(tool))} at most"
            rows.append(Lifetime(f"key of {tool.name}", caps.lifetime_s(tool), until, "key_lifetime_s"))
    if kept is not None and kept.journal_s is not None:
        rows.append(Lifetime("journal of an ended call", kept.journal_s, "can be restarted and read", "restate.toml"))
    if kept is not None and kept.ingress_s is not None:
        until = "a repeated Idempotency-Key at the ingress gets the first answer"
        rows.append(Lifetime("idempotency at the ingress", kept.ingress_s, until, "restate.toml"))
    return tuple(sorted(rows, key=lambda row: (row.seconds is None, row.seconds or 0.0, row.what)))


def faults(tools: Iterable[Tool], caps: Caps, run_s: float, kept: Kept | None = None) -> list[str]:
    """A sentence for each pair that does not fit, with what to change."""
    found = []
    for tool in tools:
        lifetime_s = caps.lifetime_s(tool) if tool.key_lifetime_s is not None else None
        if lifetime_s is None:
            continue
        if lifetime_s <= repeats_s(tool):
            where = "PAWL_KEY_LIFETIME_S" if lifetime_s == caps.key_lifetime_s else "its key_lifetime_s"
            found.append(
                f"The receiver of {tool.name} remembers a key for {spoken(lifetime_s)}, and an effect may be repeated"
                f" for {repeats_s(tool):g} s: raise {where}, or lower the tool's attempts or send_deadline_s."
            )
        if run_s <= lifetime_s:
            found.append(
                f"PAWL_RETENTION_S is {run_s:g}, and the receiver of {tool.name} remembers a key for"
                f" {lifetime_s:g} s: a run must be remembered for longer than its keys are."
            )
    for what, seconds in () if kept is None else (("journals", kept.journal_s), ("ingress answers", kept.ingress_s)):
        if seconds is not None and seconds > run_s:
            found.append(
                f"Restate keeps {what} for {spoken(seconds)}, and a run is remembered for {spoken(run_s)}: raise"
                " PAWL_RETENTION_S, or lower the retention in restate.toml."
            )
    return found
