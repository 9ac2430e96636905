"""The command line for people: `python -m services.cli --help`.

Rule: thin. It reads words, lets the desk act, prints, and ends with one of few exit codes.
Must not know: SQL, how a run works.
"""

import sys
from enum import StrEnum
from typing import Annotated, Any, Literal, TypeVar

import typer
from pydantic import BaseModel, ValidationError

from services.codec import sentence_of
from services.command import NO_WORKER, Misused, Seat, application
from services.desk import Cancelled
from services.exits import Exit, of_pending
from services.messages import Choice, DecideRequest, Grant, LimitsAsked, RunRequest, RunState
from services.restate_api import HandedOver


class Outcome(StrEnum):
    HAPPENED = "happened"
    DID_NOT_HAPPEN = "did-not-happen"
    GIVE_UP = "give-up"


Model = TypeVar("Model", bound=BaseModel)
RunId = Annotated[str, typer.Argument(metavar="RUN", help="The run id.")]
Key = Annotated[str, typer.Argument(metavar="KEY", help="The effect's key, as `pending` and `status` show it.")]
Task = Annotated[str, typer.Argument(metavar="TASK", help="What to do, in words; - reads it from standard input.")]
GrantJson = Annotated[str | None, typer.Option("--grant", metavar="JSON", help="A stricter grant than the settings'.")]
LimitsJson = Annotated[str | None, typer.Option("--limits", metavar="JSON", help="Stricter limits than the settings'.")]
OnUnknown = Annotated[Literal["park", "tell"] | None, typer.Option("--unknown", help="On an unknown outcome.")]
Follow = Annotated[bool, typer.Option("--follow", help="Watch it until it ends, waits for a person or is stuck.")]
Within = Annotated[float | None, typer.Option("--within", metavar="S", help="Watch no longer than so many seconds.")]
Digest = Annotated[str | None, typer.Option(help="Digest of the bytes that you saw; refused where it differs.")]
Note = Annotated[str, typer.Option(help="Why; kept with the decision.")]


def parsed(model: type[Model], text: str | None, option: str) -> Model | None:
    if text is None:
        return None
    try:
        return model.model_validate_json(text)
    except ValidationError as error:
        raise Misused(f"{option} does not fit: {sentence_of(error)}") from None


def given_of(grant: str | None, limits: str | None, unknown: str | None) -> dict[str, Any]:
    """The fields of a request that were given."""
    fields = {
        "grant": parsed(Grant, grant, "--grant"),
        "limits": parsed(LimitsAsked, limits, "--limits"),
        "unknown": unknown,
    }
    return {name: value for name, value in fields.items() if value is not None}


def request_of(task: str, given: dict[str, Any]) -> RunRequest:
    try:
        return RunRequest(task=sys.stdin.read().strip() if task == "-" else task, **given)
    except ValidationError as error:
        raise Misused(f"the request does not fit: {sentence_of(error)}") from None


def submitted(seat: Seat, run_id: str, request: RunRequest, *, watch: bool, within: float | None) -> Exit:
    answer = seat.desk.submit(run_id, request)
    if not isinstance(answer, HandedOver) and answer["status"] == "ended":
        return seat.show(seat.desk.look(run_id))
    if watch:
        seat.desk.appeared(run_id)
        return seat.follow(run_id, within, request.again or 1)
    if isinstance(answer, HandedOver):
        return seat.handed_over(answer, "the run")
    seat.terminal.answer(answer, f"{answer['status']}: run {run_id}, invocation {answer['invocation_id']}")
    return Exit.OK


def decided(seat: Seat, run_id: str, request: DecideRequest) -> Exit:
    answer = seat.desk.decide(run_id, request)
    if isinstance(answer, HandedOver):
        return seat.handed_over(answer, "the decision")
    seat.terminal.answer(answer, f"recorded: {answer['choice']} by {answer['who']}")
    return Exit.OK


def submit(
    seat: Seat,
    run_id: RunId,
    task: Task,
    grant: GrantJson = None,
    limits: LimitsJson = None,
    unknown: OnUnknown = None,
) -> Exit:
    """Begin a run and come back at once. The same words again change nothing."""
    return submitted(seat, run_id, request_of(task, given_of(grant, limits, unknown)), watch=False, within=None)


def run(
    seat: Seat,
    run_id: RunId,
    task: Task,
    grant: GrantJson = None,
    limits: LimitsJson = None,
    unknown: OnUnknown = None,
    within: Within = None,
) -> Exit:
    """Begin a run and watch it until it ends, waits for a person or is stuck."""
    return submitted(seat, run_id, request_of(task, given_of(grant, limits, unknown)), watch=True, within=within)


def again(
    seat: Seat,
    run_id: RunId,
    grant: GrantJson = None,
    limits: LimitsJson = None,
    unknown: OnUnknown = None,
    follow: Follow = False,
    within: Within = None,
) -> Exit:
    """Begin a further pass of an ended run, on the same ledger: what is done is not repeated."""
    request = seat.desk.further(run_id, given_of(grant, limits, unknown))
    return submitted(seat, run_id, request, watch=follow, within=within)


def status(seat: Seat, run_id: RunId, follow: Follow = False, within: Within = None) -> Exit:
    """Where a run stands: its ledger, what it waits for, what holds it up. Needs no worker."""
    return seat.follow(run_id, within) if follow else seat.show(seat.desk.look(run_id))


def pending(seat: Seat) -> Exit:
    """All runs that wait for a person or are stuck, with the commands that help. Needs no worker."""
    runs = seat.desk.pending()
    seat.terminal.pending(runs)
    return of_pending(runs)


def approve(seat: Seat, run_id: RunId, key: Key, digest: Digest = None, note: Note = "") -> Exit:
    """Let one effect go out as it is shown."""
    return decided(seat, run_id, decision(key, Choice.APPROVE, digest=digest, note=note))


def deny(seat: Seat, run_id: RunId, key: Key, digest: Digest = None, note: Note = "") -> Exit:
    """Do not let one effect go out; the model is told so."""
    return decided(seat, run_id, decision(key, Choice.DENY, digest=digest, note=note))


def resolve(
    seat: Seat,
    run_id: RunId,
    key: Key,
    outcome: Annotated[Outcome, typer.Argument(help="did-not-happen sends it again, under the same key.")],
    receiver_id: Annotated[str | None, typer.Option(metavar="ID", help="With happened: the receiver's id.")] = None,
    note: Note = "",
) -> Exit:
    """Say what became of an effect whose outcome is unknown."""
    if receiver_id is not None and outcome is not Outcome.HAPPENED:
        raise Misused("--receiver-id goes with happened only.")
    choice = Choice(outcome.value.replace("-", "_"))
    return decided(seat, run_id, decision(key, choice, receiver_id=receiver_id, note=note))


def cancel(
    seat: Seat,
    run_id: RunId,
    undo: Annotated[
        bool, typer.Option("--undo", help="Undo what all passes have done, last first, where the tool can.")
    ] = False,
) -> Exit:
    """End a run that has not ended, wherever it is: also queued, paused, or while no worker answers."""
    done: Cancelled = seat.desk.cancel(run_id, undo)
    return cancelled(seat, run_id, done)


def resume(
    seat: Seat,
    run_id: RunId,
    deployment: Annotated[str | None, typer.Option(metavar="ID", help="Go on there: an id, or latest.")] = None,
    afresh: Annotated[bool, typer.Option("--afresh", help="Begin again on the ledger, with a new journal.")] = False,
) -> Exit:
    """Let a stuck run go on. Needs no worker to be told."""
    seen = seat.desk.resume(run_id, deployment, afresh)
    return Exit.OK if seen is None else seat.show(seen)


def decision(key: str, choice: Choice, **more: Any) -> DecideRequest:
    try:
        return DecideRequest(key=key, decision=choice, **more)
    except ValidationError as error:
        raise Misused(f"the decision does not fit: {sentence_of(error)}") from None


def cancelled(seat: Seat, run_id: str, done: Cancelled) -> Exit:
    seen = done.run
    if done.handed_over:
        sentence = f"{NO_WORKER} Restate has the cancel and hands it on as soon as one does."
        seat.terminal.error(sentence, {"handed_over": True, "run_id": run_id})
        return Exit.STUCK
    if seen is None:
        seat.terminal.answer({"run_id": run_id, "state": None}, f"run {run_id} had not begun, and will not.")
        return Exit.OK
    seat.terminal.run(seen)
    if seen.record.ended is None and seen.trouble is not None and not seen.trouble.heals:
        seat.terminal.hint("It has been told to end, and does as soon as it can go on.")
        return Exit.STUCK
    if seen.record.ended is None:
        seat.terminal.hint("It has been told to end, and does when a worker answers and what is under way is recorded.")
        return Exit.OK
    return Exit.OK if seen.state is RunState.CANCELLED else Exit.CONFLICT


app = application((submit, run, again, status, pending, approve, deny, resolve, cancel, resume))

if __name__ == "__main__":
    app(prog_name="python -m services.cli")
