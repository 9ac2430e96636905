"""The peers do the agent's job with the agent's requests, and one that is not installed says so."""

import json
from typing import Any

import pytest

from lab.contestants import targets
from lab.contestants.outside import TOOLS, request
from tools import TOOLS as AGENTS_TOOLS

ASKED: dict[str, dict[str, Any]] = {
    "look_up_order": {"order_id": "1042"},
    "charge_card": {"customer_id": "cus_7", "amount_cents": 500},
    "refund_payment": {"payment_id": "pay_7", "amount_cents": 4900, "reason": "late"},
    "update_crm": {"customer_id": "cus_7", "fields": {"refunded": True}},
    "send_email": {"to": "a@example.test", "subject": "Hello", "body": "Bye"},
}


@pytest.mark.parametrize("name", ASKED)
def test_a_peers_tool_sends_what_the_agents_tool_sends(name: str) -> None:
    tool = next(tool for tool in AGENTS_TOOLS if tool.name == name)
    checked = tool.check(ASKED[name])
    assert isinstance(checked, dict)
    own = tool.prepare("key-1", checked)
    method, path, body = request(name, ASKED[name], "key-1")
    assert (method, path) == (own.method, own.path)
    assert body == (json.loads(own.body) if own.body else None)


def test_without_a_key_no_reference_gives_one_away() -> None:
    assert "reference" not in request("refund_payment", ASKED["refund_payment"], None)[2]


def test_the_model_is_shown_the_same_tools() -> None:
    assert [tool["function"]["name"] for tool in TOOLS] == list(ASKED)
    for shown in TOOLS:
        own = next(tool for tool in AGENTS_TOOLS if tool.name == shown["function"]["name"])
        assert shown["function"]["parameters"]["required"] == own.schema["required"]


def test_every_peer_stands_there_once_without_and_once_with_a_key() -> None:
    names = [target.name for target in targets.TARGETS]
    assert len(names) == len(set(names)) == 12
    assert {name.removesuffix("-keyed") for name in names} == set(names[::2])


def test_a_peer_that_is_not_installed_says_what_installs_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    nowhere = tmp_path_factory.mktemp("nothing")
    monkeypatch.setattr(targets, "PYTHON", nowhere / "python")
    monkeypatch.setattr(targets, "TYPESCRIPT", nowhere)
    for target in targets.TARGETS:
        reason = targets.why_not(target)
        assert reason is not None
        assert "make lab-peers" in reason or "Node" in reason
