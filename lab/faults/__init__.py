"""Every fault by its name: a short story in the verbs of a trial.

Rule: the table is complete; a fault without a story is an error when this is imported.
"""

from collections.abc import Mapping

from lab.cells import Fault
from lab.faults import lines, people, processes
from lab.faults.common import Act, no_fault

FAULTS: Mapping[Fault, Act] = {
    Fault.NONE: no_fault,
    Fault.WORKER_KILL: processes.worker_kill,
    Fault.WORKER_KILL_TWICE: processes.worker_kill_twice,
    Fault.WORKER_FREEZE: processes.worker_freeze,
    Fault.WORKER_FREEZE_LATE: processes.worker_freeze_late,
    Fault.WORKER_REDEPLOY: processes.worker_redeploy,
    Fault.SERVER_KILL: processes.server_kill,
    Fault.BOTH_KILL: processes.both_kill,
    Fault.LEADER_KILL: processes.leader_kill,
    Fault.RECEIVER_KILL: processes.mock_kill(lambda trial: trial.ground.stack.receiver_process),
    Fault.MODEL_KILL: processes.mock_kill(lambda trial: trial.ground.stack.model_process),
    Fault.ANSWER_LOST: lines.answer_lost,
    Fault.LINE_CUT: lines.line_cut,
    Fault.LINE_DEAD: lines.line_dead,
    Fault.RESTARTED_SCRATCH: people.restarted_scratch,
    Fault.RESTARTED_CUTS: people.restarted_cuts,
    Fault.RESTARTED_ENDED: people.restarted_ended,
    Fault.SUBMITTED_TWICE: people.submitted_twice,
    Fault.ASKED_AGAIN: people.asked_again,
    Fault.DRIFT_AMOUNT: people.drift_amount,
    Fault.DRIFT_WORDS: people.drift_words,
    Fault.KEY_EXPIRED: people.key_expired,
    Fault.KEYS_IGNORED: people.keys_ignored,
    Fault.WRITTEN_SINCE: people.written_since,
    Fault.WRITTEN_VERSION: people.written_version,
}
assert FAULTS.keys() == set(Fault)
