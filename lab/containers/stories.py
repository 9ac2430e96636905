"""The faults, each a short story: where the runs are brought, what is done to which container, what is made good.

Rule: the victim is the container that has the charge. Of the other jobs runs are submitted until one is there too, so
that every effect class is struck; a job of which none gets there is left out.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lab.cells import Fault
from lab.containers import acts
from lab.containers.leads import Leads
from lab.containers.project import Project
from lab.containers.scene import TRIES, LiveScene
from lab.errors import LabError
from lab.process import wait_until
from lab.trial import Run

CHARGE = "charge"
OTHERS = ("crm", "transfer", "sms")
LATE_S = 3.0
"""What a worker that goes on again still does, it does at once."""
PARKED_S = 60.0


@dataclass(frozen=True, slots=True)
class Story:
    """`like` is the lab's fault that this one is an instance of: what is promised follows from it."""

    name: str
    like: Fault
    play: Callable[[LiveScene], None]


# Where a run is


def worker_of(project: Project, run_id: str) -> str:
    """The worker that has it, by its own log: before an effect leaves, its seal is in there."""
    for worker in project.containers("worker"):
        # To its standard error, which docker keeps apart.
        if any(f'"{run_id}"' in line and '"seal' in line for line in project.logs(worker).splitlines()):
            return worker
    raise LabError(f"the log of no worker knows {run_id}")


def gather(scene: LiveScene, submit: Callable[[str], tuple[Run, str]]) -> tuple[str, list[Run]]:
    """Bring the charge to the point, and of the others what gets to the same container; the container, and its runs."""
    scene.hold(CHARGE)
    scene.hold(*OTHERS, times=TRIES)
    charge, victim = submit(CHARGE)
    struck = [charge]
    for name in OTHERS:
        for _ in range(TRIES):
            run, where = submit(name)
            if where == victim:
                struck.append(run)
                break
    return victim, struck


def at_worker(scene: LiveScene) -> tuple[str, list[Run]]:
    def submit(name: str) -> tuple[Run, str]:
        run = scene.submit(name)
        return run, worker_of(scene.project, run.run_id)

    return gather(scene, submit)


def at_node(scene: LiveScene) -> tuple[str, list[Run]]:
    def submit(name: str) -> tuple[Run, str]:
        leads = Leads(scene.project)
        run = scene.submit(name)
        return run, leads.since()

    return gather(scene, submit)


def at_server(scene: LiveScene) -> tuple[str, list[Run]]:
    names = (CHARGE, *OTHERS)
    scene.hold(*names)
    return scene.project.node(1), [scene.submit(name) for name in names]


# What is done

Where = Callable[[LiveScene], tuple[str, list[Run]]]


def killed(where: Where) -> Callable[[LiveScene], None]:
    def play(scene: LiveScene) -> None:
        victim, runs = where(scene)
        scene.strikes()
        acts.kill(scene.project, victim)
        scene.landed(f"SIGKILL to the process of {victim}; the engine started it again", runs)
        scene.let_go()
        scene.rest()
        acts.wait_healthy(scene.project, victim)
        scene.read()

    return play


def paused(where: Where) -> Callable[[LiveScene], None]:
    """It stays paused until all runs are at rest, and what it does then comes late."""

    def play(scene: LiveScene) -> None:
        victim, runs = where(scene)
        scene.strikes()
        acts.pause(scene.project, victim)
        scene.landed(f"{victim} is paused", runs)
        scene.let_go()
        scene.rest()
        acts.unpause(scene.project, victim)
        scene.wait(LATE_S)
        acts.wait_healthy(scene.project, victim)
        scene.read()

    return play


def cut_off(where: Where) -> Callable[[LiveScene], None]:
    """It lives and reaches nobody until all runs are at rest; then it is back under its names."""

    def play(scene: LiveScene) -> None:
        victim, runs = where(scene)
        scene.strikes()
        names = acts.cut_off(scene.project, victim)
        scene.landed(f"{victim} is off the network", runs)
        scene.let_go()
        scene.rest()
        acts.connect(scene.project, victim, names)
        scene.wait(LATE_S)
        acts.wait_healthy(scene.project, victim)
        scene.read()

    return play


def replaced(scene: LiveScene) -> None:
    """A new container for the server, on the old one's volume."""
    _, runs = at_server(scene)
    new_server(scene, runs)
    scene.let_go()
    scene.rest()
    scene.read()


def replaced_before_an_approval(scene: LiveScene) -> None:
    """The same while a run waits for a person, who approves when the new one is there."""
    waiting = scene.park(CHARGE)
    new_server(scene, [waiting])
    if scene.look(waiting) != "waiting_approval":
        raise LabError(f"{waiting.run_id} waited for an approval, and is {scene.look(waiting)} in the new container")
    scene.decide(waiting, "approve")
    scene.rest()
    scene.read()


def new_server(scene: LiveScene, runs: list[Run]) -> None:
    victim = scene.project.node(1)
    before = scene.project.inspect(victim, "{{.Id}}")
    scene.strikes()
    scene.project.up("--force-recreate", "--no-deps", "restate")
    if scene.project.inspect(victim, "{{.Id}}") == before:
        raise LabError(f"{victim} was to be made anew, and is the same container")
    scene.landed("a new container for the server", runs)


def one_waits_and_one_works(scene: LiveScene) -> list[Run]:
    """One run waits for a person, and one is in the middle of its effect."""
    scene.hold("sms")
    parked = scene.submit("sms")
    acts.kill(scene.project, worker_of(scene.project, parked.run_id))
    scene.let_go()
    wait_until(f"{parked.run_id} to be parked", lambda: scene.look(parked) == "outcome_unknown", PARKED_S)
    scene.hold(CHARGE)
    return [scene.submit(CHARGE), parked]


def down_and_up(scene: LiveScene) -> None:
    """Everything is taken down but the data, and started again."""
    runs = one_waits_and_one_works(scene)
    scene.strikes()
    scene.project.down()
    left = scene.project.containers("restate") + scene.project.containers("worker")
    if left:
        raise LabError(f"everything was taken down, and there are {', '.join(left)}")
    scene.forget()
    scene.project.up()
    scene.landed("everything was taken down and started again", runs)
    scene.rest()
    scene.read()


def new_release(scene: LiveScene) -> None:
    """Workers of a new release take the place of the others, which go on under their address for what began there."""
    runs = one_waits_and_one_works(scene)
    before = scene.project.releases[0]
    scene.project.release("next")
    scene.strikes()
    scene.project.up("--build")
    scene.forget()  # the mocks are of the release too
    scene.landed("a new release, beside the old one", runs)
    scene.hold("crm")
    worker_of(scene.project, scene.submit("crm").run_id)  # a new run, and a new worker has it
    scene.let_go()
    scene.rest()
    scene.read()
    for service, release in (("worker", "next"), ("old-worker", before)):
        images = {scene.project.inspect(each, "{{.Config.Image}}") for each in scene.project.containers(service)}
        if images != {f"pawl:{release}"}:
            raise LabError(f"{service} was to serve the release {release}, and is {', '.join(images) or 'not there'}")


SINGLE: Sequence[Story] = (
    Story("worker killed", Fault.WORKER_KILL, killed(at_worker)),
    Story("worker paused", Fault.WORKER_FREEZE, paused(at_worker)),
    Story("worker off the network", Fault.LINE_DEAD, cut_off(at_worker)),
    Story("server killed", Fault.SERVER_KILL, killed(at_server)),
    Story("server's container replaced", Fault.SERVER_KILL, replaced),
    Story("replaced before an approval", Fault.SERVER_KILL, replaced_before_an_approval),
    Story("down and up", Fault.BOTH_KILL, down_and_up),
    Story("a new release", Fault.WORKER_REDEPLOY, new_release),
)
CLUSTER: Sequence[Story] = (
    Story("worker of three killed", Fault.WORKER_KILL, killed(at_worker)),
    Story("leading node killed", Fault.LEADER_KILL, killed(at_node)),
    Story("leading node paused", Fault.LEADER_KILL, paused(at_node)),
    Story("leading node off the network", Fault.LEADER_KILL, cut_off(at_node)),
)
