"""Which node of the cluster leads a run: the one that has begun most invocations since.

Rule: the nodes' own counters say so. What is called under one key is one partition's, and a partition has one leader. A
run begins with two calls; what the workers do beside it, now and then, is one.
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
        """The container of the node that has begun most invocations since. Raises LabError where two are level."""
        now = self._counters()
        first, second, *_ = sorted(now, key=lambda node: self._before[node] - now[node])
        begun = {node: now[node] - self._before[node] for node in (first, second)}
        if begun[first] <= begun[second]:
            raise LabError(f"{first} and {second} have begun as many invocations, so it is not known which leads")
        return first

    def _counters(self) -> dict[str, float]:
        nodes = [self._project.node(number) for number in range(1, NODES + 1)]
        ask = ("curl", "-fsS", "http://127.0.0.1:5122/metrics")
        return {node: begun_of(self._project.execute(node, *ask)) for node in nodes}
