"""What a person at the command line can do with runs, over Restate's two interfaces.

Rule: what only reads, and what ends a run, needs no worker. What a worker must record (a decision, who cancelled) is
handed to Restate, and where no worker answers that is said: it is done when one is back.
Must not know: how anything is shown, exit codes, the terminal.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from services import tables
from services.messages import DecideRequest, RunEnd, RunRequest, RunState
from services.overview import Overview
from services.reason import Reason
from services.restate_api import Admin, HandedOver, Ingress, Refused

ANSWER_S = 5.0
"""A worker that is there answers within milliseconds, and a restarted one within two seconds."""
SETTLE_S = 10.0
"""What Restate gets to carry out what it has accepted."""
APPEAR_S = 2.0
TRIED_S = 0.5
RESUMED_S = 8.0
"""When a resumed run is first looked at, and how long, for whether it goes on."""
POLL_S = 0.1
REQUEST_OPTIONS = "--grant, --limits and --unknown"


class Unknown(Exception):
    """There is no such run; the text says so."""


class Conflict(Exception):
    """The record says otherwise; the text says what."""


@dataclass(frozen=True, slots=True)
class Cancelled:
    """What a cancel came to. `handed_over`: only Restate has it, and a worker carries it out when one is back."""

    run: Overview | None
    waiting: int = 0
    """Calls that had not begun, and will not."""
    handed_over: bool = False


class Desk:
    def __init__(self, ingress: Ingress, admin: Admin) -> None:
        self.ingress = ingress
        self.admin = admin

    def close(self) -> None:
        self.ingress.close()
        self.admin.close()

    def find(self, run_id: str) -> Overview | None:
        found = tables.look(self.admin.query, [run_id])
        return found[0] if found else None

    def look(self, run_id: str) -> Overview:
        """The run as it stands. Raises Unknown."""
        found = self.find(run_id)
        if found is None:
            raise Unknown(f"nothing is known of a run {run_id!r}.")
        return found

    def appeared(self, run_id: str) -> None:
        """Waits until what was just accepted stands in Restate's tables."""
        self._until(run_id, lambda seen: seen is not None, within_s=APPEAR_S)

    def pending(self) -> list[Overview]:
        """All runs that wait for a person or are in trouble, those that have waited longest first."""
        runs = tables.look(self.admin.query, tables.open_runs(self.admin.query), whole=False)
        held = [run for run in runs if run.questions or run.waits_for_people or run.trouble is not None]
        return sorted(held, key=waited_since)

    def submit(self, run_id: str, request: RunRequest) -> Any | HandedOver:
        return self._call(run_id, "submit", request.model_dump(mode="json", exclude_none=True))

    def further(self, run_id: str, given: dict[str, Any]) -> RunRequest:
        """The request for a further pass of an ended run: the one that began it, as Restate's journal has it, or the
        run's task with what is `given`. Raises Conflict where the run has not ended or that is another request."""
        run = self.look(run_id)
        begun, end = run.record.begun, run.record.ended
        if begun is None or not isinstance(end, RunEnd):
            raise Conflict(f"no further pass can begin: {stands(run)}")
        kept = None if given else tables.request_of(self.admin.query, begun.invocation)
        request = kept or RunRequest(task=begun.task, **given)
        if request.digest() != begun.digest:
            raise Conflict(f"run {run_id} was begun with another request: give the same {REQUEST_OPTIONS} as then.")
        return request.model_copy(update={"again": end.pass_number + 1})

    def decide(self, run_id: str, request: DecideRequest) -> Any | HandedOver:
        run = self.look(run_id)
        asked = {each.key for each in run.record.row.questions} if run.record.row is not None else set()
        if request.key not in asked and all(each.key != request.key for each in run.record.intents):
            raise Unknown(f"run {run_id} has no effect with the key {request.key!r}.")
        return self._call(run_id, "decide", request.model_dump(mode="json", exclude_none=True))

    def cancel(self, run_id: str, undo: bool) -> Cancelled:
        """Ends a run wherever it is: also queued, paused, or with no worker. What stands behind it goes first, so that
        it does not begin in its place."""
        run = self.look(run_id)
        waiting = sum(self.admin.cancel(each.id) for each in run.queued)
        waiting += sum(self.admin.kill(each.id) for each in run.asked if each.handler == "submit")
        active = run.invocation
        if active is None or run.over:
            if not waiting and run.state is not RunState.CANCELLED:
                raise Conflict(f"there is nothing to cancel: {stands(run)}")
            return Cancelled(self.find(run_id), waiting)
        worker = run.trouble is None or not run.trouble.heals
        # Restarted from a part of its journal, a run may go on in an invocation that it has not told yet.
        known = run.record.begun is not None and run.record.begun.invocation == active.id
        if known and (worker or undo):
            answer = self._call(run_id, "cancel", {"undo": undo})
            worker = not isinstance(answer, HandedOver)
            if isinstance(answer, HandedOver) and undo:
                # Told by Restate alone, the run would end before it knows that it is to undo.
                return Cancelled(self.find(run_id), waiting, handed_over=True)
            if isinstance(answer, HandedOver):
                self.admin.kill(answer.invocation)
        if not known or not worker:
            self.admin.cancel(active.id)
        return Cancelled(self._until(run_id, ended, SETTLE_S if worker else 0.0), waiting)

    def resume(self, run_id: str, deployment: str | None, afresh: bool) -> Overview | None:
        """Lets a stuck run go on: as it is, on another deployment, or afresh on its ledger."""
        run = self.look(run_id)
        active, begun, trouble = run.invocation, run.record.begun, run.trouble
        if run.over:
            raise Conflict(f"run {run_id} has ended, it is {run.state.value}. `again` begins a further pass.")
        if active is None and trouble is not None and begun is not None:
            self._restart(run_id, begun.invocation)
        elif active is not None and afresh:
            self.admin.kill(active.id)
            self._until(run_id, lambda seen: seen is None or seen.invocation is None or seen.invocation.id != active.id)
            self._restart(run_id, active.id)
        elif active is not None and deployment is not None:
            if active.status not in ("paused", "suspended"):
                self.admin.pause(active.id)
                self._until(run_id, lambda seen: seen is not None and paused(seen))
            self.admin.resume(active.id, deployment)
        elif active is not None and trouble is not None:
            self.admin.resume(trouble.invocation)
        else:
            raise Conflict(f"there is nothing to resume: {stands(run)}")
        time.sleep(TRIED_S)
        return self._until(run_id, lambda seen: seen is None or seen.state is not RunState.STUCK, within_s=RESUMED_S)

    def _restart(self, run_id: str, invocation: str) -> None:
        try:
            self.admin.restart(invocation)
        except Refused as refused:
            raise Conflict(
                f"Restate no longer keeps the request of run {run_id} ({refused}). Submit it again with the same "
                "request: it goes on with its ledger."
            ) from refused

    def _call(self, run_id: str, handler: str, body: Any) -> Any | HandedOver:
        return self.ingress.call("Agent", run_id, handler, body, ANSWER_S)

    def _until(
        self, run_id: str, happened: Callable[[Overview | None], bool], within_s: float = SETTLE_S
    ) -> Overview | None:
        """The run when it has come to that, or as it stands when the time is over."""
        end = time.monotonic() + within_s
        while not happened(seen := self.find(run_id)) and time.monotonic() < end:
            time.sleep(POLL_S)
        return seen


def stands(run: Overview) -> str:
    """A run's state as a sentence, with the reason where it says more than the state does."""
    says_more = run.reason and not (run.state is RunState.COMPLETED and run.reason == Reason.DONE)
    return f"run {run.run_id} is {run.state.value}{f': {run.reason}' if says_more else ''}".removesuffix(".") + "."


def waited_since(run: Overview) -> float:
    """Since when somebody should look at it: its oldest question, or its trouble."""
    return min((*(asked.since for asked in run.questions), run.since or run.at))


def ended(seen: Overview | None) -> bool:
    return seen is None or seen.record.ended is not None


def paused(seen: Overview) -> bool:
    return seen.invocation is not None and seen.invocation.status == "paused"
