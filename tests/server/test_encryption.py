"""With keys, Restate's tables and the logs hold no plain text of arguments, bodies, results and transcripts."""

import base64
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lab.paths import ROOT
from lab.process import Process, environment
from lab.stack import Stack
from services.vault import Vault, new_key
from tests.server.stand import QUICK
from tests.server.world import World, call, calls, once_each

KEYS = "PAWL_ENCRYPTION_KEYS"
A, B = new_key(), new_key()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with Stack(Path(tmp_path_factory.mktemp("encryption")), worker_env={**QUICK, KEYS: json.dumps([A])}) as stack:
        yield stack


@pytest.fixture
def world(place: Stack, request: pytest.FixtureRequest) -> Iterator[World]:
    made = World(place, 10_000 + sum(map(ord, request.node.name)))
    with_keys(made, A)
    made.restore()
    yield made
    made.restore()


def with_keys(world: World, *keys: str) -> Process:
    """The worker, killed and started again with these keys, where it had others."""
    worker = world.stack.workers[0]
    wanted = {**worker.command.env, KEYS: json.dumps(keys)}
    if worker.command.env != wanted:
        worker.kill()
        worker.command = replace(worker.command, env=wanted)
        worker.start()
    return worker


def words(world: World) -> list[str]:
    """What the test looks for: in arguments, a body, a result, a thought of the model."""
    return [f"kingfisher{where}{world.number}" for where in ("argument", "body", "result", "thought")]


def secretive(world: World, name: str) -> str:
    """A task whose arguments, bodies, results and thoughts hold the words; its own text and the answer do not."""
    argument, body, result, thought = words(world)
    world.behave("order", answer={"status": 200, "body": {"order_id": "1", "note": result}})
    return world.script(
        {"content": thought, **calls(call("look_up_order", order_id="1"))},
        calls(
            call("charge_card", customer_id=world.tag, amount_cents=100, memo=argument),
            call("send_email", to="a@example.test", subject="hello", body=body),
        ),
        {"content": "all is paid"},
        name=name,
    )


def traces(word: str) -> list[bytes]:
    """The word as text, in hexadecimal, as numbers, and in base64 at each of its three alignments."""
    raw = word.encode()
    found = [raw, raw.hex().encode(), ",".join(map(str, raw)).encode(), ", ".join(map(str, raw)).encode()]
    for ahead in range(3):
        encoded = base64.b64encode(b"x" * ahead + raw)
        found.append(encoded[4 if ahead else 0 : -4])
    return found


def tables(world: World) -> bytes:
    """Everything that the admin API's SQL shows."""
    names = ("state", "sys_journal", "sys_journal_events", "sys_invocation", "sys_inbox", "sys_promise")
    return b"".join(json.dumps(world.stack.admin.query(f"SELECT * FROM {name}")).encode() for name in names)


def logs(world: World) -> bytes:
    """What the server and the worker have logged."""
    names = ("restate-server.log", "worker.log")
    return b"".join((world.stack.logs / name).read_bytes() for name in names if (world.stack.logs / name).exists())


def found(world: World, seen: bytes | None = None) -> set[str]:
    seen = tables(world) + logs(world) if seen is None else seen
    return {word for word in words(world) if any(trace in seen for trace in traces(word))}


def last_failure(world: World, run_id: str) -> str:
    rows = world.stack.admin.query(
        f"SELECT last_failure FROM sys_invocation WHERE target_service_key = '{run_id}' AND status <> 'completed'"
    )
    return " ".join(str(row.get("last_failure")) for row in rows)


def entries(world: World, run_id: str) -> dict[str, bytes]:
    rows = world.stack.admin.query(f"SELECT key, value FROM state WHERE service_key = '{run_id}'")
    return {row["key"]: bytes.fromhex(row["value"]) for row in rows}


def test_nothing_of_arguments_bodies_results_and_transcripts_is_in_tables_or_logs(world: World) -> None:
    run_id = world.run_id()
    grant = {"approve_above_cents": {"charge_card": -1}}
    invocation = world.submit(run_id, secretive(world, "plain"), grant=grant)
    waiting = world.until(run_id, "waiting_approval")
    assert found(world) == set()
    row = json.loads(entries(world, run_id)["run"])
    assert (row["state"], row["questions"]) == ("waiting_approval", [])
    charge = next(row for row in waiting["ledger"] if row["tool"] == "charge_card")
    assert charge["withheld"] and charge["arguments"] is None and charge["amount_cents"] == 100
    world.decide(run_id, charge["key"], "approve")
    ended = world.until(run_id, "completed")
    assert len(world.effects(ended)) == 2
    assert found(world) == set()
    seen = tables(world).decode()
    assert "all is paid" in world.attach(invocation).text and "completed" in seen
    task = ", ".join(map(str, f"task {world.tag}".encode()))
    assert task in seen or task.replace(" ", "") in seen, "the input stays readable"
    model = world.stack.model.json("GET", f"/requests/{world.stack.model.requests()[-1]['n']}")
    assert all(word in json.dumps(model) for word in words(world)), "the model was told everything"


def test_the_same_search_finds_the_words_where_nothing_is_encrypted(world: World) -> None:
    with_keys(world)
    run_id = world.run_id()
    world.run(run_id, secretive(world, "control"))
    assert found(world, tables(world)) == set(words(world))
    shown = world.status(run_id)["ledger"][0]
    assert "withheld" not in shown and shown["arguments"]


@pytest.mark.parametrize("effect", ["charge", "email"])
def test_a_kill_in_the_middle_replays_what_was_encrypted(world: World, effect: str) -> None:
    run_id = world.run_id()
    gate = world.stack.receiver.gate(effect, "applied")
    world.submit(run_id, secretive(world, effect))
    assert gate.wait_held(20)
    world.stack.workers[0].kill()
    gate.release()
    world.stack.workers[0].start()
    ended = world.until(run_id, "completed")
    assert len(world.effects(ended)) == 2 and once_each(world.effects(ended))


@pytest.mark.parametrize("before", [(A,), ()], ids=["another key", "none"])
def test_a_run_goes_on_when_the_keys_change_under_it(world: World, before: tuple[str, ...]) -> None:
    with_keys(world, *before)
    run_id, later = world.run_id(), world.run_id()
    task = secretive(world, "rotated")
    world.submit(run_id, task, grant={"approve_above_cents": {"charge_card": -1}})
    waiting = world.until(run_id, "waiting_approval")
    with_keys(world, B, *before)
    charge = next(row for row in waiting["ledger"] if row["tool"] == "charge_card")
    world.decide(run_id, charge["key"], "approve")
    ended = world.until(run_id, "completed")
    assert len(world.effects(ended)) == 2
    old, new = bytes.fromhex(Vault(before).newest), bytes.fromhex(Vault([B]).newest)
    assert all(new not in value for value in entries(world, run_id).values()), "its journal names its key"
    if before:
        assert all(old in value for name, value in entries(world, run_id).items() if name.startswith("intent/"))
    world.run(later, task)
    assert all(new in value for name, value in entries(world, later).items() if name.startswith("intent/"))


def test_a_run_whose_key_is_lost_waits_says_so_and_goes_on_with_the_key(world: World) -> None:
    run_id = world.run_id()
    world.submit(run_id, secretive(world, "lost"), grant={"approve_above_cents": {"charge_card": -1}})
    waiting = world.until(run_id, "waiting_approval")
    charge = next(row for row in waiting["ledger"] if row["tool"] == "charge_card")
    with_keys(world, B)
    refused = world.post(run_id, "status")
    name = Vault([A]).newest
    assert refused.status_code == 503 and name in refused.text and KEYS in refused.text
    assert world.decide(run_id, charge["key"], "approve").status_code == 503
    other = world.run(world.run_id(), secretive(world, "other"))
    assert other["state"] == "completed", "whatever was begun since is not held up"
    with_keys(world, B, A)
    assert world.decide(run_id, charge["key"], "approve").status_code == 200
    with_keys(world, B, A)
    ended = world.until(run_id, "completed")
    assert len(world.effects(ended)) == 2


def test_a_run_that_is_woken_without_its_key_is_not_ended_by_that(world: World) -> None:
    run_id = world.run_id()
    gate = world.stack.receiver.gate("charge", "applied")
    world.submit(run_id, secretive(world, "woken"))
    assert gate.wait_held(20)
    with_keys(world, B)
    gate.release()
    name = Vault([A]).newest
    world.wait(lambda: name in last_failure(world, run_id), "the sentence")
    with_keys(world, B, A)
    ended = world.until(run_id, "completed")
    assert len(world.effects(ended)) == 2 and once_each(world.effects(ended))


def test_a_run_under_a_lost_key_can_be_cancelled(world: World) -> None:
    run_id = world.run_id()
    world.submit(run_id, secretive(world, "cancelled"), grant={"approve_above_cents": {"charge_card": -1}})
    world.until(run_id, "waiting_approval")
    with_keys(world, B)
    assert world.post(run_id, "cancel", {}).status_code == 200
    with_keys(world, B, A)
    world.until(run_id, "cancelled")


def test_a_conversation_is_encrypted_and_goes_on_after_a_rotation(world: World) -> None:
    session = f"{world.tag}-session"
    text = f"task {world.tag} talk."
    world.stack.model.json("PUT", f"/scripts/{world.tag}", {"match": text, "replies": [{"content": "well said"}]})

    def said() -> list[dict[str, Any]]:
        reply = world.stack.ingress.invoke("Session", session, "history", None, 10)
        return list(reply.json()["messages"])

    for number, keys in enumerate([(A,), (B, A)]):
        with_keys(world, *keys)
        body = {"message_id": f"m{number}", "text": text}
        assert world.stack.ingress.invoke("Session", session, "send", body, 10).status_code == 200
        world.wait(lambda: said()[-1]["state"] == "completed", "the answer")
        kept = entries(world, session)["conversation"]
        assert bytes.fromhex(Vault(keys).newest) in kept and b"well said" not in kept
    assert [message["reply"] for message in said()] == ["well said", "well said"]


READABLE = {
    ("Session/send", "Command: Input"),
    ("Session/send", "Command: Output"),
    ("Session/history", "Command: Output"),
    ("Turn/carry", "Command: Call"),
    ("Agent/run", "Command: Input"),
    ("Agent/run", "Command: Output"),
    ("Agent/status", "Command: Output"),
    ("Turn/carry", "Notification: Call"),
}
"""As docs/security.md has it: what callers say and are told, and a run's input, which has what was said before."""

END = {("Agent/run", "Command: SetState"), ("Agent/status", "Command: GetEagerState")}
"""The run's end, in which its answer stands."""


def test_of_a_conversation_only_what_callers_say_and_are_told_is_readable(world: World) -> None:
    session, question, answer = f"{world.tag}-talk", f"wagtail{world.number}", f"nuthatch{world.number}"
    text = f"task {world.tag} about a {question}."
    world.stack.model.json("PUT", f"/scripts/{world.tag}-talk", {"match": text, "replies": [{"content": answer}]})
    for number in (1, 2):
        body = {"message_id": f"m{number}", "text": text}
        world.stack.ingress.invoke("Session", session, "send", body, 10)
        world.until(f"{session}~m{number}", "completed")
    said = world.stack.ingress.invoke("Session", session, "history", None, 10).text
    assert question in said and answer in said
    kept = json.dumps(world.stack.admin.query("SELECT * FROM state WHERE service_name = 'Session'")).encode()
    for word in (question, answer):
        assert not any(trace in kept + logs(world) for trace in traces(word)), f"{word} is in the session's state"
        rows = world.stack.admin.query(
            "SELECT i.target_service_name AS service, i.target_handler_name AS handler, j.* FROM sys_journal j"
            " JOIN sys_invocation i ON i.id = j.id"
        )
        places = {
            (f"{row['service']}/{row['handler']}", row["entry_type"])
            for row in rows
            if any(trace in json.dumps(row).encode() for trace in traces(word))
        }
        readable = READABLE | (END if word == answer else set())
        assert places <= readable, places - readable
        assert ("Agent/run", "Command: Input") in places, "what was said before stands in the input of the run"


def test_the_command_line_shows_it_to_who_has_the_key(world: World) -> None:
    run_id = world.run_id()
    world.submit(run_id, secretive(world, "cli"), grant={"approve_above_cents": {"charge_card": -1}})
    world.until(run_id, "waiting_approval")

    def printed(*keys: str) -> str:
        addresses = {"PAWL_ADMIN": world.stack.at.admin, "PAWL_INGRESS": world.stack.at.ingress, "COLUMNS": "200"}
        env = environment({**addresses, KEYS: json.dumps(keys)})
        argv = [sys.executable, "-m", "services.cli", "status", run_id]
        return subprocess.run(argv, capture_output=True, text=True, env=env, check=False).stdout

    assert words(world)[0] in printed(A)
    without = printed(B)
    assert words(world)[0] not in without and "waiting_approval" in without and Vault([A]).newest in without


def test_which_entries_are_under_a_key_is_one_query(world: World) -> None:
    """As docs/security.md has it."""
    text = (ROOT / "docs" / "security.md").read_text()
    query = text.partition("```sql\n")[2].partition("```")[0]
    run_id = world.run_id()
    world.run(run_id, secretive(world, "counted"))
    rows = {row["key"]: row["n"] for row in world.stack.admin.query(query)}
    assert rows[Vault([A]).newest] >= 3
    assert rows.keys() <= {Vault([A]).newest, Vault([B]).newest}
