"""A cluster's further nodes: two more restate-servers that, with the stack's own, make three.

Rule: three processes on this machine, each with ports, data and a name of its own, so that one can be killed while the
others go on. Each effect of a run is recorded by two of them.
Must not know: what runs on the cluster.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lab import server
from lab.errors import LabError
from lab.ports import HOST, Ports, all_free
from lab.process import Process
from lab.remotes import Admin, Remote

GRACE_S = 1.0


@dataclass(frozen=True, slots=True)
class Node:
    """One node. `number` counts from 1."""

    number: int
    process: Process
    ports: Ports


class Nodes:
    """Ports and settings of all nodes, and the processes of all but the first, which is the stack's own server."""

    def __init__(self, folder: Path, binary: Path, count: int) -> None:
        self.ports = [all_free() for _ in range(count)]
        self.first_env = self._env(1)
        self.others = tuple(
            Node(number, self._process(number, folder, binary), self.ports[number - 1])
            for number in range(2, count + 1)
        )

    def spawn(self) -> None:
        """Start the others; they wait for the first."""
        for node in self.others:
            node.process.spawn()

    def close(self) -> None:
        for node in self.others:
            node.process.end(GRACE_S)

    def _env(self, number: int) -> Mapping[str, str]:
        return {
            "RESTATE_NODE_NAME": f"pawl-{number}",
            "RESTATE_AUTO_PROVISION": "true" if number == 1 else "false",
            "RESTATE_DEFAULT_REPLICATION": "2",
            "RESTATE_METADATA_CLIENT__ADDRESSES": json.dumps([f"http://{HOST}:{each.node}/" for each in self.ports]),
        }

    def _process(self, number: int, folder: Path, binary: Path) -> Process:
        name = f"restate-server-{number}"
        ports = self.ports[number - 1]
        admin = Admin("admin API", f"http://{HOST}:{ports.admin}")
        log = folder / "logs" / f"{name}.log"
        made = server.command(binary, folder / name, ports, log, lambda: admin.answers("/health"))
        return Process(replace(made, name=name, env={**made.env, **self._env(number)}))


class Invocations:
    """How many invocations each node has begun, by its own counters. The node that begins those of a run leads it:
    what is called under one key is one partition's."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._nodes = nodes
        self._before = {node.number: begun(node) for node in nodes}

    def leader(self) -> Node:
        """The node that has begun invocations since. Raises LabError where it is not one."""
        busy = [node for node in self._nodes if begun(node) > self._before[node.number]]
        if len(busy) != 1:
            raise LabError(f"{len(busy)} nodes have begun invocations, so it is not known which one leads the run")
        return busy[0]


def begun(node: Node) -> float:
    """The counter of one node, over all partitions."""
    with Remote(node.process.command.name, f"http://{HOST}:{node.ports.node}") as remote:
        return begun_of(remote.call("GET", "/metrics").text)


def begun_of(metrics: str) -> float:
    """The same, from a node's own page of metrics."""
    return sum(float(value) for value in _INVOKED.findall(metrics))


_INVOKED = re.compile(r'^restate_usage_leader_action_count_total\{.*action="Invoke".*\} ([0-9.]+)$', re.MULTILINE)
