"""What the lab writes for programs is described: every field of its files stands in docs/lab.md."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from lab import storm
from lab.paths import ROOT
from lab.results import report
from lab.storm_judge import Landed, Seen, judge
from lab.storm_plan import Kind, Strike
from lab.window_sums import Kills, Series, Width, told
from tests.lab.test_results import GOOD, result

ABOUT = dict.fromkeys(("started_at", "seconds", "seed", "versions", "machine"))


def described(file: str) -> set[str]:
    """The words in code style below the heading of a file."""
    text = (ROOT / "docs" / "lab.md").read_text(encoding="utf-8")
    _, _, rest = text.partition(f"\n## {file}\n")
    assert rest, f"docs/lab.md has no part about {file}"
    marked = " ".join(re.findall(r"`([^`]+)`", rest.partition("\n## ")[0]))
    return set(re.findall(r"\w+", marked))


def fields(of: Any) -> set[str]:
    """The names of a JSON object and of those in its lists."""
    found: set[str] = set()
    for each in of if isinstance(of, list) else [of]:
        if isinstance(each, dict):
            found |= set(each).union(*(fields(value) for value in each.values() if isinstance(value, list)))
    return found


def test_report_json() -> None:
    more = {"trials": 1, "left_out": []}
    made = json.loads(json.dumps(report([result(GOOD)], {**ABOUT, **more})))
    made["published"]["rows"] = []
    wanted = fields(made) | fields(made["summary"]) | fields(made["published"])
    assert wanted - described("report.json") == set()


def test_storm_json(tmp_path: Path) -> None:
    seen = Seen((), (Landed(Strike(1.0, Kind.KILL, "server"), 2.0, True, "it died"),), (), ())
    storm.write(tmp_path, seen, judge(seen), {**ABOUT, "runs": 1, "storm_s": 1, "again": ""})
    made = json.loads((tmp_path / "storm.json").read_text(encoding="utf-8"))
    wanted = fields(made) | fields(made["strikes"][0]["strike"]) | {"landed", "of"}
    assert wanted - described("storm.json") == set()


@pytest.mark.parametrize("kills", [None, Kills("no key", 3, 5, 1)], ids=["measured", "killed as well"])
def test_window_json(kills: Kills | None) -> None:
    made = {**ABOUT, **told([Series("one", (Width("t1", 1.0, 2.0, 3.0),), 1.0, 0)], kills)}
    series = made["series"][0]
    wanted = fields(made) | fields(made["kills"]) | fields(series["untold"]) | fields(series["worker"])
    assert wanted - described("window.json") == set()
