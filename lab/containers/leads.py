"""Which node of the cluster leads a run: the one that has begun invocations since.

Rule: the nodes' own counters say so. What is called under one key is one partition's, and a partition has one leader.
"""

from lab.containers.project import NODES, Project
from lab.errors import LabError
from lab.nodes import begun_of


class Leads:
    """The counters at one moment."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._before = self._counters()

    def since(self) -> str:
        """The container of the node that has begun invocations since. Raises LabError where it is not one."""
        now = self._counters()
        busy = [node for node, count in now.items() if count > self._before[node]]
        if len(busy) != 1:
            raise LabError(f"{len(busy)} nodes have begun invocations, so it is not known which one leads the run")
        return busy[0]

    def _counters(self) -> dict[str, float]:
        nodes = [self._project.node(number) for number in range(1, NODES + 1)]
        ask = ("curl", "-fsS", "http://127.0.0.1:5122/metrics")
        return {node: begun_of(self._project.execute(node, *ask)) for node in nodes}
