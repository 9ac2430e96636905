"""What a request may have: a pass of its own, or the record of an earlier one. Pure.

Rule: the run id is the identity of the request. The same id with another request is refused, and so is a pass that is
not the next.
Must not know: how a pass is run.
"""

from restate import TerminalError

from services import public
from services.messages import RunEnd, RunRequest, Tombstone


def ended_before(last: RunEnd | Tombstone | None, request: RunRequest, digest: str, run_id: str) -> RunEnd | None:
    """The recorded end that answers the request; None where a pass is to be run. Raises 410 and 422."""
    if isinstance(last, Tombstone):
        raise TerminalError(public.gone(run_id, last), 410)
    if last is None:
        return None
    if last.digest != digest:
        raise TerminalError(other_request(run_id), 422)
    if request.again is None or request.again <= last.pass_number:
        return last
    if request.again > last.pass_number + 1:
        raise TerminalError(f"the next pass of run {run_id} is {last.pass_number + 1}, not {request.again}.", 422)
    return None


def well_named(misnamed: str) -> None:
    """Raises 400 with the sentence about what a new run's grant names and is not there; empty where all is there."""
    if misnamed:
        raise TerminalError(f"the request does not fit: {misnamed}.", 400)


def other_request(run_id: str) -> str:
    return f"run {run_id} was started with another request; use a new run id for a new task."
