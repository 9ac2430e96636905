"""The words of the matrix: verdict, fault, point, cell. Pure.

Rule: a cell is one target, one job, one fault at one point, with what must be seen of it. Its id says which.
"""

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """What became of the effect that a run was to have. Only the first three can be right."""

    ONCE = "once"
    """Applied once and the run completed; of a SET: the state is right."""
    NONE = "none"
    """Nothing was applied, as nothing was to be: a READ."""
    UNKNOWN = "unknown"
    """Applied once or not at all, and the run waits for a person with the evidence."""
    DUPLICATED = "duplicated"
    """More was applied than was asked for; of a SET: an old value went over a newer one."""
    LOST = "lost"
    """Not applied although the run completed, or the run came to no end."""
    INVALID = "invalid"
    """The fault did not land, or what happened could not be read. Never a pass."""


class Point(StrEnum):
    """Where in the work of a run the fault strikes. Those of the model are points of a model call."""

    NONE = "none"
    BEFORE = "before"
    """Everything is ready and the request has not left."""
    ARRIVED = "arrived"
    """The receiver has the request and has applied nothing."""
    APPLIED = "applied"
    """Applied, and the answer is not read."""
    UNRECORDED = "unrecorded"
    """The answer is read, and the server has not recorded it."""
    RECORDED = "recorded"
    """Recorded, and nothing further has left."""
    MODEL_BEFORE = "model-before"
    MODEL_ARRIVED = "model-arrived"
    MODEL_ANSWERED = "model-answered"
    """The reply is decided, and not read."""
    MODEL_UNRECORDED = "model-unrecorded"
    MODEL_RECORDED = "model-recorded"


class Fault(StrEnum):
    """What is done to the run."""

    NONE = "no-fault"
    WORKER_KILL = "worker-kill"
    WORKER_KILL_TWICE = "worker-kill-twice"
    WORKER_FREEZE = "worker-freeze"
    """Stopped until another attempt has finished, then thawed."""
    WORKER_FREEZE_LATE = "worker-freeze-late"
    """Stopped until its send deadline has passed as well: it must not send any more."""
    WORKER_REDEPLOY = "worker-redeploy"
    """SIGTERM, then a new worker at the same address."""
    SERVER_KILL = "server-kill"
    BOTH_KILL = "both-kill"
    """Worker and server at once."""
    LEADER_KILL = "leader-kill"
    """In a cluster of three nodes, the node that leads the run's partition."""
    RECEIVER_KILL = "receiver-kill"
    MODEL_KILL = "model-kill"
    ANSWER_LOST = "answer-lost"
    """The connection ends without an answer; nobody dies."""
    LINE_CUT = "line-cut"
    """The connection between worker and server ends; both live."""
    LINE_DEAD = "line-dead"
    """The connection between worker and server stays and carries nothing any more."""
    RESTARTED_SCRATCH = "restarted-scratch"
    """An operator kills the run and restarts it as new."""
    RESTARTED_CUTS = "restarted-cuts"
    """The same from every index of the journal, one run for each."""
    RESTARTED_ENDED = "restarted-ended"
    """A run that has ended is restarted from every index of its journal."""
    SUBMITTED_TWICE = "submitted-twice"
    ASKED_AGAIN = "asked-again"
    """The model asks for the same once more after an unknown outcome."""
    DRIFT_AMOUNT = "drift-amount"
    """A repeated model call asks for another amount."""
    DRIFT_WORDS = "drift-words"
    """A repeated model call words the same action differently."""
    KEY_EXPIRED = "key-expired"
    """The worker is away until the receiver has forgotten the key."""
    KEYS_IGNORED = "keys-ignored"
    """The worker is killed, and the receiver takes no notice of keys: what a KEYED effect rests on is not there."""
    WRITTEN_SINCE = "written-since"
    """Somebody else writes the record while the worker is away for longer than its send deadline."""
    WRITTEN_VERSION = "written-version"
    """Somebody else writes the record, whose version the request names, while the worker is away."""


class Group(StrEnum):
    """The parts of the matrix, in the order of the report."""

    PUBLISHED = "published"
    PAWL = "pawl"
    CONTROL = "control"
    CONTESTANT = "contestant"
    OWN = "own"


@dataclass(frozen=True, slots=True)
class Counts:
    """What was counted, or must be counted exactly; None where nothing is said. `model_calls_max` is a limit only."""

    model_calls: int | None = None
    received: int | None = None
    applied: int | None = None
    model_calls_max: int | None = None


UNCOUNTED = Counts()


@dataclass(frozen=True, slots=True)
class Cell:
    """`expected`: the verdicts that are right. `silent`: after a thaw nothing may be sent any more."""

    target: str
    job: str
    fault: Fault
    point: Point
    expected: frozenset[Verdict]
    group: Group
    counts: Counts = UNCOUNTED
    silent: bool = False

    @property
    def id(self) -> str:
        return named(self.target, self.job, self.fault, self.point)


def named(target: str, job: str, fault: Fault, point: Point) -> str:
    """The id of a cell; of a scene, with its jobs."""
    where = "" if point is Point.NONE else f"/{point.value}"
    return f"{target}/{job}/{fault.value}{where}"
