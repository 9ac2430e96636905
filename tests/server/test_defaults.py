"""The SDK's own defaults are not shared between steps: the reason for the version that is the least we take."""

import sys
from dataclasses import replace

from lab.targets import JOURNALED
from tests.server.world import World

SEEN = ["str 'a text'", "Sum Sum(cents=7)", "dict {'cents': 7}"]


def test_each_result_comes_back_as_its_own_type_also_after_a_crash(world: World) -> None:
    argv = (sys.executable, "-m", "tests.server.workers.defaults")
    target = replace(
        JOURNALED, name="defaults", argv=lambda _listen, _at: argv, env=lambda listen, _at: {"PAWL_LISTEN": listen}
    )
    worker = world.stack.add_worker(target)
    try:
        call, invoke = world.stack.ingress.call, world.stack.ingress.invoke
        sent = call("POST", f"/Defaults/{world.tag}/run/send").json()["invocationId"]
        waits = world.wait(lambda: invoke("Defaults", world.tag, "waits").text.strip('"'), "three results")
        worker.kill()
        worker.start()
        assert call("POST", f"/restate/awakeables/{waits}/resolve", "go on").is_success
        assert world.attach(sent).json() == SEEN
    finally:
        worker.end(1.0)
        world.stack.workers.remove(worker)
