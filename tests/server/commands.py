"""Commands of the command line, asked of a world, and the runs that they are about."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from typer.testing import CliRunner

from services import cli
from tests.server.world import World, call, calls

ASK = {"approve_above_cents": {"charge_card": -1}}


@dataclass(frozen=True, slots=True)
class Ended:
    """What a command left: exit code and both outputs."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        return json.loads(self.out)


def addresses(world: World) -> dict[str, str]:
    return {"PAWL_INGRESS": world.stack.at.ingress, "PAWL_ADMIN": world.stack.at.admin}


def pawl(world: World, *words: str, stdin: str = "", **env: str) -> Ended:
    done = CliRunner().invoke(cli.app, words, input=stdin, env={**addresses(world), **env})
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return Ended(done.exit_code, done.stdout, done.stderr)


def look(world: World, run_id: str) -> dict[str, Any]:
    return dict(pawl(world, "status", run_id, "--json").json())


def charge(world: World, cents: int = 4900) -> dict[str, Any]:
    return calls(call("charge_card", customer_id=world.tag, amount_cents=cents))


def parked(world: World, name: str = "run") -> tuple[str, str]:
    """A run that waits for an approval; its id and the key."""
    run_id = world.run_id(name)
    world.submit(run_id, world.script(charge(world), {"content": "paid"}), grant=ASK)
    return run_id, str(world.until(run_id, "waiting_approval")["questions"][0]["key"])


@contextmanager
def no_worker(world: World) -> Iterator[None]:
    world.stack.workers[0].kill()
    try:
        yield
    finally:
        if not world.stack.workers[0].alive:
            world.stack.workers[0].start()
