"""The stack and the cluster in containers: build, start, the demo's job, faults, the receiver's effects, take down.

Rule: a project name and ports of its own, so that it meets nothing else on the engine, and it is taken down whatever
happened.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx

from lab import judge, report
from lab.containers import acts
from lab.containers.project import BASE, CLUSTER, Project, check_engine
from lab.containers.scene import LiveScene, Remotes
from lab.containers.stories import CLUSTER as CLUSTERED
from lab.containers.stories import SINGLE, Story, worker_of
from lab.containers.verdicts import JudgedScene, judged, table, wrong
from lab.errors import LabError, UsageError
from lab.jobs import JOBS
from lab.paths import shown
from lab.rounds import Crash, Round, RoundRemotes, play
from lab.show import Show
from lab.signals import shielded

RUN_ID = "compose-test"


def compose_test(folder: Path, show: Show, only: str | None = None) -> int:
    """Build, start, hurt, judge, take down; the exit code. Docker's own output goes to a log below `folder`. `only` is
    a part of the names of the faults to play."""
    check_engine()
    single, clustered = _chosen(SINGLE, only), _chosen(CLUSTERED, only)
    if not single and not clustered:
        raise UsageError(f"no fault is called {only!r}; there are: {', '.join(each.name for each in _all())}")
    log = folder / "compose" / "compose.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.unlink(missing_ok=True)
    scenes: list[JudgedScene] = []
    good = True
    if single:
        project = Project(log, BASE)
        with _running(project, f"a server and two workers; what docker says goes to {shown(log)}", show) as remotes:
            good = only is not None or (_converges(project, show) and _demo(project, remotes, show))
            scenes += [_play(story, project, remotes, show) for story in single]
    if clustered:
        project = Project(log, BASE, CLUSTER)
        with _running(project, "a cluster of three nodes and three workers", show) as remotes:
            scenes += [_play(story, project, remotes, show) for story in clustered]
    return 0 if _verdict(scenes, show) and good else 1


def _all() -> Sequence[Story]:
    return (*SINGLE, *CLUSTERED)


def _chosen(stories: Sequence[Story], only: str | None) -> list[Story]:
    return [story for story in stories if only is None or only in story.name]


@contextmanager
def _running(project: Project, what: str, show: Show) -> Iterator[Remotes]:
    """The project while it runs; all it has written goes to its log where something goes wrong."""
    remotes = Remotes.of(project)
    try:
        show.line("building the image")
        project.build()
        show.line(f"starting {what}")
        project.up()
        for job in JOBS.values():
            remotes.model.json("PUT", f"/scripts/{job.name}", job.script())
        yield remotes
    except BaseException:
        with suppress(LabError):
            project.compose("ps", "--all")
            project.compose("logs", "--no-color")
        raise
    finally:
        with shielded(deliver=False):
            remotes.close()
            show.line("taking it down")
            project.remove()


def _converges(project: Project, show: Show) -> bool:
    """A second `up` leaves every container as it is."""
    parts = ("restate", "worker", "doctor", "receiver", "model")

    def started() -> dict[str, str]:
        return {
            each: project.inspect(each, "{{.State.StartedAt}}") for part in parts for each in project.containers(part)
        }

    before = started()
    project.up()
    if started() != before:
        show.error(f"not as it must be: a second `up` found {before} and left {started()}")
        return False
    show.line(f"a second `up` left all {len(before)} containers as they were", "green")
    return True


def _demo(project: Project, remotes: Remotes, show: Show) -> bool:
    """The demo's job, its worker killed in the window."""
    given = RoundRemotes(remotes.ingresses[0], remotes.receiver, remotes.model)
    played = play(given, "Agent", RUN_ID, _crash(project), show)
    show.blank()
    show.table(report.table({"Pawl": played}))
    return _right(played, show)


def _crash(project: Project) -> Crash:
    killed: list[str] = []

    def kill() -> str:
        killed.append(worker_of(project, RUN_ID))
        acts.kill(project, killed[0])
        return f"SIGKILL to the process of {killed[0]}"

    return Crash(kill, lambda: "the engine started it again")


def _right(played: Round, show: Show) -> bool:
    bad = judge.all_once(played.tally) or judge.one_key(played.requests, "refund")
    if bad:
        show.error(f"not as it must be: {bad}")
        return False
    show.line("every effect once; the refund was sent twice, with one key", "green")
    return True


def _play(story: Story, project: Project, remotes: Remotes, show: Show) -> JudgedScene:
    """Whatever goes wrong in a scene is its verdict; the next one begins on whatever is left."""
    show.heading(story.name)
    scene = LiveScene(project, remotes, show.line)
    error = None
    try:
        story.play(scene)
    except (LabError, TimeoutError, httpx.HTTPError, ValueError) as problem:
        error = str(problem) or repr(problem)
        show.error(error)
        scene.let_go_quietly()
    played = judged(story.name, story.like, scene.seen(), error)
    for name, found in played.struck.items():
        show.line(f"  {name}: {found.verdict}" + "".join(f"; {text}" for text in found.findings))
    return played


def _verdict(scenes: Sequence[JudgedScene], show: Show) -> bool:
    show.blank()
    show.table(table(scenes))
    bad = list(wrong(scenes))
    for text in bad:
        show.error(f"not as it must be: {text}")
    if not bad:
        show.line("every effect once, or in doubt and decided by a person; none twice, none lost", "green")
    return not bad
