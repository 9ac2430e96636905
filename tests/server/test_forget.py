"""One run's personal data can be deleted: afterwards no table of the server has it."""

import json
import time
from concurrent.futures import ThreadPoolExecutor

from tests.server.editions import says
from tests.server.world import World, call, calls

SECRET = "Ludmilla-Kowalczyk"


def found(world: World, text: str) -> list[str]:
    """The tables in which the text stands."""
    tables = {"state": "value_utf8", "sys_journal": "entry_json", "sys_invocation": "target_service_key"}
    hits = []
    for table, column in tables.items():
        rows = world.stack.admin.query(f"SELECT count(1) AS n FROM {table} WHERE {column} LIKE '%{text}%'")
        hits += [table] if rows[0]["n"] else []
    # A journal's payloads stand in it as lists of bytes.
    numbers = json.dumps(list(text.encode()), separators=(",", ":"))[1:-1]
    rows = world.stack.admin.query(f"SELECT count(1) AS n FROM sys_journal WHERE entry_json LIKE '%{numbers}%'")
    return hits + (["sys_journal payloads"] if rows[0]["n"] else [])


def test_a_forgotten_run_is_in_no_table_and_its_id_answers_410(world: World) -> None:
    run_id = world.run_id()
    mail = call("send_email", to="a@example.test", subject=SECRET, body=SECRET)
    task = world.script(calls(mail), {"content": f"told {SECRET}"}) + f" For {SECRET}."
    ended = world.run(run_id, task)
    assert ended["state"] == "completed"
    assert len(world.effects(ended)) == 1
    assert found(world, SECRET), "the test looks at the wrong tables"
    said = says(world.stack, "forget", run_id)
    assert said.returncode == 0, said.stderr
    assert found(world, SECRET) == []
    assert world.post(run_id, "run", {"task": task}).status_code == 410
    assert world.post(run_id, "status").status_code == 410
    assert says(world.stack, "forget", run_id, "--json").returncode == 0


def test_a_run_that_goes_on_is_not_forgotten(world: World) -> None:
    run_id = world.run_id()
    charge = calls(call("charge_card", customer_id=world.tag, amount_cents=500))
    always = {"approve_above_cents": {"charge_card": -1}}
    world.submit(run_id, world.script(charge, {"content": "done"}), grant=always)
    asked = world.until(run_id, "waiting_approval")
    said = says(world.stack, "forget", run_id)
    assert said.returncode == 6
    assert "has not ended" in said.stderr
    assert says(world.stack, "forget", "nobody-knows-it").returncode == 2
    assert world.decide(run_id, asked["ledger"][0]["key"], "approve").status_code == 200
    assert len(world.effects(world.until(run_id, "completed"))) == 1


def test_a_message_of_a_session_is_forgotten_with_the_call_that_carried_it(world: World) -> None:
    session, name = f"{world.tag}-talk", f"{SECRET}-talk"
    text = world.script({"content": "noted"}, name="talk") + f" I am {name}."
    sent = world.stack.ingress.invoke("Session", session, "send", {"message_id": "m1", "text": text}, 10)
    assert sent.status_code == 200, sent.text
    run_id = sent.json()["run_id"]
    world.until(run_id, "completed")
    world.wait(lambda: "noted" in world.stack.ingress.invoke("Session", session, "history", None, 10).text, "the reply")
    assert found(world, name)
    assert world.stack.ingress.invoke("Session", session, "delete", None, 10).status_code == 200
    said = says(world.stack, "forget", run_id)
    assert said.returncode == 0, said.stderr
    assert f"/Session/{session}/delete" in said.stdout
    assert found(world, name) == []


def test_what_is_said_to_be_forgotten_is_also_where_a_further_pass_begins_meanwhile(world: World) -> None:
    task = world.script({"content": "done"}, loop=True)
    answers = []
    for number in range(12):
        run_id = world.run_id(f"race{number}")
        world.run(run_id, task)
        with ThreadPoolExecutor(1) as beside:
            further = beside.submit(world.post, run_id, "run", {"task": task, "again": 2})
            time.sleep(0.0005 * number)
            said = world.post(run_id, "forget")
            further.result()
        stands = world.post(run_id, "status").status_code
        answers.append((said.status_code, stands))
        assert stands == 410 if said.status_code == 200 else stands == 200, (said.text, stands)
        assert said.status_code == 200 or "forget it" in said.text or "has not ended" in said.text, said.text
    assert any(said == 409 for said, _ in answers), f"no further pass was ahead, so nothing was shown: {answers}"
