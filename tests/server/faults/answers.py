"""The answer is lost, late, an error, or one that comes when the key is too old."""

import time

from lab.process import Process
from tests.server.faults.known import Cells, fault
from tests.server.stand import KEYED, Stand

LIFETIME_S = 2.0
LONGER_S = 3.0
"""Longer than the key's lifetime."""


def behaving(stand: Stand, **behaviour: object) -> Cells:
    for kind in stand.kinds:
        stand.behave(kind.effect, **behaviour)
    return stand.begin()


@fault("done", "done", "done", "not applied", "not applied")
def the_answer_is_lost_before_the_commit(stand: Stand) -> Cells:
    return behaving(stand, lose_answer="before_commit", times=1)


@fault("done", "done", "done", "done", "applied")
def the_answer_is_lost_after_the_commit(stand: Stand) -> Cells:
    return behaving(stand, lose_answer="after_commit", times=1)


@fault("done", "done", "done", "done", "applied")
def the_first_request_is_still_in_flight_after_a_kill(stand: Stand) -> Cells:
    cells = behaving(stand, slow_ms=2500, times=1)
    stand.wait(lambda: all(cell.arrived() for cell in cells.values()), "all requests")
    stand.a.kill()
    stand.a.start()
    # Whoever looks before the slow request is through is told the truth of that moment only.
    stand.wait(lambda: all(cell.effects() for cell in cells.values() if cell.kind.changes), "all effects")
    return cells


@fault("done", "alarm", "alarm", "alarm", "alarm")
def the_receiver_says_that_the_key_came_with_another_body(stand: Stand) -> Cells:
    return behaving(stand, refuse={"status": 422, "code": "idempotency_key_reused", "store": False}, times=1)


@fault("done", "done", "done", "done", "applied")
def an_error_5xx_after_the_commit_is_stored_and_replayed(stand: Stand) -> Cells:
    """The first answer that says that it is a stored one ends the sending."""
    cells = behaving(stand, fail={"status": 500, "when": "after_commit", "store": True})
    stand.wait(lambda: all(cell.settled() for cell in cells.values()), "all ends")
    assert len(cells[KEYED].requests()) == 2
    return cells


@fault("done", "done", "stays", "not applied", "not applied", long=True)
def an_error_5xx_before_the_commit_is_stored_and_replayed(stand: Stand) -> Cells:
    return behaving(stand, fail={"status": 500, "when": "before_commit", "store": True}, times=1)


@fault("done", "done", "done", "not applied", "not applied")
def an_error_5xx_before_the_commit_is_not_stored(stand: Stand) -> Cells:
    return behaving(stand, fail={"status": 503, "when": "before_commit", "store": False}, times=1)


@fault("done", "done", "done", "done", "applied", long=True)
def an_error_5xx_after_the_commit_is_not_stored(stand: Stand) -> Cells:
    return behaving(stand, fail={"status": 500, "when": "after_commit", "store": False}, times=1)


@fault("done", "done", "done", "done", "applied")
def the_key_s_lifetime_is_over_and_it_was_applied(stand: Stand) -> Cells:
    worker = forgetful(stand)
    gates = stand.gates("applied")
    cells = stand.begin()
    for gate in gates:
        gate.wait()
    worker.kill()
    for gate in gates:
        gate.release()
    time.sleep(LONGER_S)
    worker.start()
    stand.wait(lambda: all(cell.settled() for cell in cells.values()), "all ends")
    assert len(cells[KEYED].requests()) == 1
    return cells


@fault("done", "done", "not applied", "not applied", "not applied", long=True)
def the_key_s_lifetime_is_over_and_it_was_not_applied(stand: Stand) -> Cells:
    worker = forgetful(stand)
    gates = stand.gates("arrived")
    cells = stand.begin()
    for gate in gates:
        gate.wait()
    worker.kill()
    stand.stack.receiver_process.kill()
    time.sleep(LONGER_S)
    stand.stack.receiver_process.start()
    worker.start()
    stand.wait(lambda: all(cell.settled() for cell in cells.values()), "all ends")
    assert len(cells[KEYED].requests()) == 1
    return cells


def forgetful(stand: Stand) -> Process:
    """A worker, and a receiver, that count on short-lived keys."""
    stand.behave("charge", key_lifetime_s=LIFETIME_S)
    worker = stand.third({"PAWL_KEY_LIFETIME_S": str(LIFETIME_S)})
    stand.lead_to(worker)
    return worker
