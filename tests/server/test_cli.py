"""The command line against the real stack: once as a process, otherwise within this one, which is quicker."""

import json
import shlex
import subprocess
import sys
import threading
import time

import pytest

from lab.paths import ROOT
from lab.process import environment
from tests.server.commands import ASK, Ended, addresses, charge, look, no_worker, parked, pawl
from tests.server.world import World, call, calls

COMMAND_S = 60.0


def process(world: World, *words: str) -> Ended:
    done = subprocess.run(
        [sys.executable, "-m", "services.cli", *words],
        env=environment(addresses(world)),
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=COMMAND_S,
        check=False,
    )
    return Ended(done.returncode, done.stdout, done.stderr)


def test_a_run_is_begun_watched_and_shown(world: World) -> None:
    run_id, task = world.run_id(), world.script(charge(world), {"content": "all paid"})
    watched = process(world, "run", run_id, task)
    assert watched.code == 0, watched
    assert "all paid" in watched.out
    assert "charge_card(" in watched.out
    again = pawl(world, "submit", run_id, "-", stdin=task)
    assert again.code == 0
    assert "all paid" in again.out
    other = pawl(world, "submit", run_id, "another task", "--json")
    assert (other.code, other.json()["exit_code"]) == (6, 6)
    assert "another request" in other.err
    shown = look(world, run_id)
    handler = world.status(run_id)
    assert shown | handler == shown
    assert [row["state"] for row in shown["ledger"]] == ["done"]


def test_a_run_that_is_followed_ends_where_a_person_must_decide(world: World) -> None:
    run_id, task = world.run_id(), world.script(charge(world), {"content": "paid"})
    watched = pawl(world, "run", run_id, task, "--grant", json.dumps(ASK), "--json")
    assert watched.code == 3
    last = json.loads(watched.out.splitlines()[-1])
    assert last["state"] == "waiting_approval"
    (question,) = last["questions"]
    assert (question["tool"], question["amount_cents"]) == ("charge_card", 4900)
    assert pawl(world, "approve", run_id, question["key"], "--digest", "0" * 64).code == 6
    said = pawl(world, *shlex.split(question["commands"]["approve"])[3:], "--who", "ada", "--note", "fine")
    assert (said.code, said.out) == (0, "recorded: approve by ada\n")
    second = pawl(world, "deny", run_id, question["key"])
    assert second.code == 6
    assert "ended" in second.err or "approve by ada" in second.err
    followed = pawl(world, "status", run_id, "--follow")
    assert followed.code == 0
    ruling = look(world, run_id)["ledger"][0]["rulings"][0]
    assert (ruling["who"], ruling["note"]) == ("ada", "fine")
    assert len(world.effects(world.status(run_id))) == 1


def test_a_second_decision_on_a_run_that_still_waits_is_a_conflict(world: World) -> None:
    run_id = world.run_id()
    two = calls(*(call("charge_card", customer_id=world.tag, amount_cents=cents) for cents in (1, 2)))
    world.submit(run_id, world.script(two, {"content": "paid"}), grant=ASK)
    first, second = (each["key"] for each in world.until(run_id, "waiting_approval")["questions"])
    assert pawl(world, "deny", run_id, first, "--who", "ada").code == 0
    late = pawl(world, "approve", run_id, first, "--json")
    assert (late.code, late.json()["exit_code"]) == (6, 6)
    assert "deny by ada" in late.err
    assert [each["key"] for each in look(world, run_id)["questions"]] == [second]
    assert pawl(world, "approve", run_id, "no-such-key").code == 2
    assert pawl(world, "resolve", run_id, second, "give-up").code == 6
    assert pawl(world, "cancel", run_id).code == 0


def test_an_unknown_outcome_is_resolved_by_hand(world: World) -> None:
    run_id, task = world.run_id(), world.script(calls(call("send_sms", to="+491", text=world.tag)), {"content": "ok"})
    world.behave("sms", lose_answer="after_commit", times=1)
    watched = pawl(world, "run", run_id, task)
    assert watched.code == 3
    assert "cannot be" in watched.out
    key = look(world, run_id)["questions"][0]["key"]
    assert f"python -m services.cli resolve {run_id} {key} did-not-happen\n" in watched.out
    assert pawl(world, "resolve", run_id, key, "give-up", "--receiver-id", "sm_7").code == 2
    assert pawl(world, "resolve", run_id, key, "happened", "--receiver-id", "sm_7").code == 0
    ended = world.until(run_id, "completed")
    assert (ended["ledger"][0]["state"], ended["ledger"][0]["receiver_id"]) == ("done", "sm_7")


def test_pending_lists_every_run_that_waits_and_no_other(world: World) -> None:
    first, second = parked(world, "one"), parked(world, "two")
    done = world.run_id("done")
    world.run(done, world.script({"content": "nothing to do"}, name="done"))
    told = pawl(world, "pending", "--json")
    assert told.code == 3
    found = {run["run_id"]: run for run in told.json()["runs"]}
    assert {first[0], second[0]} <= found.keys()
    assert done not in found
    assert list(found).index(first[0]) < list(found).index(second[0])
    (question,) = found[first[0]]["questions"]
    assert (question["key"], question["kind"]) == (first[1], "approval")
    assert question["since"] <= found[second[0]]["questions"][0]["since"]
    for run_id, key in (first, second):
        assert pawl(world, "deny", run_id, key).code == 0
        world.until(run_id, "completed")
    assert not {first[0], second[0]} & {run["run_id"] for run in pawl(world, "pending", "--json").json()["runs"]}


def test_what_cannot_be_done_to_a_run_as_it_stands_is_said_in_one_sentence(world: World) -> None:
    done = world.run_id("done")
    world.run(done, world.script({"content": "nothing to do"}, name="done"))
    waits, key = parked(world)
    approval = f"run {waits} is waiting_approval: {look(world, waits)['reason'].removesuffix('.')}."
    for command, run_id, sentence in (
        ("cancel", done, f"there is nothing to cancel: run {done} is completed."),
        ("resume", waits, f"there is nothing to resume: {approval}"),
        ("again", waits, f"no further pass can begin: {approval}"),
    ):
        told = pawl(world, command, run_id, "--json")
        assert (told.code, told.json()["error"]) == (6, sentence)
    assert pawl(world, "deny", waits, key).code == 0


def test_a_cancelled_run_ended_when_it_was_cancelled(world: World) -> None:
    run_id, _ = parked(world)
    asked_at = look(world, run_id)["questions"][0]["since"]
    time.sleep(2)
    assert pawl(world, "cancel", run_id).code == 0
    assert look(world, run_id)["ended_at"] > asked_at + 1.5
    early, task = world.run_id(), world.script({"content": "done"}, name="early")
    with no_worker(world):
        assert world.post(early, "run/send", {"task": task}).is_success
        world.wait(lambda: look(world, early)["state"] == "stuck", "stuck", wait_s=10)
        assert pawl(world, "cancel", early).code == 0
    ended = world.until(early, "cancelled")
    assert ended["ended_at"] > asked_at
    assert not world.model_requests("early")


def test_many_cancels_at_once_are_one(world: World) -> None:
    run_id, _ = parked(world)
    invocation = look(world, run_id)["invocation_id"]
    path = f"/invocations/{invocation}/cancel"
    threads = [threading.Thread(target=world.stack.admin.call, args=("PATCH", path)) for _ in range(12)]
    threads += [threading.Thread(target=world.post, args=(run_id, "cancel", {})) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert world.until(run_id, "cancelled", wait_s=10)["ledger"][0]["state"] == "not_sent"


def test_a_cancel_names_who_asked_and_undoes_what_was_done(world: World) -> None:
    run_id, task = world.run_id(), world.script(charge(world), charge(world, 9000), {"content": "paid"})
    world.submit(run_id, task, grant={"approve_above_cents": {"charge_card": 8000}})
    world.until(run_id, "waiting_approval")
    told = pawl(world, "cancel", run_id, "--undo", "--who", "ada")
    assert told.code == 0, told
    assert "cancelled by ada; undone: charge_card" in told.out
    assert "undo of charge_card" in told.out
    assert pawl(world, "status", run_id).code == 5


def test_a_run_for_later_is_shown_and_cancelled(world: World) -> None:
    run_id, task = world.run_id(), world.script({"content": "done"})
    assert world.post(run_id, "run/send?delay=60s", {"task": task}).is_success
    assert look(world, run_id)["state"] == "scheduled"
    told = pawl(world, "cancel", run_id)
    assert (told.code, told.out) == (0, f"run {run_id} had not begun, and will not.\n")
    assert pawl(world, "status", run_id).code == 2


def test_a_further_pass_is_begun_with_the_request_of_the_first(world: World) -> None:
    run_id, task = world.run_id(), world.script(charge(world), {"content": "paid"})
    grant = ("--grant", json.dumps({"each_cents": 5000}))
    assert pawl(world, "run", run_id, task, *grant).code == 0
    second = pawl(world, "again", run_id, "--follow", "--json")
    assert second.code == 0, second
    assert json.loads(second.out.splitlines()[-1])["pass"] == 2
    assert pawl(world, "again", run_id, *grant).code == 0
    ended = world.wait(
        lambda: (s := world.status(run_id)).get("pass") == 3 and s["state"] == "completed" and s, "3", run_id
    )
    assert len(world.requests(ended)) == 1
    other = pawl(world, "again", run_id, "--unknown", "tell")
    assert other.code == 6
    assert "--grant" in other.err
    assert pawl(world, "again", world.run_id("never")).code == 2


@pytest.mark.parametrize("nasty", ["o'clock", "x' OR '1'='1", 'a"b', "100%_", "-- é", "../x?y#z", "a b;c"])
def test_a_run_id_is_only_ever_an_id(world: World, nasty: str) -> None:
    run_id = world.run_id(nasty.replace("/", ""))
    assert pawl(world, "status", run_id).code == 2
    task = world.script({"content": "done"})
    assert pawl(world, "run", run_id, task).code == 0
    shown = pawl(world, "status", run_id, "--json")
    assert (shown.code, shown.json()["run_id"]) == (0, run_id)
    assert pawl(world, "status", run_id.replace("'", "''")).code == (0 if "'" not in run_id else 2)


def test_what_is_wrong_is_one_sentence_and_an_exit_code(world: World) -> None:
    def fails(code: int, words: str, *command: str, **env: str) -> None:
        ended = pawl(world, *command, **env)
        assert ended.code == code, ended
        assert words in " ".join(ended.err.split()), ended

    fails(2, "--grant does not fit: each: unknown field", "submit", "r", "task", "--grant", '{"each": 1}')
    fails(2, "--limits does not fit", "submit", "r", "task", "--limits", "{")
    fails(2, "task:", "submit", "r", "")
    fails(2, "a run id has 1 to 200 characters", "status", " ")
    fails(2, "no slash", "submit", "a/b", "task")
    fails(2, "PAWL_ADMIN", "pending", PAWL_ADMIN="nowhere")
    fails(2, "begins with http", "pending", "--admin", "nowhere")
    fails(2, "'http://[::1' is no address", "submit", "r", "task", "--ingress", "http://[::1")
    fails(2, "is no run id", "status", "..")
    fails(2, "not UTF-8", "submit", "\udcff", "task")
    fails(2, "task: this is not UTF-8", "submit", "r", "\udcff")
    fails(2, "deployment: this is not UTF-8", "resume", "r", "--deployment", "\udcff")
    fails(2, "--who", "approve", "r", "k", "--who", "a\nb")
    fails(2, "Missing argument", "approve", "r")
    fails(4, "admin API does not answer at http://127.0.0.1:9", "pending", "--admin", "http://127.0.0.1:9")
    fails(4, "ingress does not answer at http://127.0.0.1:9", "submit", "r", "t", "--ingress", "http://127.0.0.1:9")
    told = pawl(world, "pending", "--admin", "http://127.0.0.1:9", "--json")
    assert (told.code, told.json()["exit_code"]) == (4, 4)


def test_help_says_what_each_exit_code_means(world: World) -> None:
    for words in (("--help",), ("approve", "--help")):
        said = pawl(world, *words)
        assert said.code == 0
        assert "Exit codes" in said.out
        assert all(f"{code}  " in said.out for code in range(7))
