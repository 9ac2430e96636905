"""The published experiment that the lab repeats: its nine scenarios, and the counts that its text states. Pure data.

It is the article `TITLE`, whose author killed an agent's worker on Restate and counted the charges. It ran on
restate-server 1.7.13 and the TypeScript SDK 1.17.2, three trials each, with a worker that killed itself. Here the
workers are Python, the server is the one that package.json pins, and the kill comes from outside. A count that the text
does not state is None. Where it says how many charges there were and no key was sent, that is what was received as well
as what was applied, since its receiver applied every request without a key. The plain loop without a crash is in its
code, and in its table only, which was a picture.
"""

from dataclasses import dataclass

from lab.cells import Counts, Fault, Point

TITLE = "Restate Durable Agents: Duplicate Tool Calls Tested (2026)"
SERVER = "restate-server 1.7.13"
SDK = "TypeScript SDK 1.17.2"
JOB = "receipt"


@dataclass(frozen=True, slots=True)
class Scenario:
    """`told` is what was published; `counts` what must be counted here."""

    label: str
    target: str
    fault: Fault
    point: Point
    told: Counts
    counts: Counts


PUBLISHED: tuple[Scenario, ...] = (
    Scenario("plain loop, no crash", "plain", Fault.NONE, Point.NONE, Counts(), Counts(3, 1, 1)),
    Scenario(
        "plain loop, killed after the charge",
        "plain",
        Fault.WORKER_KILL,
        Point.RECORDED,
        Counts(4, 2, 2),
        Counts(4, 2, 2),
    ),
    Scenario("journalled, no crash", "journaled", Fault.NONE, Point.NONE, Counts(3, 1, 1), Counts(3, 1, 1)),
    Scenario(
        "journalled, killed before the effect",
        "journaled",
        Fault.WORKER_KILL,
        Point.BEFORE,
        Counts(3, 1, 1),
        Counts(3, 1, 1),
    ),
    Scenario(
        "journalled, killed after the effect",
        "journaled",
        Fault.WORKER_KILL,
        Point.UNRECORDED,
        Counts(None, 2, 2),
        Counts(3, 2, 2),
    ),
    Scenario(
        "journalled, killed after the tool had returned",
        "journaled",
        Fault.WORKER_KILL,
        Point.RECORDED,
        Counts(3, 1, 1),
        Counts(3, 1, 1),
    ),
    Scenario(
        "keyed, killed after the effect",
        "keyed",
        Fault.WORKER_KILL,
        Point.UNRECORDED,
        Counts(None, 2, 1),
        Counts(3, 2, 1),
    ),
    Scenario(
        "outside ctx.run, killed after the tool had returned",
        "bare",
        Fault.WORKER_KILL,
        Point.RECORDED,
        Counts(None, 2, 2),
        Counts(3, 2, 2),
    ),
    Scenario(
        "journalled, killed after the model had answered",
        "journaled",
        Fault.WORKER_KILL,
        Point.MODEL_UNRECORDED,
        Counts(4, 1, 1),
        Counts(4, 1, 1),
    ),
)
