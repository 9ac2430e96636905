"""The dashboard asks for metrics that there are; a port that is taken is a sentence."""

import json
import re
import socket
from pathlib import Path

import pytest

from services.busy import Busy
from services.metrics import Metrics, PortTaken, started

DASHBOARD = Path(__file__).parents[2] / "docs" / "grafana.json"


def test_the_dashboard_asks_for_metrics_that_there_are() -> None:
    board = json.loads(DASHBOARD.read_text())
    asked = {
        name
        for panel in board["panels"]
        for target in panel["targets"]
        for name in re.findall(r"pawl_\w+", target["expr"])
    }
    kinds = {family.name: family.type for family in Metrics(Busy()).registry.collect()}
    suffixes = {"counter": "_total", "histogram": "_bucket"}
    assert asked == {name + suffixes.get(kind, "") for name, kind in kinds.items() if name.startswith("pawl_")}


def test_a_port_that_is_taken_is_a_sentence_that_names_the_setting() -> None:
    assert started(None, Busy()) is None
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(PortTaken, match="PAWL_METRICS"):
            started(f"127.0.0.1:{taken.getsockname()[1]}", Busy())
