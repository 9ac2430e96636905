"""The worker is frozen, or cut off, while another takes over."""

import time

from lab import pids
from lab.process import Process
from tests.server.faults.known import Cells, fault
from tests.server.stand import Held, Stand, Way


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


@fault("done", "done", "done", "done", "applied", long=True)
def frozen_when_it_was_answered_and_not_recorded(stand: Stand) -> Cells:
    gates = stand.gates("applied")
    cells = stand.begin()
    for gate in gates:
        gate.wait()
    told_late(stand, gates)
    return thawed(stand, cells)


@fault("done", "done", "done", "not applied", "not applied")
def frozen_after_the_seal_and_thawed_past_the_send_deadline(stand: Stand) -> Cells:
    """The worker that slept would send as soon as it wakes up."""
    cells = sealed(stand)
    stand.a.freeze()
    stand.relay.aim(stand.b.command.port)
    # It waits in the frozen worker's socket: what it reads first when it is thawed is that it may go on.
    stand.relay.release()
    return thawed(stand, cells)


@fault("done", "done", "done", "done", "done", long=True)
def frozen_in_the_model_call_and_thawed_later(stand: Stand) -> Cells:
    gate = stand.model_gate("arrived", times=len(stand.kinds))
    cells = stand.begin()
    gate.wait()
    stand.a.freeze()
    stand.relay.aim(stand.b.command.port)
    gate.release()
    return asked_once_more_at_most(stand, thawed(stand, cells))


@fault("done", "done", "done", "done", "done", long=True)
def frozen_when_the_model_had_replied_and_it_was_not_recorded(stand: Stand) -> Cells:
    gate = stand.model_gate("applied", times=len(stand.kinds))
    cells = stand.begin()
    gate.wait()
    told_late(stand, [gate])
    return asked_once_more_at_most(stand, thawed(stand, cells))


def asked_once_more_at_most(stand: Stand, cells: Cells) -> Cells:
    """Of two replies of the model, one was asked for by both workers."""
    assert all(stand.model_requests(cell.run_id) <= 3 for cell in cells.values())
    return cells


@fault("done", "done", "done", "done", "applied")
def cut_off_by_lost_packets_as_it_sends(stand: Stand) -> Cells:
    """Both workers are awake, and neither knows of the other."""
    cells = sealed(stand)
    stand.relay.aim(stand.b.command.port)
    stand.relay.hold(Way.TO_SERVER)
    stand.relay.release(Way.TO_WORKER)
    stand.relay.blackhole()
    stand.relay.release()
    stand.wait(lambda: all(cell.arrived() for cell in cells.values()), "what the lonely worker sends")
    return thawed(stand, cells)


def told_late(stand: Stand, gates: list[Held]) -> None:
    """The worker is frozen with an answer that it has read; what it says of it is kept on the line."""
    stand.relay.hold(Way.TO_SERVER)
    answered = time.monotonic()
    for gate in gates:
        gate.release()
    stand.relay.wait_held(Way.TO_SERVER, streams=len(stand.kinds), since=answered)
    stand.a.freeze()
    stand.relay.aim(stand.b.command.port)
    stand.relay.keep()


def sealed(stand: Stand) -> Cells:
    """All runs of it have their seals recorded, and the worker is not told so."""
    gate = stand.model_gate("applied", times=len(stand.kinds))
    cells = stand.begin()
    gate.wait()
    stand.relay.hold(Way.TO_WORKER, after=1)
    gate.release()
    stand.relay.wait_held(Way.TO_WORKER, streams=len(stand.kinds))
    return cells


def thawed(stand: Stand, cells: Cells) -> Cells:
    """The other worker has come as far as it can; then the first one wakes up, and changes nothing any more."""
    stand.wait(lambda: all(cell.settled() for cell in cells.values()), "all ends", wait_s=40)
    states = [cell.status()["state"] for cell in cells.values()]
    applied = [cell.applied() for cell in cells.values()]
    stand.relay.release()
    stand.back()
    time.sleep(1.0)
    stand.wait(lambda: idle(stand.a), "the end of what the first worker still does")
    assert stand.a.alive and stand.a.command.ready()
    assert [cell.status()["state"] for cell in cells.values()] == states
    assert [cell.applied() for cell in cells.values()] == applied
    return cells


def idle(process: Process, for_s: float = 0.3, at_most_s: float = 0.05) -> bool:
    """It does not spin: for a while it has used next to nothing of a processor."""
    used_s = pids.cpu_s(process.pid)
    time.sleep(for_s)
    return pids.cpu_s(process.pid) - used_s <= at_most_s
