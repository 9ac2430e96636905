"""The exit codes of the command line, in one table.

Rule: few, and each says what a script does next. Must not know: how a run got there.
"""

from enum import IntEnum

from services.messages import RunState
from services.overview import Ahead, Overview


class Exit(IntEnum):
    OK = 0
    FAILED = 1
    USAGE = 2
    WAITS = 3
    STUCK = 4
    CANCELLED = 5
    CONFLICT = 6


MEANINGS: dict[Exit, str] = {
    Exit.OK: "done: completed, accepted, recorded; a run that goes on; nothing waits",
    Exit.FAILED: "the run failed, or the model refused the task",
    Exit.USAGE: "the command, the request or a setting is wrong; no such run, no such key",
    Exit.WAITS: "a person must decide: an approval, or an effect whose outcome is unknown",
    Exit.STUCK: "the run is stuck or not over in time, or Restate or the worker does not answer",
    Exit.CANCELLED: "the run was cancelled",
    Exit.CONFLICT: "the record says otherwise: decided already, ended or forgotten, another request",
}

STATES: dict[RunState | Ahead, Exit] = {
    Ahead.QUEUED: Exit.OK,
    Ahead.SCHEDULED: Exit.OK,
    RunState.RUNNING: Exit.OK,
    RunState.WAITING_UNTIL: Exit.OK,
    RunState.WAITING_APPROVAL: Exit.WAITS,
    RunState.OUTCOME_UNKNOWN: Exit.WAITS,
    RunState.COMPLETED: Exit.OK,
    RunState.FAILED: Exit.FAILED,
    RunState.REFUSED: Exit.FAILED,
    RunState.CANCELLED: Exit.CANCELLED,
    RunState.STUCK: Exit.STUCK,
}


def of_run(seen: Overview) -> Exit:
    return STATES[seen.state]


def of_pending(runs: list[Overview]) -> Exit:
    """What `pending` ends with: stuck comes before waiting, since it may be news to everybody."""
    if any(run.state is RunState.STUCK for run in runs):
        return Exit.STUCK
    return Exit.WAITS if runs else Exit.OK


def of_status(status: int) -> Exit:
    """The code for a refusal with this HTTP status."""
    return Exit.CONFLICT if status in (409, 410, 422) else Exit.USAGE
