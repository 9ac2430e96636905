"""The one connection between Restate and a worker carries all attempts: nothing that ends may cut off the others."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from lab.remotes import Gate
from tests.server.world import World

CALLS = 1_100
"""More than an HTTP server's usual limit for one connection."""


@pytest.mark.timeout(180)
def test_however_many_calls_it_has_carried_what_is_under_way_is_not_cut_off(world: World) -> None:
    run_id, model = world.run_id(), world.stack.model
    row = model.json("POST", "/gates", {"effect": "chat", "point": "arrived", "times": 1})
    gate = Gate(model, str(row["id"]))
    world.submit(run_id, world.script({"content": "done"}))
    assert gate.wait_held(10)
    with ThreadPoolExecutor(8) as several:
        states = {shown["state"] for shown in several.map(lambda _: world.status(run_id), range(CALLS))}
    gate.release()
    world.until(run_id, "completed")
    assert states == {"running"}
    assert world.model_requests() == 1, "the model was asked again, although nothing had failed"
    assert world.retries(run_id) == 0
