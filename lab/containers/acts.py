"""What can be done to one container: its process killed, paused, cut off from the network; and made good again.

Rule: each act is asserted where it is done. A kill comes from inside, as a crash does: the engine takes a kill by its
own command for a wish to stop, and no restart policy acts on it.
Must not know: runs.
"""

import json

from lab.containers.project import Project
from lab.errors import LabError
from lab.process import wait_until

DEATH_S = 20.0
RESTART_S = 30.0
HEALTH_S = 40.0

# The init of a container is process 1, and what matters is its child. A process that is started from outside, as this
# one, has the parent 0.
_KILL = """
for each in /proc/[0-9]*; do
  read -r line < "$each/stat" || continue
  set -- ${line##*) }
  [ "$2" = 1 ] && kill -9 "${each#/proc/}"
done
true
"""


def kill(project: Project, container: str) -> None:
    """SIGKILL to its process; returns when the engine has started it again by itself."""
    pid, restarts = _pid(project, container), _restarts(project, container)
    # Not waited for: what kills the process runs in its container and may die with it.
    project.docker("exec", "--detach", container, "sh", "-c", _KILL)
    wait_until(f"the death of {container}", lambda: _pid(project, container) != pid, DEATH_S)
    wait_until(f"the engine's restart of {container}", lambda: _restarts(project, container) > restarts, RESTART_S)


def pause(project: Project, container: str) -> None:
    project.docker("pause", container)
    if project.inspect(container, "{{.State.Paused}}") != "true":
        raise LabError(f"{container} was paused, and the engine says that it is not")


def unpause(project: Project, container: str) -> None:
    project.docker("unpause", container)
    if project.inspect(container, "{{.State.Paused}}") != "false":
        raise LabError(f"{container} was to go on, and the engine says that it is paused")


def cut_off(project: Project, container: str) -> tuple[str, ...]:
    """Off the network between the parts; the names under which it was known there."""
    network = project.network("inside")
    aliases = f'{{{{json (index .NetworkSettings.Networks "{network}").Aliases}}}}'
    names: list[str] = json.loads(project.inspect(container, aliases))
    project.docker("network", "disconnect", network, container)
    if network in project.inspect(container, "{{json .NetworkSettings.Networks}}"):
        raise LabError(f"{container} was cut off, and the engine says that it is still on {network}")
    return tuple(names)


def connect(project: Project, container: str, names: tuple[str, ...]) -> None:
    """Back on that network, under the same names."""
    words = [word for name in names for word in ("--alias", name)]
    project.docker("network", "connect", *words, project.network("inside"), container)


def wait_healthy(project: Project, container: str) -> None:
    wait_until(
        f"the health of {container}",
        lambda: project.inspect(container, "{{.State.Health.Status}}") == "healthy",
        HEALTH_S,
        poll_s=0.2,
    )


def _pid(project: Project, container: str) -> int:
    """Of its first process, as the engine's machine sees it; 0 while there is none."""
    return int(project.inspect(container, "{{.State.Pid}}"))


def _restarts(project: Project, container: str) -> int:
    """How often the engine has started it again by itself."""
    return int(project.inspect(container, "{{.RestartCount}}"))
