"""Editions of the product: copies of its code with edits, to be served beside it or in its place."""

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from lab.paths import ROOT
from lab.process import Process, environment
from lab.stack import Stack
from lab.targets import PAWL, Target

Edit = tuple[str, str, str]
"""File, the text in it, and what stands there instead."""
COMMAND_S = 60.0


def edition(folder: Path, *edits: Edit) -> Path:
    """A copy of services and tools below `folder`, edited."""
    for name in ("services", "tools"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name, before, after in edits:
        path = folder / name
        text = path.read_text()
        assert before in text, f"{name} has no {before!r} to edit"
        path.write_text(text.replace(before, after))
    return folder


def command(folder: Path) -> tuple[str, ...]:
    """`python -m services` of an edition. The lab starts everything from the root of the repository, and the folder
    one starts from comes first where Python looks for modules."""
    return (sys.executable, "-c", f"import os; os.chdir({str(folder)!r}); os.execv({sys.executable!r}, {ARGV!r})")


ARGV = [sys.executable, "-m", "services"]


def target(folder: Path) -> Target:
    return replace(PAWL, argv=lambda _listen, _at: command(folder), register=lambda _at, _worker: None)


def put_in_place(worker: Process, folder: Path) -> None:
    """The worker's address serves another edition from now on."""
    assert worker.end(), "the worker did not leave in time"
    worker.command = replace(worker.command, argv=command(folder))
    worker.start()


def put_back(worker: Process) -> None:
    """The product itself serves there again."""
    put_in_place(worker, ROOT)


def says(stack: Stack, module: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Runs one of the product's commands; what it says."""
    env = environment({"PAWL_ADMIN": stack.at.admin, "PAWL_INGRESS": stack.at.ingress})
    argv = [sys.executable, "-m", f"services.{module}", *words]
    return subprocess.run(argv, cwd=ROOT, env=env, capture_output=True, text=True, timeout=COMMAND_S, check=False)


def status(stack: Stack, run_id: str) -> dict[str, Any]:
    """What the command line says of a run; needs no worker."""
    said = says(stack, "cli", "status", run_id, "--json")
    return dict(json.loads(said.stdout))


def mentions(said: subprocess.CompletedProcess[str], words: Sequence[str]) -> bool:
    text = " ".join((said.stdout + said.stderr).split())
    return all(word in text for word in words)
