"""When CI tries the containers, and when it is red, with a docker and a make that only say how they were called."""

import os
import stat
import subprocess
from pathlib import Path

import pytest

from lab.paths import ROOT

SAYS = '#!/bin/sh\necho "$(basename "$0") $*"\n'
ANSWERS_ONCE_SET_UP = '#!/bin/sh\n[ -e "$UP" ]\n'


@pytest.fixture
def ground(tmp_path: Path) -> Path:
    for folder in ("bin", "scripts"):
        (tmp_path / folder).mkdir()
    program(tmp_path / "bin" / "make", SAYS)
    program(tmp_path / "bin" / "docker", ANSWERS_ONCE_SET_UP)
    return tmp_path


def program(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def run(ground: Path) -> subprocess.CompletedProcess[str]:
    scripts = (str(ground / "scripts" / name) for name in ("setup", "teardown"))
    env = os.environ | {"PATH": f"{ground / 'bin'}:{os.environ['PATH']}", "UP": str(ground / "up")}
    return subprocess.run(
        [str(ROOT / ".ci" / "containers"), *scripts], env=env, capture_output=True, text=True, check=False, timeout=30
    )


def test_an_engine_that_answers_is_used_and_left_alone(ground: Path) -> None:
    (ground / "up").touch()
    program(ground / "scripts" / "setup", SAYS)
    done = run(ground)
    assert (done.returncode, done.stdout) == (0, "make compose-test\n")


def test_an_engine_is_started_where_there_is_a_way_and_ended_again(ground: Path) -> None:
    program(ground / "scripts" / "setup", SAYS + 'touch "$UP"\n')
    program(ground / "scripts" / "teardown", SAYS)
    done = run(ground)
    said = [line.split()[0] for line in done.stdout.splitlines()]
    assert (done.returncode, said) == (0, ["setup", "make", "teardown"])


def test_a_failed_test_is_a_failure_and_the_engine_is_ended_all_the_same(ground: Path) -> None:
    program(ground / "scripts" / "setup", 'touch "$UP"\n')
    program(ground / "scripts" / "teardown", SAYS)
    program(ground / "bin" / "make", "#!/bin/sh\nexit 3\n")
    done = run(ground)
    assert done.returncode == 3
    assert done.stdout.startswith("teardown ")


@pytest.mark.parametrize("setup", ["exit 1\n", "exit 0\n"], ids=["it fails", "it ends well and brings none"])
def test_a_way_that_leads_to_no_engine_is_a_failure(ground: Path, setup: str) -> None:
    program(ground / "scripts" / "setup", setup)
    program(ground / "scripts" / "teardown", SAYS)
    done = run(ground)
    assert done.returncode == 1
    assert "!!!" in done.stdout
    assert "make" not in done.stdout


def test_without_any_way_it_says_loudly_that_nothing_was_tried(ground: Path) -> None:
    done = run(ground)
    assert done.returncode == 0
    assert "!!! compose-test was NOT run" in done.stdout
