"""Words for a person, at the terminal, in the README and on the page: what the faults are called, how a number stands
before its noun, and the sentence for a matrix in which nothing is red. Pure."""

from collections.abc import Collection, Mapping

from lab.cells import Group

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

WELL: Mapping[Group, str] = {
    Group.PUBLISHED: "the published scenarios with the counts that they must have",
    Group.PAWL: "Pawl as its classes promise",
    Group.CONTROL: "controls failing where they must",
    Group.OWN: "your target as its file promises",
}
"""What it means of a group that all is well. Peers do not decide."""


def all_well(groups: Collection[str]) -> str:
    """The sentence for a matrix in which nothing is red, about the groups that were played."""
    said = [words for group, words in WELL.items() if group in groups]
    if not said:
        return "Nothing is red: what peers do does not decide."
    return f"Every cell that was played is as it must be: {', '.join(said)}."


def count(number: int, one: str, many: str = "") -> str:
    """A number before its noun: `many` where it is not the noun with an s."""
    return f"{number} {one if number == 1 else many or f'{one}s'}"
