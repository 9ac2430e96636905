"""A report in parts: what may stand together does, what may not is refused."""

import json
from typing import Any

import pytest

from lab.cells import Group
from lab.errors import UsageError
from lab.merging import merged
from lab.results import report
from tests.lab.test_results import BAD, GOOD, result

ABOUT = {"versions": {"restate_server": "1.7.12"}, "machine": {"processors": 2}, "seed": 1, "trials": 1}


def told(*results: Any, started_at: float = 100.0, **more: Any) -> dict[str, Any]:
    about = {**ABOUT, "started_at": started_at, "seconds": 10.0, "left_out": [], **more}
    return dict(json.loads(json.dumps(report(list(results), about))))


def test_cells_that_were_not_played_now_stay_and_groups_keep_their_order() -> None:
    control = told(result(GOOD, group=Group.CONTROL, target="keyed"))
    both = merged(control, told(result(GOOD), started_at=200.0))
    assert [cell["group"] for cell in both["cells"]] == ["pawl", "control"]
    assert both["summary"] == {"cells": 2, "trials": 2, "as_promised": 2, "red": []}
    assert (both["started_at"], both["seconds"]) == (100.0, 20.0)


def test_a_cell_that_was_played_again_is_the_new_one() -> None:
    good, bad = told(result(GOOD)), told(result(BAD))
    assert merged(good, bad)["summary"]["red"] == ["pawl/charge/worker-kill/applied"]
    assert merged(bad, good)["summary"]["red"] == []
    assert len(merged(good, bad)["cells"]) == 1


def test_peers_are_not_red_whatever_they_do() -> None:
    peer = told(result(BAD, group=Group.CONTESTANT, target="other"))
    assert merged(told(result(GOOD)), peer)["summary"] == {"cells": 2, "trials": 2, "as_promised": 1, "red": []}


def test_published_scenarios_that_were_not_played_now_keep_their_counts() -> None:
    played = told()
    played["published"]["rows"][1] |= {"cell": "plain/receipt/worker-kill/recorded", "agree": "1 of 1"}
    assert merged(played, told())["published"]["rows"][1]["agree"] == "1 of 1"
    assert merged(told(), played)["published"]["rows"][1]["agree"] == "1 of 1"


@pytest.mark.parametrize(
    "other", [{"seed": 2}, {"trials": 3}, {"versions": {}}, {"machine": {}}], ids=lambda each: next(iter(each))
)
def test_what_was_measured_otherwise_does_not_stand_beside_it(other: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=f"other {next(iter(other))}"):
        merged(told(result(GOOD), **other), told(result(GOOD)))
