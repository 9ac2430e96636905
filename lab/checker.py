"""The verdict over a history. Pure.

Rule: what counts is what the receiver's own rows say was applied. The state of a run, which its target tells, is used
for one question only: whether the run is over, or waits for a person. Three values: a trial is as promised, or it is
not, or it cannot be told: a fault that did not land and a ledger that was not read are never a pass, and neither is a
history that this module cannot make sense of.
Must not know: how anything was brought about, any target's code.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise

from lab.cells import UNCOUNTED, Cell, Counts, Group, Verdict
from lab.history import History, Ledger, RunSeen
from lab.jobs import Class, Job, is_of
from mocks.rows import EffectRow, RequestRow

COMPLETED = "completed"
UNKNOWN = "outcome_unknown"

SEVERITY = (Verdict.ONCE, Verdict.NONE, Verdict.UNKNOWN, Verdict.LOST, Verdict.DUPLICATED)
"""The worst verdict of a trial's runs is the trial's."""


class Result(StrEnum):
    AS_PROMISED = "as promised"
    NOT_AS_PROMISED = "not as promised"
    CANNOT_TELL = "cannot be told"


@dataclass(frozen=True, slots=True)
class Judgement:
    """`findings` are sentences about what is not as it should be, or is worth a look. The counts are empty where
    nothing could be read."""

    verdict: Verdict
    result: Result
    findings: tuple[str, ...] = ()
    counts: Counts = UNCOUNTED


def judge(cell: Cell, job: Job, history: History) -> Judgement:
    """What became of the effect, and whether that is what the cell expects. Never raises."""
    try:
        unread = next(_why_invalid(history), None)
        if unread is not None or history.ledger is None:
            return Judgement(Verdict.INVALID, Result.CANNOT_TELL, (unread or "the ledger was not read",))
        return _judge(cell, job, history, history.ledger)
    except Exception as error:  # noqa: BLE001 - a checker that fails has found out nothing, and says so
        return Judgement(Verdict.INVALID, Result.CANNOT_TELL, (f"the checker failed: {error!r}",))


def _why_invalid(history: History) -> Iterator[str]:
    """Why nothing can be said."""
    if history.error is not None:
        yield history.error
    if len(history.landings) < history.strikes:
        yield f"{len(history.landings)} of {history.strikes} faults landed"
    if not history.runs:
        yield "no run was submitted"
    for ledger in (history.ledger, history.after):
        if ledger is not None:
            yield from _contradictions(ledger)
    yield from _thawed_early(history)
    if history.ledger is not None and not history.ledger.model and not history.ledger.requests:
        yield "neither the model nor the receiver has a row: nothing happened, or it was not read"


def _thawed_early(history: History) -> Iterator[str]:
    thawed_at = history.thawed_at()
    if thawed_at is None:
        return
    ends = {(event.text, event.what) for event in history.events if event.at < thawed_at}
    for run in history.runs:
        if (run.run_id, run.state) not in ends:
            yield f"the frozen worker was thawed before another attempt had finished {run.run_id}"


def _contradictions(ledger: Ledger) -> Iterator[str]:
    for name, rows in (("model", ledger.model), ("requests", ledger.requests), ("effects", ledger.effects)):
        if any(before["n"] >= after["n"] for before, after in pairwise(rows)):
            yield f"the rows of {name} are out of order"
    applied = Counter(row["effect"] for row in ledger.requests if row["applied"])
    effects = Counter(row["effect"] for row in ledger.effects)
    if applied != effects:
        yield f"the receiver says it applied {dict(effects)}, and its requests say {dict(applied)}"


def _judge(cell: Cell, job: Job, history: History, ledger: Ledger) -> Judgement:
    counts = count(job, history, ledger)
    seen = [_of_run(job, run, ledger, history.after) for run in history.runs]
    verdict, reason = max(seen, key=lambda each: SEVERITY.index(each[0]))
    stray = list(_stray(job, history, history.after or ledger))
    broken = [*stray, *_miscounted(cell.counts, counts), *_not_silent(cell, job, history, ledger)]
    if cell.group is Group.PAWL and job.kind is Class.KEYED and len(history.runs) == 1:
        broken += _keys(sent(job, ledger.requests))
    if stray:
        verdict = Verdict.DUPLICATED
    right = verdict in cell.expected and not broken
    findings = (*([reason] if reason else []), *broken)
    return Judgement(verdict, Result.AS_PROMISED if right else Result.NOT_AS_PROMISED, findings, counts)


def sent(job: Job, requests: Sequence[RequestRow]) -> list[RequestRow]:
    """The requests that were to bring the effect about. Of a SET neither its look-ups, which go by the same name, nor
    what somebody else has written, which carries no key."""
    rows = [row for row in requests if row["effect"] == job.effect]
    match job.kind:
        case Class.READ:
            return rows
        case Class.SET:
            return [row for row in rows if row["method"] != "GET" and row["key"] is not None]
        case _:
            return [row for row in rows if row["method"] != "GET"]


def count(job: Job, history: History, ledger: Ledger) -> Counts:
    """Model calls, requests for the effect, effects applied.

    A model call that was not answered does not say whose it was, so it counts only where nobody else was at work.
    """
    scripts = {job.name, *(run.tag for run in history.runs), *(() if history.beside else (None,))}
    return Counts(
        model_calls=sum(row["script"] in scripts for row in ledger.model),
        received=len(sent(job, ledger.requests)),
        applied=sum(
            row["effect"] == job.effect
            and not _is_beside(row, history)
            and (job.kind is not Class.SET or row["key"] is not None)
            for row in ledger.effects
        ),
    )


def _is_beside(row: EffectRow, history: History) -> bool:
    return any(is_of(row, tag) for tag in history.beside)


def own(job: Job, run: RunSeen, ledger: Ledger) -> list[EffectRow]:
    """What was applied for a run, in order. For a SET without what somebody else has written."""
    rows = [row for row in _of(run, ledger) if row["effect"] == job.effect]
    return [row for row in rows if row["body"] == job.state(run.tag)] if job.kind is Class.SET else rows


def _of(run: RunSeen, ledger: Ledger) -> list[EffectRow]:
    return [row for row in ledger.effects if is_of(row, run.tag)]


def _of_run(job: Job, run: RunSeen, ledger: Ledger, after: Ledger | None) -> tuple[Verdict, str]:
    """The verdict on one run, and the sentence that goes with it. What is unknown is right only where a person who
    looks at the receiver could bring it to a right end."""
    verdict, reason = _at_rest(job, run, ledger)
    if verdict is not Verdict.UNKNOWN or run.decided is None:
        return verdict, reason
    if after is None or run.state_after is None:
        return Verdict.LOST, f"what became of the decision on {run.run_id} was not seen"
    then, reason = _at_rest(job, replace(run, state=run.state_after), after)
    if then is Verdict.ONCE:
        return Verdict.UNKNOWN, ""
    worse = Verdict.LOST if then is Verdict.UNKNOWN else then
    return worse, f"after a person had said {run.decided}: {reason or run.state_after}"


def _at_rest(job: Job, run: RunSeen, ledger: Ledger) -> tuple[Verdict, str]:
    if job.kind is Class.SET:
        return _of_state(job, run, ledger)
    applied = len(own(job, run, ledger))
    if run.abandoned and applied < 2:
        return Verdict.ONCE, ""
    if applied > 1 or (job.kind is Class.READ and applied):
        return Verdict.DUPLICATED, f"{applied} effects were applied for {run.run_id}"
    ended = _end(run)
    if ended is not Verdict.ONCE:
        return ended, f"the run {run.run_id} was last seen as {run.state}" if ended is Verdict.LOST else ""
    if job.kind is Class.READ:
        return Verdict.NONE, ""
    missing = [name for name in job.others if not any(row["effect"] == name for row in _of(run, ledger))]
    if missing:
        return Verdict.LOST, f"the run {run.run_id} completed without {', '.join(missing)}"
    return (Verdict.ONCE, "") if applied else (Verdict.LOST, f"the run {run.run_id} completed without an effect")


def _of_state(job: Job, run: RunSeen, ledger: Ledger) -> tuple[Verdict, str]:
    """Of a SET the state counts, and the last write makes it."""
    if run.abandoned:
        return Verdict.ONCE, ""
    wanted = dict(run.newest) if run.newest is not None else job.state(run.tag)
    writes = [row["body"] for row in _of(run, ledger) if row["effect"] == job.effect]
    if run.newest is not None and writes and writes[-1] != wanted:
        return Verdict.DUPLICATED, f"the record is {writes[-1]}, which went over the newer {wanted}"
    ended = _end(run)
    if ended is not Verdict.ONCE:
        return ended, f"the run {run.run_id} was last seen as {run.state}" if ended is Verdict.LOST else ""
    if not own(job, run, ledger):
        return Verdict.LOST, f"the run {run.run_id} completed and its state was never written"
    if writes[-1] != wanted:
        return Verdict.LOST, f"the record is {writes[-1]} in place of {wanted}"
    return Verdict.ONCE, ""


def _end(run: RunSeen) -> Verdict:
    """What the run's own state allows at best."""
    if run.rested and run.state == UNKNOWN:
        return Verdict.UNKNOWN
    return Verdict.ONCE if run.rested and run.state == COMPLETED else Verdict.LOST


def _stray(job: Job, history: History, ledger: Ledger) -> Iterator[str]:
    """What nobody asked for: another kind of effect, one of another trial, or a second one that goes with the job."""
    others: Counter[tuple[str, str]] = Counter()
    for row in ledger.effects:
        if _is_beside(row, history):
            continue
        run = next((run for run in history.runs if is_of(row, run.tag)), None)
        if run is None or row["effect"] not in (job.effect, *job.others):
            yield f"nobody asked for effect {row['n']}: {row['effect']} {row['id']}"
        elif row["effect"] != job.effect:
            others[run.run_id, row["effect"]] += 1
        elif job.kind is Class.SET and row["key"] is not None and row["body"] != job.state(run.tag):
            yield f"effect {row['n']} wrote {row['body']}, which nobody asked for"
    for (run_id, effect), times in others.items():
        if times > 1:
            yield f"{effect} was applied {times} times for {run_id}"


def _miscounted(wanted: Counts, seen: Counts) -> Iterator[str]:
    for name, must, was in (
        ("model calls", wanted.model_calls, seen.model_calls),
        ("requests received", wanted.received, seen.received),
        ("effects applied", wanted.applied, seen.applied),
    ):
        if must is not None and must != was:
            yield f"{was} {name} in place of {must}"
    most = wanted.model_calls_max
    if most is not None and (seen.model_calls or 0) > most:
        yield f"{seen.model_calls} model calls, and {most} would have done"


def _not_silent(cell: Cell, job: Job, history: History, ledger: Ledger) -> Iterator[str]:
    if not cell.silent:
        return
    thawed_at = history.thawed_at()
    if thawed_at is None:
        yield "no worker was thawed"
        return
    late = [row["n"] for row in sent(job, ledger.requests) if row["at"] > thawed_at]
    if late:
        yield f"the worker that was frozen past its send deadline still sent requests {late}"


def _keys(requests: Sequence[RequestRow]) -> Iterator[str]:
    keys = {row["key"] for row in requests}
    if len(keys) > 1 or None in keys:
        yield f"one action was sent under {len(keys)} keys: {sorted(map(str, keys))}"
