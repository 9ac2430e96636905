"""What is put to the test, and how its worker starts: the agent service, and the lab's own controls that must fail.

Rule: a target is known by its command line, its environment and its HTTP interface only.
"""

import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from lab.errors import LabError
from lab.paths import ROOT
from lab.peers import Admin
from lab.process import environment

_REGISTER_S = 30.0


@dataclass(frozen=True, slots=True)
class Addresses:
    """Base URLs, without a slash at the end."""

    ingress: str
    admin: str
    receiver: str
    model: str


@dataclass(frozen=True, slots=True)
class Target:
    """A kind of worker. `argv` and `env` get the address to listen on (host:port) and the addresses of the rest."""

    name: str
    service: str
    argv: Callable[[str, Addresses], tuple[str, ...]]
    env: Callable[[str, Addresses], Mapping[str, str]]
    register: Callable[[Addresses, str], None]


def _pawl_env(listen: str, at: Addresses) -> Mapping[str, str]:
    return {
        "PAWL_LISTEN": listen,
        "PAWL_MODEL_URL": f"{at.model}/v1",
        "PAWL_MODEL_KEY": "mock-key",
        "PAWL_MODEL_NAME": "mock",
        "PAWL_RECEIVER_URL": at.receiver,
        "PAWL_INGRESS": at.ingress,
        "PAWL_ADMIN": at.admin,
    }


def _register_pawl(at: Addresses, worker: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "services.register", "--worker", worker],
        env=environment({"PAWL_ADMIN": at.admin}),
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_REGISTER_S,
        check=False,
    )
    if done.returncode:
        said = (done.stderr or done.stdout).strip()
        raise LabError(f"registering the worker {worker} ended with exit code {done.returncode}: {said}")


def _register_control(at: Addresses, worker: str) -> None:
    with Admin("admin API", at.admin) as admin:
        admin.register(worker)


PAWL = Target(
    name="worker",
    service="Agent",
    argv=lambda _listen, _at: (sys.executable, "-m", "services"),
    env=_pawl_env,
    register=_register_pawl,
)

JOURNALED = Target(
    name="control",
    service="Journaled",
    argv=lambda listen, at: (
        sys.executable,
        "-m",
        "lab.controls.journaled",
        f"--listen={listen}",
        f"--model={at.model}",
        f"--receiver={at.receiver}",
    ),
    env=lambda _listen, _at: {},
    register=_register_control,
)
