"""What goes wrong, each as a function that starts a run of every class and brings the fault at its point.

Each is noted with what is expected of the five classes: read, set, keyed, once with find, once without. The words:
`done`: the run completes by itself, with one effect. `applied`, `not applied`: it waits for a person, and so it is at
the receiver; told the truth it completes with one effect. `alarm`: it waits, nothing was applied, and it says that
this is our own mistake. `stays`: told that it did not happen it waits again, because the receiver answers from its
record.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

from lab.process import Process
from lab.relay import Relay
from mocks.rows import GatePoint
from tests.server.stand import KEYED, KINDS, READ, SET, Cell, Kind, Stand, Way

Cells = dict[Kind, Cell]
Fault = Callable[[Stand], Cells]


@dataclass(frozen=True)
class Known:
    """A fault, what is expected of each class, and whether it is left to the longer tests."""

    act: Fault
    expected: tuple[str, ...]
    long: bool


FAULTS: dict[str, Known] = {}


def fault(*expected: str, long: bool = False) -> Callable[[Fault], Fault]:
    def note(act: Fault) -> Fault:
        assert len(expected) == len(KINDS)
        FAULTS[act.__name__] = Known(act, expected, long)
        return act

    return note


# The worker is killed


@fault("done", "done", "done", "done", "done")
def killed_before_the_seal(stand: Stand) -> Cells:
    gate = stand.model_gate("arrived", times=5)
    cells = stand.begin()
    gate.wait()
    stand.a.kill()
    gate.release()
    stand.a.start()
    return cells


@fault("done", "done", "done", "not applied", "not applied")
def killed_after_the_seal_before_leaving(stand: Stand) -> Cells:
    gate = stand.model_gate("applied", times=5)
    cells = stand.begin()
    gate.wait()
    before = len(stand.stack.receiver.requests())
    # What the worker hears next is that the reply is recorded; after that, that the seal is. The latter is held.
    stand.relay.hold(Way.TO_WORKER, after=1)
    gate.release()
    stand.relay.wait_held(Way.TO_WORKER, streams=5)
    # The read has no seal: it is what arrived.
    assert len(stand.stack.receiver.requests()) == before + 1
    stand.a.kill()
    stand.relay.cut()
    stand.a.start()
    return cells


@fault("done", "done", "done", "done", "applied")
def killed_while_it_was_received_and_not_applied(stand: Stand) -> Cells:
    return killed_at(stand, "arrived")


@fault("done", "done", "done", "done", "applied")
def killed_when_it_was_applied_and_not_answered(stand: Stand) -> Cells:
    return killed_at(stand, "applied")


def killed_at(stand: Stand, point: GatePoint) -> Cells:
    gates = stand.gates(point)
    cells = stand.begin()
    for gate in gates:
        gate.wait()
    stand.a.kill()
    for gate in gates:
        gate.release()
    stand.a.start()
    return cells


@fault("done", "done", "done", "done", "applied")
def killed_when_it_was_answered_and_not_recorded(stand: Stand) -> Cells:
    gates = stand.gates("applied")
    cells = stand.begin()
    for gate in gates:
        gate.wait()
    stand.relay.hold(Way.TO_SERVER)
    answered = time.monotonic()
    for gate in gates:
        gate.release()
    stand.relay.wait_held(Way.TO_SERVER, streams=5, since=answered)
    stand.a.kill()
    stand.relay.cut()
    stand.a.start()
    return cells


@fault("done", "done", "done", "done", "done")
def killed_when_it_was_recorded(stand: Stand) -> Cells:
    gates = stand.gates("applied")
    cells = stand.begin()
    for gate in gates:
        gate.wait()
    model = stand.model_gate("arrived", times=5)
    for gate in gates:
        gate.release()
    model.wait()
    stand.a.kill()
    model.release()
    stand.a.start()
    return cells


@fault("done", "done", "done", "done", "applied", long=True)
def killed_twice_in_the_same_step(stand: Stand) -> Cells:
    gates = stand.gates("applied")
    cells = stand.begin()
    for gate in gates:
        gate.wait()
    stand.a.kill()
    again = stand.gates("applied", READ, SET, KEYED)
    for gate in gates:
        gate.release()
    stand.a.start()
    for gate in again:
        gate.wait()
    stand.a.kill()
    for gate in again:
        gate.release()
    stand.a.start()
    return cells


# The answer


def behaving(stand: Stand, **behaviour: object) -> Cells:
    for kind in KINDS:
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
    return behaving(stand, fail={"status": 500, "when": "after_commit", "store": True})


@fault("done", "done", "stays", "not applied", "not applied", long=True)
def an_error_5xx_before_the_commit_is_stored_and_replayed(stand: Stand) -> Cells:
    return behaving(stand, fail={"status": 500, "when": "before_commit", "store": True}, times=1)


@fault("done", "done", "done", "not applied", "not applied")
def an_error_5xx_before_the_commit_is_not_stored(stand: Stand) -> Cells:
    return behaving(stand, fail={"status": 503, "when": "before_commit", "store": False}, times=1)


@fault("done", "done", "done", "done", "applied", long=True)
def an_error_5xx_after_the_commit_is_not_stored(stand: Stand) -> Cells:
    return behaving(stand, fail={"status": 500, "when": "after_commit", "store": False}, times=1)


# The key's lifetime

LIFETIME_S = 2.0
LONGER_S = 3.0
"""Longer than the key's lifetime."""


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


# The worker is frozen, or cut off, while another takes over


@fault("done", "done", "done", "done", "applied")
def frozen_when_it_was_applied_and_thawed_later(stand: Stand) -> Cells:
    gates = stand.gates("applied")
    cells = stand.begin()
    for gate in gates:
        gate.wait()
    stand.a.freeze()
    stand.relay.aim(stand.b.command.port)
    for gate in gates:
        gate.release()
    return thawed(stand, cells)


@fault("done", "done", "done", "not applied", "not applied")
def frozen_after_the_seal_and_thawed_past_the_send_deadline(stand: Stand) -> Cells:
    cells = sealed(stand)
    stand.a.freeze()
    stand.relay.aim(stand.b.command.port)
    # It waits in the frozen worker's socket: what it reads first when it is thawed is that it may go on.
    stand.relay.release()
    return thawed(stand, cells)


@fault("done", "done", "done", "done", "done", long=True)
def frozen_in_the_model_call_and_thawed_later(stand: Stand) -> Cells:
    gate = stand.model_gate("arrived", times=5)
    cells = stand.begin()
    gate.wait()
    stand.a.freeze()
    stand.relay.aim(stand.b.command.port)
    gate.release()
    thawed(stand, cells)
    assert all(stand.model_requests(cell.run_id) <= 3 for cell in cells.values())
    return cells


@fault("done", "done", "done", "done", "applied")
def cut_off_by_lost_packets_as_it_sends(stand: Stand) -> Cells:
    cells = sealed(stand)
    stand.relay.aim(stand.b.command.port)
    stand.relay.hold(Way.TO_SERVER)
    stand.relay.release(Way.TO_WORKER)
    stand.relay.blackhole()
    stand.relay.release()
    stand.wait(lambda: all(cell.arrived() for cell in cells.values()), "what the lonely worker sends")
    return thawed(stand, cells)


def sealed(stand: Stand) -> Cells:
    """All runs of it have their seals recorded, and the worker is not told so."""
    gate = stand.model_gate("applied", times=5)
    cells = stand.begin()
    gate.wait()
    stand.relay.hold(Way.TO_WORKER, after=1)
    gate.release()
    stand.relay.wait_held(Way.TO_WORKER, streams=5)
    return cells


def thawed(stand: Stand, cells: Cells) -> Cells:
    """The other worker has come as far as it can; then the first one wakes up, and changes nothing any more."""
    stand.wait(lambda: all(cell.settled() for cell in cells.values()), "all ends", wait_s=40)
    states = [cell.status()["state"] for cell in cells.values()]
    applied = [cell.applied() for cell in cells.values()]
    stand.back()
    time.sleep(1.0)
    assert stand.a.alive and stand.a.command.ready()
    assert [cell.status()["state"] for cell in cells.values()] == states
    assert [cell.applied() for cell in cells.values()] == applied
    return cells


# The receiver, the server, several at once


@fault("done", "done", "done", "done", "done", long=True)
def the_receiver_is_away_and_comes_back(stand: Stand) -> Cells:
    door = Relay(stand.stack.ports.receiver)
    stand.lead_to(stand.third({"PAWL_RECEIVER_URL": door.url}))
    gate = stand.model_gate("arrived", times=5)
    cells = stand.begin()
    gate.wait()
    gate.release()
    time.sleep(0.4)
    assert not any(cell.arrived() for cell in cells.values())
    with door:
        stand.wait(lambda: all(cell.settled() for cell in cells.values()), "all ends")
    return cells


@fault("done", "done", "done", "not applied", "not applied", long=True)
def the_receiver_is_killed_before_it_applied(stand: Stand) -> Cells:
    return killed_around(stand, "arrived", stand.stack.receiver_process)


@fault("done", "done", "done", "not applied", "not applied", long=True)
def the_receiver_is_killed_while_it_works_on_it(stand: Stand) -> Cells:
    cells = behaving(stand, slow_ms=3000, times=1)
    stand.wait(lambda: all(cell.arrived() for cell in cells.values()), "all requests")
    stand.stack.receiver_process.kill()
    stand.stack.receiver_process.start()
    return cells


@fault("done", "done", "done", "done", "applied")
def the_receiver_is_killed_when_it_had_applied(stand: Stand) -> Cells:
    return killed_around(stand, "applied", stand.stack.receiver_process)


@fault("done", "done", "done", "done", "applied")
def the_server_is_killed_when_it_was_applied(stand: Stand) -> Cells:
    return killed_around(stand, "applied", stand.stack.server)


@fault("done", "done", "done", "done", "applied", long=True)
def worker_and_receiver_are_killed_when_it_was_applied(stand: Stand) -> Cells:
    return killed_around(stand, "applied", stand.a, stand.stack.receiver_process)


@fault("done", "done", "done", "done", "applied", long=True)
def worker_and_server_are_killed_when_it_was_applied(stand: Stand) -> Cells:
    return killed_around(stand, "applied", stand.a, stand.stack.server)


def killed_around(stand: Stand, point: GatePoint, *processes: Process) -> Cells:
    gates = stand.gates(point)
    cells = stand.begin()
    for gate in gates:
        gate.wait()
    for process in processes:
        process.kill()
    if stand.stack.receiver_process not in processes:
        for gate in gates:
            gate.release()
    for process in reversed(processes):
        process.start()
    return cells
