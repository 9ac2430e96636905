"""One compose project under a name and ports of its own, so that it meets nothing else on the engine.

Rule: what docker is asked and what it says go to a log; a command that fails is a LabError with the end of that log.
Nothing of the caller's own settings reaches the project: neither from the environment nor from a file `.env`.
"""

import os
import shutil
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from lab import ports
from lab.errors import LabError, UsageError
from lab.paths import shown
from lab.process import environment, run_to_end

ASK_S = 30.0
BUILD_S = 480.0
UP_S = 180.0
DOWN_S = 120.0
BASE = "docker-compose.yml"
CLUSTER = "docker-compose.cluster.yml"
OLD = "docker-compose.old.yml"
RELEASE = "local"
"""The name of the release where none is given."""
NODES = 3


class Project:
    """`files` are the compose files, one over the other."""

    def __init__(self, log: Path, *files: str) -> None:
        self.name = f"pawl-test-{os.getpid()}"
        self.files = files
        self.ports = ports.all_free()
        self.releases: tuple[str, ...] = (RELEASE,)
        """What is served, the newest first."""
        self.nodes = [self.ports, *(ports.all_free() for _ in range(NODES - 1))] if CLUSTER in files else [self.ports]
        self._log = log

    # The project as a whole

    def build(self) -> None:
        self.compose("build", limit_s=BUILD_S)

    def up(self, *arguments: str) -> None:
        """Start what is not there yet, and wait until all of it is well."""
        self.compose("up", "--detach", "--wait", "--wait-timeout", f"{UP_S:.0f}", *arguments, limit_s=UP_S + 30)

    def release(self, name: str) -> None:
        """From the next `up` on this release gets new calls, and the one before keeps what it has."""
        self.releases = (name, self.releases[0])
        self.files = (*self.files, OLD)

    def down(self, *arguments: str) -> None:
        self.compose("down", *arguments, limit_s=DOWN_S)

    def remove(self) -> None:
        """Take it down with all its data. What is paused could not end."""
        with suppress(LabError):
            paused = self.docker("ps", "--quiet", "--filter", self._mine(), "--filter", "status=paused").split()
            if paused:
                self.docker("unpause", *paused)
        self.down("--volumes", "--remove-orphans", "--timeout", "1")
        for release in self.releases:
            if release != RELEASE:
                with suppress(LabError):
                    self.docker("image", "rm", f"pawl:{release}")

    def compose(self, *arguments: str, limit_s: float = ASK_S) -> str:
        files = [word for file in self.files for word in ("--file", file)]
        own = ("--env-file", os.devnull, "--project-name", self.name, *files)
        return self.docker("compose", *own, *arguments, limit_s=limit_s)

    # Its containers

    def containers(self, service: str) -> list[str]:
        """Their names, in order."""
        which = f"label=com.docker.compose.service={service}"
        found = self.docker("ps", "--all", "--filter", self._mine(), "--filter", which, "--format", "{{.Names}}")
        return sorted(found.split())

    def node(self, number: int) -> str:
        """The container of a server node; they count from 1."""
        return self.containers("restate" if number == 1 else f"node-{number}")[0]

    def inspect(self, container: str, template: str) -> str:
        return self.docker("inspect", "--format", template, container).strip()

    def execute(self, container: str, *command: str) -> str:
        """Run a command inside; what it wrote."""
        return self.docker("exec", container, *command)

    def logs(self, container: str) -> str:
        """What it has written, to standard output and to standard error."""
        return self.docker("logs", container, merged=True)

    def network(self, name: str) -> str:
        return f"{self.name}_{name}"

    def _mine(self) -> str:
        return f"label=com.docker.compose.project={self.name}"

    def docker(self, *arguments: str, limit_s: float = ASK_S, merged: bool = False) -> str:
        """Run docker; what it wrote to standard output, `merged` with its errors. Raises LabError where it fails or
        takes longer."""
        command = ["docker", *arguments]
        with self._log.open("a", encoding="utf-8") as log:
            log.write(f"\n$ {' '.join(command)}\n")
            log.flush()
            try:
                done = run_to_end(command, self._environment(), limit_s, subprocess.STDOUT if merged else log)
            except subprocess.TimeoutExpired as error:
                raise LabError(
                    f"`{' '.join(command[:8])}` took longer than {limit_s:g} s; see {shown(self._log)}"
                ) from error
            if not merged:
                log.write(done.stdout)
        if done.returncode:
            tail = self._log.read_text(encoding="utf-8", errors="replace")[-2000:]
            raise LabError(
                f"`{' '.join(command)}` ended with exit code {done.returncode}. {shown(self._log)} ends with:\n{tail}"
            )
        return done.stdout

    def _environment(self) -> dict[str, str]:
        own = {
            "COMPOSE_PROFILES": "mocks",
            "PAWL_RELEASE": self.releases[0],
            "PAWL_OLD_RELEASE": self.releases[-1],
            "PAWL_ENV_FILE": os.devnull,
            "PAWL_RESTATE_ENV_FILE": os.devnull,
            "PAWL_RECEIVER_PORT": str(self.ports.receiver),
            "PAWL_MODEL_PORT": str(self.ports.model),
        }
        for number, at in enumerate(self.nodes, 1):
            suffix = "" if number == 1 else f"_{number}"
            own |= {f"PAWL_INGRESS_PORT{suffix}": str(at.ingress), f"PAWL_ADMIN_PORT{suffix}": str(at.admin)}
        inherited = environment({})
        return {name: value for name, value in inherited.items() if not name.startswith("COMPOSE_")} | own


def check_engine() -> None:
    """Raises UsageError where no engine with Compose v2 answers."""
    if shutil.which("docker") is None:
        raise UsageError("compose-test needs Docker with Compose v2, and no docker command was found")
    questions: Sequence[tuple[list[str], str]] = (
        (["info"], "no Docker engine answers"),
        (["compose", "version"], "Docker has no Compose v2"),
    )
    for arguments, missing in questions:
        asked = subprocess.run(["docker", *arguments], capture_output=True, check=False, timeout=60)
        if asked.returncode:
            raise UsageError(f"compose-test needs Docker with Compose v2: {missing}")
