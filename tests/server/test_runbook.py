"""The blocks of docs/operations.md, run as they stand: only ports and the place of Restate's data are other ones."""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from lab.paths import ROOT
from lab.ports import HOST, all_free, free_port, refuses
from lab.process import environment, wait_until
from lab.remotes import Ingress
from lab.server import command
from lab.stack import Stack
from lab.targets import Addresses
from tests.server.editions import edition
from tests.server.stand import QUICK
from tests.server.test_versions import STEP_MORE
from tests.server.world import World, call, calls

DOCUMENT = ROOT / "docs" / "operations.md"
BLOCKS = dict(re.findall(r"```sh ([\w-]+)\n(.*?)```", DOCUMENT.read_text(), re.DOTALL))
BLOCKS["start-only"] = "\n".join(BLOCKS["start"].splitlines()[:3])
"""Without the registration: the address is known."""
BLOCK_S = 90.0
LAUNCHER = ROOT / "node_modules" / ".bin" / "restate-server"


def settings(at: Addresses, listen: str) -> dict[str, str]:
    return {
        **QUICK,
        "PAWL_LISTEN": f"127.0.0.1:{listen}",
        "PAWL_INGRESS": at.ingress,
        "PAWL_ADMIN": at.admin,
        "PAWL_RECEIVER_URL": at.receiver,
        "PAWL_MODEL_URL": f"{at.model}/v1",
    }


def pasted(
    name: str, folder: Path, ports: Mapping[str, str], own: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """Runs a block as it stands but for the ports."""
    text = BLOCKS[name]
    for usual, ours in ports.items():
        text = text.replace(usual, ours)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    said = subprocess.run(
        ["sh", "-e", "-c", text],
        cwd=folder,
        env=environment({**own, "PATH": path}),
        capture_output=True,
        text=True,
        timeout=BLOCK_S,
        check=False,
    )
    assert said.returncode == 0, f"{name}: {said.stdout}{said.stderr}"
    return said


@dataclass
class Site:
    """A stack without workers: they are started as the document says."""

    world: World
    releases: Path
    ports: dict[str, str] = field(default_factory=dict)

    def release(self, name: str, *edits: tuple[str, str, str]) -> Path:
        folder = self.releases / name
        return folder if folder.exists() else edition(folder, *edits)

    def paste(self, folder: Path, name: str, **other: str) -> subprocess.CompletedProcess[str]:
        """Runs a block in a release's folder."""
        at = self.world.stack.at
        return pasted(name, folder, {**self.ports, **other}, settings(at, self.ports["9080"]))

    def pid(self, folder: Path, port: str) -> int:
        return int((folder / ".pawl" / f"worker-{self.ports[port]}.pid").read_text())

    def gone(self, pid: int) -> None:
        self.world.wait(lambda: not Path(f"/proc/{pid}").exists(), "the end of the worker", wait_s=15)

    def parked(self, run_id: str) -> str:
        """Begins a run that waits for an approval; the key that it asks about."""
        charge = calls(call("charge_card", customer_id=run_id, amount_cents=500))
        always = {"approve_above_cents": {"charge_card": -1}}
        self.world.submit(run_id, self.world.script(charge, {"content": "done"}, name=run_id), grant=always)
        return str(self.world.until(run_id, "waiting_approval")["ledger"][0]["key"])

    def completes(self, run_id: str, key: str) -> None:
        assert self.world.decide(run_id, key, "approve").status_code == 200
        ended = self.world.until(run_id, "completed")
        assert len(self.world.effects(ended)) == 1


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with Stack(tmp_path / "stack", workers=0) as stack:
        made = Site(World(stack, 1), tmp_path / "releases", {"9080": str(free_port()), "9081": str(free_port())})
        made.ports["8080"] = str(stack.ports.ingress)
        try:
            yield made
        finally:
            for file in made.releases.glob("*/.pawl/worker-*.pid"):
                end(int(file.read_text()))


def end(pid: int) -> None:
    """Ends what a test left behind; it was started by this test's own shell."""
    line = Path(f"/proc/{pid}/cmdline")
    started = line.read_bytes() if line.exists() else b""
    if b"restate-server" in started:
        os.kill(pid, signal.SIGTERM)  # the launcher hands it on
    elif b"services" in started or b"mocks" in started:
        os.kill(pid, signal.SIGKILL)


@pytest.mark.long
@pytest.mark.skipif(not LAUNCHER.exists(), reason="the restate-server is not from npm")
def test_everything_started_and_stopped_by_hand(tmp_path: Path) -> None:
    folder, ports = edition(tmp_path / "v1"), all_free()
    shutil.copytree(ROOT / "mocks", folder / "mocks", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "restate.toml", folder)
    (folder / "node_modules").symlink_to(ROOT / "node_modules")
    at = Addresses(*(f"http://{HOST}:{port}" for port in (ports.ingress, ports.admin, ports.receiver, ports.model)))
    names = {"7001": str(ports.receiver), "7002": str(ports.model), "9080": str(ports.worker)}
    server = command(LAUNCHER, tmp_path, ports, tmp_path / "log", lambda: True).env
    own = settings(at, names["9080"]) | {name: value for name, value in server.items() if name.startswith("RESTATE_")}
    del own["RESTATE_CONFIG"], own["RESTATE_BASE_DIR"]  # as the block and the file say
    try:
        for name in ("start-restate", "start-mocks", "start"):
            pasted(name, folder, names, own)
        with Ingress("ingress", at.ingress) as ingress:
            ended = ingress.invoke("Agent", "r-1", "run", {"task": "refund order 1042"}, 20).json()
        assert ended["state"] == "completed"
        assert (folder / ".pawl" / "restate").is_dir()
        for name in ("stop", "stop-mocks", "stop-restate"):
            pasted(name, folder, names, own)
        for port in (ports.worker, ports.receiver, ports.model, ports.ingress, ports.admin):
            wait_until(f"the end of what listens on {port}", lambda port=port: refuses(port), 20)  # type: ignore[misc]
    finally:
        for file in folder.glob(".pawl/*.pid"):
            end(int(file.read_text()))


@pytest.mark.long
def test_a_rolling_update_and_a_roll_back(site: Site) -> None:
    old, new = site.release("v1"), site.release("v2", STEP_MORE)
    assert "is registered as" in site.paste(old, "start").stdout
    first = site.parked("order-1")
    site.paste(new, "update")
    second = site.parked("order-2")
    back = site.paste(old, "roll-back")
    assert "new calls go to it from now on" in back.stdout
    site.completes("order-1", first)
    site.completes("order-2", second)
    # Forward again, and the old one goes.
    site.paste(new, "roll-back", **{"9080": site.ports["9081"]})
    assert "may be switched off" in site.paste(new, "drained").stdout
    pid = site.pid(old, "9080")
    gone = site.paste(old, "switch-off").stdout
    assert "no longer registered" in gone and "wrong" not in gone
    site.gone(pid)
    site.completes("order-3", site.parked("order-3"))


@pytest.mark.long
def test_stuck_after_a_wrong_deploy(site: Site) -> None:
    old, wrong = site.release("v1"), site.release("wrong", STEP_MORE)
    site.paste(old, "start")
    keys = {run_id: site.parked(run_id) for run_id in ("order-1", "charge-9")}
    pid = site.pid(old, "9080")
    site.paste(old, "stop")
    site.gone(pid)
    # The wrong way: another release at the same address.
    site.paste(wrong, "start-only")
    site.world.wait(lambda: "journal mismatch" in site.paste(wrong, "stuck").stdout, "stuck", wait_s=40)
    assert re.search(r"registration\s+wrong", site.paste(wrong, "stuck").stdout)
    # One of them goes on with the code that is there, the other with its own.
    site.paste(wrong, "afresh")
    site.completes("charge-9", keys["charge-9"])
    pid = site.pid(wrong, "9080")
    site.paste(wrong, "stop")
    site.gone(pid)
    site.paste(old, "start-only")
    site.completes("order-1", keys["order-1"])


@pytest.mark.long
def test_backup_and_restore(site: Site) -> None:
    release = site.release("v1")
    site.paste(release, "start")
    key = site.parked("order-1")
    site.paste(release, "stop")
    stack = site.world.stack
    data = {".pawl/restate": str(stack.folder / "restate" / "data")}
    assert stack.server.end()
    site.paste(release, "backup", **data)
    stack.server.start()
    site.paste(release, "start")
    site.completes("order-1", key)
    pid = site.pid(release, "9080")
    site.paste(release, "stop")
    site.gone(pid)
    assert stack.server.end()
    site.paste(release, "restore", **data)
    stack.server.start()
    site.paste(release, "start")
    # It waits as it did at the backup. Approved again, it charges under the same key, which the receiver knows.
    assert site.world.until("order-1", "waiting_approval")["ledger"][0]["key"] == key
    site.completes("order-1", key)
    assert len([row for row in stack.receiver.requests() if row["key"] == key]) == 2
    shutil.rmtree(release / "restate-before")


@pytest.mark.long
def test_deleting_one_runs_data(site: Site) -> None:
    release = site.release("v1")
    site.paste(release, "start")
    site.completes("charge-9", site.parked("charge-9"))
    assert "is forgotten" in site.paste(release, "forget").stdout
    assert site.world.post("charge-9", "status").status_code == 410
    site.world.stack.ingress.invoke("Session", "talk-7", "send", {"message_id": "m1", "text": "hello"}, 10)
    site.world.until("talk-7~m1", "completed")
    site.world.wait(lambda: '"completed"' in said_in(site, "talk-7"), "the reply")
    assert '"deleted":1' in site.paste(release, "forget-session").stdout.replace(" ", "")
    assert "hello" not in said_in(site, "talk-7")


def said_in(site: Site, session: str) -> str:
    return site.world.stack.ingress.invoke("Session", session, "history", None, 10).text


def test_every_block_is_tried() -> None:
    text = Path(__file__).read_text()
    tried = set(re.findall(r'paste\(\w+, "([\w-]+)"', text))
    for names in re.findall(r"for name in \((.*)\):", text):
        tried |= set(re.findall(r'"([\w-]+)"', names))
    assert set(re.findall(r"```sh ([\w-]+)\n", DOCUMENT.read_text())) == tried - {"start-only"}
    assert "```sh\n" not in DOCUMENT.read_text()
