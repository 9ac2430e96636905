"""Part `clients`: processor time of one model call and of one tool call, in Pawl's clients and those of loops by hand.

Rule: each in a process of its own that does nothing else, 32 calls at once, in turn.
"""

import json
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from lab.bench.client_cost import AT_ONCE, CALLS
from lab.bench.field import Field
from lab.bench.sitting import Sitting
from lab.bench.sums import spread
from lab.errors import LabError
from lab.process import environment, run_to_end
from lab.targets import PAWL

LIMIT_S = 120.0
QUICK_CALLS = 64
NAMES = {"pawl": "Pawl", "default": "openai and httpx as they come", "lean": "aiohttp"}


def measure(sitting: Sitting) -> dict[str, Any]:
    """See the module."""
    calls = sitting.pick(CALLS, QUICK_CALLS)
    found: dict[str, list[Mapping[str, float]]] = {name: [] for name in NAMES}
    with sitting.field() as ground:
        for number in range(sitting.rounds):
            for name, rows in found.items():
                rows.append(_run(ground, name, calls))
            sitting.say(f"round {number + 1} of {sitting.rounds}")
    return {
        "at_once": AT_ONCE,
        "calls": calls,
        "clients": [
            {"name": name, "title": NAMES[name], **{what: spread([row[what] for row in rows]) for what in rows[0]}}
            for name, rows in found.items()
        ],
    }


def _run(ground: Field, name: str, calls: int) -> dict[str, float]:
    at = ground.stack.at
    argv: tuple[str, ...] = (sys.executable, "-m", "tests.workers.clients", str(calls))
    env: Mapping[str, str] = PAWL.env("127.0.0.1:0", at)
    if name != "pawl":
        addresses = (f"--model={at.model}", f"--receiver={at.receiver}", f"--calls={calls}")
        argv, env = (sys.executable, "-m", "lab.bench.client_cost", f"--clients={name}", *addresses), {}
    try:
        done = run_to_end(argv, environment(env), LIMIT_S)
    except subprocess.TimeoutExpired as error:
        raise LabError(f"measuring the clients of {NAMES[name]} took longer than {LIMIT_S:g} s") from error
    if done.returncode:
        raise LabError(f"measuring the clients of {NAMES[name]} ended with {done.returncode}: {done.stderr[-800:]}")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found
