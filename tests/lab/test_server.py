"""Which restate-server is taken, and what is said where it is the wrong one."""

import os
import platform
import subprocess
import tomllib
from pathlib import Path

import pytest

from lab import server
from lab.errors import UsageError
from lab.paths import RESTATE_TOML


def program(path: Path, says: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho {says}\n")
    path.chmod(0o755)
    return path


def test_the_one_that_is_named_comes_first(tmp_path: Path) -> None:
    named = program(tmp_path / "own" / "my-restate", "x")
    program(tmp_path / "bin" / "restate-server", "x")
    assert server.find(str(named), str(tmp_path / "bin")) == named


def test_then_the_one_on_the_path(tmp_path: Path) -> None:
    on_path = program(tmp_path / "bin" / "restate-server", "x")
    assert server.find("", str(tmp_path / "bin")) == on_path


def test_a_name_that_is_no_program_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="RESTATE_SERVER names /no/such/file, which is not a program"):
        server.find("/no/such/file", str(tmp_path))


def test_without_any_it_says_how_to_get_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "ROOT", tmp_path)
    with pytest.raises(UsageError, match="no restate-server was found: run `make setup`"):
        server.find("", str(tmp_path))


def test_behind_npms_launcher_the_binary_itself_is_taken(tmp_path: Path) -> None:
    """The launcher starts the server as a child: killing the launcher would leave the server alive."""
    arch = {"x86_64": "x64", "aarch64": "arm64", "arm64": "arm64"}[platform.machine()]
    modules = tmp_path / "node_modules"
    package = f"restate-server-{platform.system().lower()}-{arch}"
    binary = program(modules / "@restatedev" / package / "bin" / "restate-server", "x")
    launcher = program(modules / "@restatedev" / "restate-server" / "lib" / "index.js", "x")
    on_path = modules / ".bin" / "restate-server"
    on_path.parent.mkdir()
    on_path.symlink_to(launcher)
    assert server.find("", str(on_path.parent)) == binary
    binary.unlink()
    with pytest.raises(UsageError, match="the launcher of restate-server was found, but not the program"):
        server.find("", str(on_path.parent))


def test_the_wrong_version_is_refused_with_both_named(tmp_path: Path) -> None:
    old = program(tmp_path / "restate-server", "restate-server 1.6.2")
    with pytest.raises(UsageError, match=rf"is restate-server 1.6.2, but Pawl is made for {server.wanted_version()}"):
        server.check_version(old)


@pytest.mark.parametrize("says", ["", "Segmentation fault; exit 1"])
def test_what_tells_no_version_is_refused(tmp_path: Path, says: str) -> None:
    with pytest.raises(UsageError):
        server.check_version(program(tmp_path / "restate-server", says))


@pytest.mark.server
def test_the_installed_one_is_the_pinned_one() -> None:
    assert server.check_version(server.find()) == server.wanted_version()


@pytest.mark.server
def test_the_server_reads_every_key_of_restate_toml(tmp_path: Path) -> None:
    """A key that is misspelt or moved is passed over in silence by the server."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("RESTATE_")}
    dumped = subprocess.run(
        [server.find(), "--no-logo", "--dump-config"],
        env=clean | {"RESTATE_CONFIG": str(RESTATE_TOML)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    effective = flat(tomllib.loads(dumped.stdout))
    for key, value in flat(tomllib.loads(RESTATE_TOML.read_text())).items():
        assert key in effective, key
        assert plain(effective[key]) == plain(value), key


def flat(table: dict[str, object], prefix: str = "") -> dict[str, object]:
    out: dict[str, object] = {}
    for key, value in table.items():
        out |= flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return out


def plain(value: object) -> object:
    """The server writes 150s as 2m 30s and 64 MiB as 64.0 MiB."""
    if not isinstance(value, str):
        return value
    units = {"ms": 0.001, "s": 1, "m": 60, "h": 3600}
    parts = value.replace(".0 ", " ").split()
    seconds = [
        float(number) * units[unit]
        for part in parts
        if (unit := part.lstrip("0123456789")) in units and (number := part[: -len(unit)]).isdigit()
    ]
    return sum(seconds) if len(seconds) == len(parts) else " ".join(parts)
