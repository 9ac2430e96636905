"""The worker is killed at each point of an effect."""

import time
from collections.abc import Callable

from mocks.rows import GatePoint
from tests.server.faults.known import Cells, fault
from tests.server.stand import FOUND, ONCE, Stand, Way


@fault("done", "done", "done", "done", "done")
def killed_before_the_seal(stand: Stand) -> Cells:
    gate = stand.model_gate("arrived", times=len(stand.kinds))
    cells = stand.begin()
    gate.wait()
    stand.a.kill()
    gate.release()
    stand.a.start()
    return cells


@fault("done", "done", "done", "not applied", "not applied")
def killed_after_the_seal_before_leaving(stand: Stand) -> Cells:
    gate = stand.model_gate("applied", times=len(stand.kinds))
    cells = stand.begin()
    gate.wait()
    before = len(stand.stack.receiver.requests())
    # What the worker hears next is that the reply is recorded; after that, that the seal is. The latter is held.
    stand.relay.hold(Way.TO_WORKER, after=1)
    gate.release()
    stand.relay.wait_held(Way.TO_WORKER, streams=len(stand.kinds))
    # A read has no seal: it is what arrived.
    assert len(stand.stack.receiver.requests()) == before + sum(not kind.changes for kind in stand.kinds)
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
    return ended_at(stand, point, stand.a.kill)


def ended_at(stand: Stand, point: GatePoint, end: Callable[[], None]) -> Cells:
    gates = stand.gates(point)
    cells = stand.begin()
    for gate in gates:
        gate.wait()
    end()
    for gate in gates:
        gate.release()
    stand.a.start()
    return cells


@fault("done", "done", "done", "done", "applied")
def asked_to_end_and_cut_as_the_step_goes_on_too_long(stand: Stand) -> Cells:
    def asked() -> None:
        assert stand.a.end(), "the worker was to leave by itself, with its steps cut"

    return ended_at(stand, "applied", asked)


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
    stand.relay.wait_held(Way.TO_SERVER, streams=len(stand.kinds), since=answered)
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
    model = stand.model_gate("arrived", times=len(stand.kinds))
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
    again = stand.gates("applied", *(kind for kind in stand.kinds if kind not in (FOUND, ONCE)))
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
