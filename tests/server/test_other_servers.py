"""Runs against OpenAI-compatible servers that are not ours: one that answers by rules, and a gateway in front of our
own model. Each is an optional test, skipped where its server is not installed:

    python3 -m venv .pawl/others && .pawl/others/bin/pip install fakellm 'litellm[proxy]'
    PATH="$PWD/.pawl/others/bin:$PATH" .venv/bin/python -m pytest tests/server/test_other_servers.py -m long
"""

import json
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from lab.ports import HOST, free_port
from lab.process import Command, Process
from lab.remotes import Remote
from tests.server.edge import Edge
from tests.server.world import call, calls

START_S = 90.0
"""The gateway takes some twenty seconds to start on a busy machine."""

pytestmark = [pytest.mark.long, pytest.mark.timeout(240)]


def needs(name: str) -> pytest.MarkDecorator:
    reason = f"{name} is not installed; the first lines of this file say how"
    return pytest.mark.skipif(shutil.which(name) is None, reason=reason)


@contextmanager
def serving(name: str, folder: Path, config: Any, ready: str, env: Mapping[str, str]) -> Iterator[Remote]:
    """The server of this name on a free port, with its configuration in a file."""
    port, written = free_port(), folder / f"{name}.yaml"
    # Every JSON is YAML.
    written.write_text(json.dumps(config))
    words = ("serve",) if name == "fakellm" else ()
    argv = (name, *words, "--host", HOST, "--port", str(port), "--config", str(written))
    remote = Remote(name, f"http://{HOST}:{port}")
    own = {"HOME": str(folder), **env}
    process = Process(Command(name, argv, own, folder / f"{name}.log", port, lambda: remote.answers(ready), START_S))
    try:
        process.start()
        yield remote
    finally:
        process.end(5)
        remote.close()


PAY = {"name": "charge_card", "arguments": {"customer_id": "c", "amount_cents": 100}}
RULES = {
    "version": 1,
    "rules": [
        {"name": "paid", "when": {"tool_result_contains": "ch_"}, "respond": {"content": "It is paid."}},
        {"name": "money", "when": {"messages_contain": "pay"}, "respond": {"tool_calls": [PAY]}},
        {"name": "key", "when": {"messages_contain": "no key"}, "respond": {"status": 401, "error": "no"}},
        {"name": "down", "when": {"messages_contain": "down"}, "respond": {"status": 500, "error": "no"}},
    ],
}


@needs("fakellm")
def test_a_server_that_answers_by_rules(edge: Edge, tmp_path: Path) -> None:
    with serving("fakellm", tmp_path, RULES, "/_fakellm/stats", {}) as server:
        edge.serve_with(model_url=f"{server.url}/v1")
        run_id = edge.run_id()
        gate = edge.stack.receiver.gate("charge", "applied")
        edge.submit(run_id, f"pay {edge.tag}")
        assert gate.wait_held(20)
        edge.kill_worker()
        gate.release()
        ended = edge.until(run_id, "completed", "failed")
        assert (ended["answer"], ended["turns"]) == ("It is paid.", 2)
        assert len(edge.effects(ended, "charge")) == 1
        assert len(edge.requests(ended, "charge")) == 2
        assert edge.run(edge.run_id(), f"no key {edge.tag}")["reason"] == "unauthorised"
        assert "after 3 requests" in edge.run(edge.run_id(), f"down {edge.tag}")["detail"]
        stats = server.json("GET", "/_fakellm/stats")
        assert json.dumps(stats).count('"down"') >= 1


KEY = "sk-0123456789abcdef0123456789abcdef"


@needs("litellm")
def test_a_gateway_in_front_of_a_strict_model(edge: Edge, tmp_path: Path) -> None:
    behind = {"model": "openai/mock", "api_base": f"{edge.stack.at.model}/v1", "api_key": "x"}
    config = {
        "model_list": [{"model_name": "mock", "litellm_params": behind}],
        "litellm_settings": {"num_retries": 0, "telemetry": False},
        "router_settings": {"num_retries": 0, "disable_cooldowns": True},
    }
    env = {"LITELLM_MASTER_KEY": KEY, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    with serving("litellm", tmp_path, config, "/health/liveliness", env) as server:
        edge.serve_with(model_url=f"{server.url}/v1", model_key=KEY)
        order = call("look_up_order", order_id="5")
        odd = {"name": "send_email", "arguments": "{'to': 'a'}", "id": "call_1"}
        thinking = {**calls({**order, "id": "call_1"}, odd), "extra": {"reasoning_content": "hm"}}
        pay = calls({**call("charge_card", customer_id=edge.tag, amount_cents=100), "id": "call_1"})
        run_id, task = edge.run_id(), edge.script(thinking, pay, {"content": "done"})
        gate = edge.stack.receiver.gate("charge", "applied")
        edge.submit(run_id, task)
        assert gate.wait_held(30)
        edge.kill_worker()
        gate.release()
        ended = edge.until(run_id, "completed", "failed")
        assert (ended["state"], ended["turns"]) == ("completed", 3), ended["detail"]
        assert len(edge.effects(ended, "charge")) == 1
        assert '"order_id":"5"' in edge.told()[0] and "are not JSON" in edge.told()[1]

        limited = {"status": 429, "headers": {"retry-after": "3"}, "body": {"error": {"message": "slow down"}}}
        edge.run(edge.run_id(), edge.script({"attempts": [limited, {"content": "done"}]}, name="limited"))
        first, second = (row["at"] for row in edge.rows("limited"))
        assert second - first >= 3

        failing = edge.run(edge.run_id(), edge.script({"status": 500}, name="failing"))
        assert (failing["reason"], len(edge.rows("failing"))) == ("model_unavailable", 3)

        long = {"status": 400, "body": {"error": {"code": "context_length_exceeded", "message": "prompt is too long"}}}
        began = time.monotonic()
        ended = edge.run(edge.run_id(), edge.script(long, name="long"))
        assert (ended["reason"], len(edge.rows("long"))) == ("context_too_long", 2)
        assert time.monotonic() - began < 20

        edge.serve_with(model_url=f"{server.url}/v1", model_key=KEY, model_name="nobody")
        refused = edge.run(edge.run_id(), edge.script({"content": "done"}, name="nobody"))
        assert (refused["state"], refused["reason"]) == ("failed", "bad_request")
        assert "Invalid model name" in refused["detail"]
