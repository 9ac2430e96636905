"""The server reads its own data after its host has another name."""

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from lab.stack import Stack
from tests.server.stand import QUICK
from tests.server.world import World, call, calls

UNSHARE = ("unshare", "--uts")


def can_rename() -> bool:
    """A host name of one's own needs a namespace of one's own."""
    if shutil.which("unshare") is None or shutil.which("hostname") is None:
        return False
    tried = subprocess.run([*UNSHARE, "hostname", "probe"], capture_output=True, check=False)
    return tried.returncode == 0


@pytest.mark.skipif(not can_rename(), reason="no host name of one's own can be set here")
def test_a_parked_run_goes_on_after_the_host_has_another_name(tmp_path: Path) -> None:
    with Stack(tmp_path / "stack", worker_env=QUICK) as stack:
        world = World(stack, 1)
        charge = calls(call("charge_card", customer_id=world.tag, amount_cents=500))
        run_id = world.run_id()
        always = {"approve_above_cents": {"charge_card": -1}}
        world.submit(run_id, world.script(charge, {"content": "done"}), grant=always)
        asked = world.until(run_id, "waiting_approval")
        assert stack.server.end()
        binary, *rest = stack.server.command.argv
        renamed = (*UNSHARE, "sh", "-c", 'hostname moved && exec "$0" "$@"', binary, *rest)
        stack.server.command = replace(stack.server.command, argv=renamed)
        stack.server.start()
        assert world.decide(run_id, asked["ledger"][0]["key"], "approve").status_code == 200
        assert len(world.effects(world.until(run_id, "completed"))) == 1
        assert "moved" in name_of(stack.server.pid)


def name_of(pid: int) -> str:
    """The host name that a process sees."""
    argv = ["nsenter", "--target", str(pid), "--uts", "hostname"]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout
