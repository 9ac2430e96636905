"""The demo's job in containers: build, start, kill the worker in the window, judge by the receiver's effects, take
down.

Rule: a project name and ports of its own, so that it meets nothing else on the engine, and it is taken down whatever
happened. The worker is killed from inside, as a crash would: a kill by the engine's own command counts as a wish to
stop, and no restart policy acts on it.
"""

import os
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

from lab import judge, ports, report
from lab.errors import LabError, UsageError
from lab.paths import shown
from lab.peers import Ingress, Model, Receiver
from lab.process import run_to_end, wait_until
from lab.rounds import Crash, Round, World, play
from lab.show import Show
from lab.signals import shielded

BUILD_S = 480.0
ASK_S = 30.0
UP_S = 180.0
DOWN_S = 120.0
DEATH_S = 20.0
RESTART_S = 30.0

# The init of the container is process 1 and the worker is its child. A process that is started from outside, as this
# one, has the parent 0.
_KILL_WORKER = """
import os, signal
parent = lambda pid: open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[1]
children = [int(pid) for pid in os.listdir("/proc") if pid.isdigit() and parent(pid) == "1"]
assert len(children) == 1, children
os.kill(children[0], signal.SIGKILL)
"""


class Project:
    """One compose project under a name of its own."""

    def __init__(self, log: Path) -> None:
        self.name = f"pawl-test-{os.getpid()}"
        self.ports = ports.all_free()
        self._log = log

    def compose(self, *arguments: str, limit_s: float) -> str:
        """Run a compose command; its output, which also goes to the log. Raises LabError with the end of it."""
        return self._docker("compose", "--project-name", self.name, *arguments, limit_s=limit_s)

    def container(self, service: str) -> str:
        return self.compose("ps", "--all", "--quiet", service, limit_s=ASK_S).strip()

    def restarts(self, service: str) -> int:
        """How often the engine has started this service's container again by itself."""
        return int(self._inspect(service, "{{.RestartCount}}"))

    def pid(self, service: str) -> int:
        """The pid of the container's first process as the engine's machine sees it; 0 while there is none."""
        return int(self._inspect(service, "{{.State.Pid}}"))

    def _inspect(self, service: str, template: str) -> str:
        return self._docker("inspect", "--format", template, self.container(service), limit_s=ASK_S)

    def _docker(self, *arguments: str, limit_s: float) -> str:
        environment = os.environ | {
            "PAWL_INGRESS_PORT": str(self.ports.ingress),
            "PAWL_ADMIN_PORT": str(self.ports.admin),
            "PAWL_RECEIVER_PORT": str(self.ports.receiver),
            "PAWL_MODEL_PORT": str(self.ports.model),
        }
        command = ["docker", *arguments]
        with self._log.open("a", encoding="utf-8") as log:
            log.write(f"\n$ {' '.join(command)}\n")
            log.flush()
            try:
                done = run_to_end(command, environment, limit_s, stderr=log)
            except subprocess.TimeoutExpired as error:
                raise LabError(
                    f"`{' '.join(command[:6])}` took longer than {limit_s:g} s; see {shown(self._log)}"
                ) from error
            log.write(done.stdout)
        if done.returncode:
            tail = self._log.read_text(encoding="utf-8", errors="replace")[-2000:]
            raise LabError(
                f"`{' '.join(command)}` ended with exit code {done.returncode}. {shown(self._log)} ends with:\n{tail}"
            )
        return done.stdout


def check_engine() -> None:
    """Raises UsageError where no engine with Compose v2 answers."""
    if shutil.which("docker") is None:
        raise UsageError("compose-test needs Docker with Compose v2, and no docker command was found")
    for arguments, missing in (
        (["info"], "no Docker engine answers"),
        (["compose", "version"], "Docker has no Compose v2"),
    ):
        asked = subprocess.run(["docker", *arguments], capture_output=True, check=False, timeout=60)
        if asked.returncode:
            raise UsageError(f"compose-test needs Docker with Compose v2: {missing}")


def compose_test(folder: Path, show: Show) -> int:
    """Build, start, kill, judge, take down; the exit code. Docker's own output goes to a log below `folder`."""
    check_engine()
    log = folder / "compose" / "compose.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.unlink(missing_ok=True)
    project = Project(log)
    try:
        show.line(f"building the image; what docker says goes to {shown(log)}")
        project.compose("build", limit_s=BUILD_S)
        show.line("starting restate, worker, receiver and model, and registering the worker")
        project.compose("up", "--detach", "--wait", "--wait-timeout", f"{UP_S:.0f}", limit_s=UP_S + 30)
        return 0 if _verdict(_job(project, show), show) else 1
    except BaseException:
        with suppress(LabError):
            project.compose("logs", "--no-color", limit_s=ASK_S)
        raise
    finally:
        with shielded(deliver=False):
            show.line("taking it down")
            project.compose("down", "--volumes", "--remove-orphans", "--timeout", "5", limit_s=DOWN_S)


def _job(project: Project, show: Show) -> Round:
    at = project.ports
    with (
        Ingress("ingress", f"http://{ports.HOST}:{at.ingress}") as ingress,
        Receiver("receiver", f"http://{ports.HOST}:{at.receiver}") as receiver,
        Model("model", f"http://{ports.HOST}:{at.model}") as model,
    ):
        return play(World(ingress, receiver, model), "Agent", "compose-test", _crash(project), show)


def _crash(project: Project) -> Crash:
    def kill() -> str:
        before = project.pid("worker")
        # Not waited for: what kills the worker runs in its container and may die with it.
        project.compose("exec", "--detach", "worker", "python", "-c", _KILL_WORKER, limit_s=ASK_S)
        wait_until("the worker's death", lambda: project.pid("worker") != before, DEATH_S)
        return "SIGKILL to the worker in its container"

    def revive() -> str:
        wait_until("the engine's restart of the worker", lambda: project.restarts("worker") == 1, RESTART_S)
        return "the engine started the worker again"

    return Crash(kill, revive)


def _verdict(played: Round, show: Show) -> bool:
    show.blank()
    show.table(report.table({"Pawl": played}))
    wrong = judge.all_once(played.tally) or judge.one_key(played.requests, "refund")
    if wrong:
        show.error(f"not as it must be: {wrong}")
        return False
    show.line("every effect once; the refund was sent twice, with one key", "green")
    return True
