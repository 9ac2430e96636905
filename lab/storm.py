"""`storm`: many runs at once over two workers, while a seeded schedule strikes everything they depend on; then calm,
and the count.

Rule: bounded throughout: the storm has a length, and the calm after it a deadline by which every run is over or waits
for a person. The exit code is 0 only where every effect was applied once, or at most once and its run waits.
"""

import contextlib
import json
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from lab import server
from lab.background import crew
from lab.campaign import machine, versions_of
from lab.errors import LabError
from lab.paths import SCRATCH, shown
from lab.process import Process
from lab.relay import Relay
from lab.show import Show
from lab.stack import Stack
from lab.storm_judge import Landed, RunAfter, Seen, StormVerdict, judge, kinds, requests_of
from lab.storm_plan import LINES, TO_MODEL, TO_RECEIVER, WORKERS, Member, length_s, members, recipes, schedule
from lab.storm_weather import SLOW, Weather
from lab.targets import PAWL
from lab.trial import ENDS, WAITS

AT_ONCE = 8
"""Submissions and looks at a time: more only queue."""
LOOK_S = 1.0
CALM_S = 180.0
"""From the end of the storm until every run is at rest: the longest waits are back-offs and those for late requests."""
WORKER_ENV = {
    # A model that is struck again and again must not fail a run: here every run has to come through.
    "PAWL_MODEL_ATTEMPTS": "50",
    "PAWL_MODEL_BACKOFF_S": "0.2",
    "PAWL_LOG_LEVEL": "warning",
}
OVER = ENDS | WAITS


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked for on the command line."""

    runs: int
    seed: int
    out: Path
    folder: Path = SCRATCH

    @property
    def again(self) -> str:
        return f"python -m lab storm --runs {self.runs} --seed {self.seed}"


@dataclass(frozen=True, slots=True)
class Stage:
    """What the storm is over."""

    stack: Stack
    lines: Mapping[str, Relay]
    processes: Mapping[str, Process]


@contextlib.contextmanager
def stage(folder: Path, binary: Path) -> Iterator[Stage]:
    """A stack with two workers, a relay on every line."""
    with contextlib.ExitStack() as opened:
        stack = Stack(folder, binary=binary, workers=0, grace_s=1.0)
        mocks = {TO_MODEL: stack.ports.model, TO_RECEIVER: stack.ports.receiver}
        lines = {name: opened.enter_context(Relay(port)) for name, port in mocks.items()}
        lines |= {name: opened.enter_context(Relay(0)) for name in LINES}
        opened.enter_context(stack)
        at = replace(stack.at, model=lines[TO_MODEL].url, receiver=lines[TO_RECEIVER].url)
        processes = {
            "server": stack.server,
            "receiver": stack.receiver_process,
            "model": stack.model_process,
        }
        for name, line in zip(WORKERS, LINES, strict=True):
            processes[name] = stack.add_worker(PAWL, WORKER_ENV, at=at, known_as="")
            lines[line].aim(processes[name].command.port)
        yield Stage(stack, lines, processes)


def run(asked: Asked, show: Show) -> int:
    """Storm, calm, count; the exit code."""
    binary = server.find()
    versions = versions_of(server.check_version(binary))
    asked.folder.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="storm-", dir=asked.folder))
    seconds = length_s(asked.runs)
    crowd = members(asked.runs, asked.seed)
    strikes = schedule(asked.seed, seconds)
    show.line(f"{asked.runs} runs over two workers, {len(strikes)} strikes in {seconds:.0f} s, seed {asked.seed}")
    started = time.time()
    verdict: StormVerdict | None = None
    try:
        with stage(folder, binary) as on:
            begun = _submit(on, crowd, seconds)
            show.restart_clock()
            seen, told = _storm(on, crowd, begun, asked, show)
        verdict = judge(seen)
        about = {
            "runs": asked.runs,
            "seed": asked.seed,
            "started_at": started,
            "seconds": round(time.time() - started, 1),
            "storm_s": seconds,
            "versions": versions,
            "machine": machine(),
            "again": asked.again,
        }
        write(asked.out, seen, verdict, about)
        return tell(seen, verdict, told, asked, show)
    except LabError:
        show.error(f"the storm broke off; again: {asked.again}")
        raise
    finally:
        if verdict is not None and verdict.good:
            shutil.rmtree(folder, ignore_errors=True)
        else:
            show.error(f"the logs are in {shown(folder / 'logs')}")


def _submit(on: Stage, crowd: Sequence[Member], seconds: float) -> dict[str, float]:
    """When each run was submitted. Half of them belong to each line: a run stays with the address it began at."""
    for recipe, pace in recipes():
        on.stack.model.json("PUT", f"/scripts/{recipe.name}", recipe.script(pace * seconds))
    on.stack.receiver.json("PUT", "/behaviour/*", SLOW)
    begun: dict[str, float] = {}

    def one(member: Member) -> None:
        began = time.time()
        reply = on.stack.ingress.call(
            "POST", f"/Agent/{member.run_id}/submit", {"task": member.recipe.task(member.tag)}, 30.0
        )
        if not reply.is_success:
            raise LabError(f"the run {member.run_id} was not accepted: {reply.status_code} {reply.text[:300]}")
        begun[member.run_id] = began

    with crew(AT_ONCE) as pool:
        for index, line in enumerate(LINES):
            PAWL.register(on.stack.at, on.lines[line].url)
            list(pool.map(one, crowd[index :: len(LINES)]))
    return begun


def _storm(
    on: Stage, crowd: Sequence[Member], begun: Mapping[str, float], asked: Asked, show: Show
) -> tuple[Seen, dict[str, Any]]:
    """Strike, wait for calm, read everything."""
    weather = Weather(on.processes, on.lines, on.stack.receiver, show.verbatim)
    weather.rage(schedule(asked.seed, length_s(asked.runs)))
    show.line("calm: waiting for the runs")
    told = _calm(on, crowd)
    requests = effects = None
    with contextlib.suppress(LabError):
        requests = tuple(on.stack.receiver.requests())
        effects = tuple(on.stack.receiver.effects())
    runs = tuple(_after(member, told.get(member.run_id, {}), begun) for member in crowd)
    return Seen(runs, tuple(weather.landed), requests, effects), told


def _calm(on: Stage, crowd: Sequence[Member]) -> dict[str, Any]:
    """The last status of every run; returns when all are at rest, or the time is over."""
    told: dict[str, Any] = {}
    end = time.monotonic() + CALM_S

    def look(member: Member) -> None:
        with contextlib.suppress(LabError):
            reply = on.stack.ingress.call("POST", f"/Agent/{member.run_id}/status")
            told[member.run_id] = reply.json() if reply.is_success else {"state": f"status {reply.status_code}"}

    left = list(crowd)
    with crew(AT_ONCE) as pool:
        while left and time.monotonic() < end:
            list(pool.map(look, left))
            left = [each for each in left if told.get(each.run_id, {}).get("state") not in OVER]
            time.sleep(LOOK_S if left else 0)
    return told


def _after(member: Member, told: Mapping[str, Any], begun: Mapping[str, float]) -> RunAfter:
    state = str(told.get("state", "unreachable"))
    over = (told.get("ended_at") or told.get("since")) if state in OVER else None
    return RunAfter(member, state, str(told.get("reason") or ""), begun[member.run_id], over)


def write(out: Path, seen: Seen, verdict: StormVerdict, about: Mapping[str, Any]) -> None:
    """storm.json."""
    out.mkdir(parents=True, exist_ok=True)
    told = {
        **about,
        "good": verdict.good,
        "completed": verdict.completed,
        "hit": verdict.hit,
        "repeated": verdict.repeated,
        "requests": len(seen.requests or ()),
        "effects": len(seen.effects or ()),
        "kinds": {name: {"landed": landed, "of": of} for name, (landed, of) in kinds(seen.strikes).items()},
        "duplicated": dict(verdict.duplicated),
        "lost": dict(verdict.lost),
        "hanging": dict(verdict.hanging),
        "unreadable": verdict.unreadable,
        "parked": dict(verdict.parked),
        "strikes": [asdict(each) for each in seen.strikes],
    }
    (out / "storm.json").write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def tell(seen: Seen, verdict: StormVerdict, told: Mapping[str, Any], asked: Asked, show: Show) -> int:
    """The figures, and of each run that is not right its history and how to run it again; the exit code."""
    show.blank()
    for name, (landed, of) in kinds(seen.strikes).items():
        show.pair(name, f"{landed} landed of {of}")
    landed_in_all = sum(each.landed for each in seen.strikes)
    show.pair("runs", f"{verdict.completed} completed, {len(verdict.parked)} wait for a person, of {len(seen.runs)}")
    show.pair("runs hit", f"{verdict.hit} were under way when one of {landed_in_all} faults landed")
    show.pair("keys sent again", str(verdict.repeated))
    show.pair("effects", f"{len(seen.effects or ())} applied, of {len(seen.requests or ())} requests")
    for name, part in (("duplicated", verdict.duplicated), ("lost", verdict.lost), ("hanging", verdict.hanging)):
        show.pair(name, str(sum(len(sentences) for sentences in part.values())))
    if verdict.unreadable:
        show.error(verdict.unreadable)
    for run_id, sentences in verdict.wrong.items():
        _tell_run(run_id, sentences, seen, told, show)
    if verdict.good:
        show.line("Every effect once, or in doubt and its run waits for a person.", "green")
        return 0
    show.error(f"again: {asked.again}")
    return 1


def _tell_run(run_id: str, sentences: Sequence[str], seen: Seen, told: Mapping[str, Any], show: Show) -> None:
    """What is wrong with a run, and its history: what struck it, and what the receiver has of it."""
    show.error(f"{run_id or 'no run'}: {'; '.join(sentences)}")
    run = next((each for each in seen.runs if each.member.run_id == run_id), None)
    if run is None:
        return
    lines: list[tuple[float, str]] = [(run.submitted_at, f"submitted: {run.member.recipe.task(run.member.tag)}")]
    lines += [(each.at, _line_of(each)) for each in seen.strikes if each.landed]
    for row in requests_of(run.member, seen.requests or (), seen.effects or ()):
        did = "applied" if row["applied"] else "not applied"
        lines.append((row["at"], f"receiver: {row['method']} {row['path']}, {did}, status {row['status']}"))
    if run.over_at is not None:
        lines.append((run.over_at, f"{run.state}: {run.reason}"))
    for at, text in sorted(lines):
        show.verbatim(f"{at - run.submitted_at:8.2f} s  {text}")
    show.verbatim(f"its last word: {json.dumps(told.get(run_id), ensure_ascii=False)[:2000]}")


def _line_of(landed: Landed) -> str:
    strike = landed.strike
    return f"{strike.kind.value} {strike.part} {strike.detail}: {landed.proof}"
