"""The restate-server: which binary, whether it is the right one, and how it is started for one stack.

Rule: always the binary itself, never a launcher that starts it as a child, since what is killed must be the server.
Every server has its own folder for data and for temporary files: a killed one leaves some behind.
"""

import json
import os
import platform
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from lab.errors import UsageError
from lab.paths import PACKAGE_JSON, RESTATE_TOML, ROOT
from lab.ports import HOST, Ports
from lab.process import Command

_NPM_ARCH = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64"}
# The server takes these for settings of its own: a proxy before a worker on this machine, or at least a warning.
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
_VERSION_S = 20.0  # the binary is large: its first read from a cold disk takes seconds


def wanted_version() -> str:
    """The version that package.json pins."""
    return str(json.loads(PACKAGE_JSON.read_text(encoding="utf-8"))["dependencies"]["@restatedev/restate-server"])


def _from_npm(scope: Path) -> Path:
    """The binary for this machine below a folder `@restatedev` of npm packages."""
    machine = platform.machine().lower()
    package = f"restate-server-{platform.system().lower()}-{_NPM_ARCH.get(machine, machine)}"
    return scope / package / "bin" / "restate-server"


def _behind_launcher(found: Path) -> Path:
    """npm puts a script on the PATH that starts the binary as a child; the binary lies in a package beside its own."""
    target = found.resolve()
    if target.suffix != ".js":
        return found
    scope = target.parent.parent.parent
    nested = _from_npm(target.parent.parent / "node_modules" / "@restatedev")
    return nested if nested.exists() else _from_npm(scope)


def find(named: str | None = None, path: str | None = None) -> Path:
    """The binary: the one that RESTATE_SERVER names, else one on the PATH, else the one from npm.

    `named` and `path` stand for the two environment variables. Raises UsageError where there is none.
    """
    named = os.environ.get("RESTATE_SERVER") if named is None else named
    if named:
        found = shutil.which(named, path=path)
        if found is None:
            raise UsageError(f"RESTATE_SERVER names {named}, which is not a program that can be run")
        return _checked_file(_behind_launcher(Path(found)))
    on_path = shutil.which("restate-server", path=path)
    if on_path is not None:
        return _checked_file(_behind_launcher(Path(on_path)))
    from_npm = _from_npm(ROOT / "node_modules" / "@restatedev")
    if not from_npm.exists():
        raise UsageError(
            "no restate-server was found: run `make setup`, put one on the PATH, or name one with RESTATE_SERVER"
        )
    return from_npm


def _checked_file(binary: Path) -> Path:
    if not binary.is_file():
        raise UsageError(f"the launcher of restate-server was found, but not the program it starts, {binary}")
    return binary


def check_version(binary: Path) -> str:
    """The binary's version; raises UsageError where it is not the pinned one."""
    try:
        said = subprocess.run([binary, "--version"], capture_output=True, text=True, timeout=_VERSION_S, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise UsageError(f"{binary} could not be run to ask its version: {error}") from error
    version = said.stdout.split()[-1] if said.stdout.split() else "unknown"
    if version != wanted_version():
        raise UsageError(
            f"{binary} is restate-server {version}, but Pawl is made for {wanted_version()}: "
            "install that one, or unset RESTATE_SERVER and run `make setup` for a copy of its own"
        )
    return version


def command(binary: Path, folder: Path, ports: Ports, log: Path, ready: Callable[[], bool]) -> Command:
    """How to start the server with its data and temporary files below `folder`."""
    temporary = folder / "tmp"
    shutil.rmtree(temporary, ignore_errors=True)  # what earlier servers of this folder left when they were killed
    temporary.mkdir(parents=True, exist_ok=True)
    return Command(
        name="restate-server",
        argv=(str(binary), "--no-logo"),
        env={
            "RESTATE_CONFIG": str(RESTATE_TOML),
            "RESTATE_BASE_DIR": str(folder / "data"),
            "RESTATE_BIND_ADDRESS": f"{HOST}:{ports.node}",
            "RESTATE_ADVERTISED_ADDRESS": f"http://{HOST}:{ports.node}/",
            "RESTATE_INGRESS__BIND_ADDRESS": f"{HOST}:{ports.ingress}",
            "RESTATE_ADMIN__BIND_ADDRESS": f"{HOST}:{ports.admin}",
            "TMPDIR": str(temporary),
        },
        log=log,
        port=ports.ingress,
        ready=ready,
        without=_PROXIES,
    )
