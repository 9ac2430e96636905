"""What stands around the worker is killed: the receiver, the server, several at once."""

import time

from lab.process import Process
from lab.relay import Relay
from mocks.rows import GatePoint
from tests.server.faults.answers import behaving
from tests.server.faults.known import Cells, fault
from tests.server.stand import Stand


@fault("done", "done", "done", "done", "done", long=True)
def the_receiver_is_away_and_comes_back(stand: Stand) -> Cells:
    door = Relay(stand.stack.ports.receiver)
    stand.lead_to(stand.third({"PAWL_RECEIVER_URL": door.url}))
    gate = stand.model_gate("arrived", times=len(stand.kinds))
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
