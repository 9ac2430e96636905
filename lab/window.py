"""`window`: how long an effect is applied and not yet recorded, and how often a crash in between doubles one.

Rule: nothing is hooked into the worker. The receiver's row says when an effect was applied; a relay between server and
worker sees when the worker says so and when the server answers that. The kills are real, at seeded random moments, on
the control that journals its steps and has no key, and what they double is counted at the receiver.
"""

import json
import random
import shutil
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path

from lab import page_more, server
from lab.background import crew
from lab.campaign import machine, versions_of
from lab.errors import LabError
from lab.jobs import CHARGE, DONE, calls
from lab.paths import SCRATCH, shown
from lab.process import Process
from lab.relay import Relay, Way
from lab.show import Show
from lab.stack import Stack
from lab.targets import JOURNALED, PAWL, Target
from lab.window_sums import TAG, Kills, Passed, Series, tag_of, told, widths
from mocks.rows import EffectRow

AT_ONCE = 32
WARM_UP = 8
"""Runs before the first that counts: connections are made and modules loaded by then."""
KILL_EVERY_S = (0.4, 1.2)
"""After a worker serves again it lives so long, drawn anew each time."""
RUN_S = 120.0


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked for on the command line."""

    effects: int
    kills: int
    seed: int
    out: Path
    folder: Path = SCRATCH


@dataclass(slots=True)
class Bench:
    """A stack with one worker behind a relay, and what was seen on the line."""

    stack: Stack
    target: Target
    worker: Process
    letter: str
    passed: list[Passed] = field(default_factory=list)
    answered: dict[str, float] = field(default_factory=dict)
    """When the receiver's answer passed, by the mark of its run."""
    _numbers: "count[int]" = field(default_factory=count)

    def see(self, way: Way, stream: tuple[int, int], raw: bytes) -> None:
        found = TAG.search(raw) if way is Way.TO_WORKER else None
        self.passed.append(Passed(time.time(), way, stream, found[0].decode() if found else None))

    def see_answer(self, way: Way, _stream: tuple[int, int], raw: bytes) -> None:
        """At the receiver's line: of its two ways, TO_SERVER is the one on which it answers."""
        found = TAG.search(raw) if way is Way.TO_SERVER else None
        if found:
            self.answered.setdefault(found[0].decode(), time.time())

    def run_one(self) -> None:
        """One run, from submission to answer."""
        tag = f"w{self.letter}{next(self._numbers):05}x"
        reply = self.stack.ingress.invoke(
            self.target.service, f"run-{tag}", "run", {"task": f"window job for {tag}."}, RUN_S
        )
        if not reply.is_success:
            raise LabError(f"a run was answered with {reply.status_code}: {reply.text[:300]}")

    def effects(self) -> list[EffectRow]:
        return self.stack.receiver.effects()


@contextmanager
def bench(folder: Path, binary: Path, target: Target, letter: str) -> Iterator[Bench]:
    """Ready for runs; the worker is warm."""
    with Stack(folder, binary=binary, workers=0, grace_s=1.0) as stack, ExitStack() as lines:
        relay, to_receiver = (lines.enter_context(Relay(port)) for port in (0, stack.ports.receiver))
        at = replace(stack.at, receiver=to_receiver.url)
        worker = stack.add_worker(target, {"PAWL_LOG_LEVEL": "warning"} if target is PAWL else None, at=at, known_as="")
        relay.aim(worker.command.port)
        target.register(stack.at, relay.url)
        replies = [calls("charge_card", CHARGE), DONE]
        script = {"match": r"window job for (?P<tag>\w+)\.", "replies": replies}
        stack.model.json("PUT", "/scripts/window", script)
        made = Bench(stack, target, worker, letter)
        relay.watch, to_receiver.watch = made.see, made.see_answer
        load(made, WARM_UP, 2)
        yield made


def load(on: Bench, runs: int, at_once: int) -> float:
    """So many runs, so many at a time; the seconds that they took."""
    began = time.monotonic()
    with crew(at_once) as pool:
        for done in [pool.submit(on.run_one) for _ in range(runs)]:
            done.result()
    return time.monotonic() - began


def measure(on: Bench, runs: int, at_once: int, name: str) -> Series:
    """The widths of the window over that many effects. Raises LabError where none could be measured."""
    seen = len(on.effects())
    on.passed.clear()
    seconds = load(on, runs, at_once)
    rows = on.effects()[seen:]
    found = widths(rows, on.answered, list(on.passed))
    if not found:
        raise LabError(f"no window could be measured: {len(rows)} effects, {len(on.passed)} frames were seen")
    return Series(name, tuple(found), seconds, len(rows) - len(found))


def kill_at_random(on: Bench, kills: int, seed: int, name: str, say: Callable[[str], None]) -> Kills:
    """Kill the worker again and again under load, let every run come to its end, count what was doubled."""
    seen = len(on.effects())
    over = threading.Event()

    def keep_on() -> None:
        while not over.is_set():
            on.run_one()

    rng = random.Random(f"window/{seed}")
    with crew(AT_ONCE) as pool:
        working = [pool.submit(keep_on) for _ in range(AT_ONCE)]
        try:
            for number in range(kills):
                time.sleep(rng.uniform(*KILL_EVERY_S))
                on.worker.kill()
                on.worker.start()
                if number % 10 == 9:
                    say(f"{number + 1} of {kills} kills")
        finally:
            over.set()
        for each in working:
            each.result()
    counted = Counter(tag_of(row) for row in on.effects()[seen:])
    return Kills(name, kills, len(counted), sum(times - 1 for times in counted.values()))


def run(asked: Asked, show: Show) -> int:
    """Measure, kill, write window.json and window.svg; the exit code."""
    binary = server.find()
    versions = versions_of(server.check_version(binary))
    asked.folder.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="window-", dir=asked.folder))
    started = time.time()
    try:
        show.line(f"{asked.effects} effects of Pawl, one at a time and {AT_ONCE} at once")
        with bench(folder / "pawl", binary, PAWL, "a") as on:
            series = [
                measure(on, asked.effects, 1, "Pawl, one run at a time"),
                measure(on, asked.effects, AT_ONCE, f"Pawl, {AT_ONCE} runs at once"),
            ]
        counted = None
        if asked.kills:
            show.line(f"{asked.kills} kills at random moments, on steps without a key")
            with bench(folder / "journaled", binary, JOURNALED, "b") as on:
                name = f"steps without a key, {AT_ONCE} runs at once"
                series.append(measure(on, asked.effects, AT_ONCE, name))
                counted = kill_at_random(on, asked.kills, asked.seed, name, show.verbatim)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    about = {
        "started_at": started,
        "seconds": round(time.time() - started, 1),
        "seed": asked.seed,
        "versions": versions,
        "machine": machine(),
    }
    result = {**about, **told(series, counted)}
    asked.out.mkdir(parents=True, exist_ok=True)
    (asked.out / "window.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    (asked.out / "window.svg").write_text(page_more.plot(result["series"]) + "\n", encoding="utf-8")
    for each in result["series"]:
        show.pair(
            f"{each['effects']} effects",
            f"{each['name']}: median {each['median_ms']:.2f} ms, 95 % {each['p95_ms']:.2f} ms, "
            f"longest {each['max_ms']:.2f} ms; the worker's share {each['worker']['median_ms']:.2f} ms; "
            f"derived {each['doubled_per_1000']:.1f} doubled per 1000 crashes",
        )
    show.line(str(result["estimate"]))
    show.line(f"window.json and window.svg are in {shown(asked.out)}")
    return 0
