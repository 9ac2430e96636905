"""What the faults are called where a person reads of them: in the README and on the page. Pure data."""

from collections.abc import Mapping

WORDS: Mapping[str, str] = {
    "no-fault": "nothing",
    "worker-kill": "worker killed",
    "worker-kill-twice": "worker killed twice in one step",
    "worker-freeze": "worker frozen until another has finished",
    "worker-freeze-late": "worker frozen past its send deadline",
    "worker-redeploy": "worker asked to end, and replaced",
    "server-kill": "server killed",
    "both-kill": "worker and server killed at once",
    "leader-kill": "leading node of three killed",
    "receiver-kill": "receiver killed",
    "model-kill": "model killed",
    "answer-lost": "answer lost",
    "line-cut": "line between worker and server cut",
    "line-dead": "line between worker and server dead",
    "restarted-scratch": "killed and restarted as new",
    "restarted-cuts": "restarted as new from every index",
    "restarted-ended": "ended run restarted from every index",
    "submitted-twice": "same request four times",
    "asked-again": "model asks again after an unknown outcome",
    "drift-amount": "model asks for another amount",
    "drift-words": "model words it differently",
    "key-expired": "receiver forgets the key meanwhile",
    "keys-ignored": "receiver takes no notice of keys",
    "written-since": "record written by somebody else meanwhile",
    "written-version": "record written meanwhile, request with a version",
}
