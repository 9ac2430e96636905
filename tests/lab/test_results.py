"""What cells come to: worst of the trials, report.json, junit.xml, histories that are read again."""

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from lab import history
from lab.board import table, verdict
from lab.cells import Counts, Group, Verdict
from lab.checker import Judgement, Result, judge
from lab.jobs import JOBS
from lab.published import PUBLISHED
from lab.results import CellResult, TrialResult, junit, printable, red, report
from tests.lab.histories import cell, ledger, request, run, sane
from tests.lab.histories import history as seen

GOOD = Judgement(Verdict.ONCE, Result.AS_PROMISED, (), Counts(2, 2, 1))
BAD = Judgement(Verdict.DUPLICATED, Result.NOT_AS_PROMISED, ("2 effects were applied",), Counts(2, 2, 2))
UNTOLD = Judgement(Verdict.INVALID, Result.CANNOT_TELL, ("0 of 1 faults landed",))


def result(*judgements: Judgement, group: Group = Group.PAWL, target: str = "pawl") -> CellResult:
    trials = tuple(
        TrialResult(number, 7, judgement, float(number), f"histories/{number}.json")
        for number, judgement in enumerate(judgements, 1)
    )
    return CellResult(cell(group=group, target=target), "Pawl", JOBS["charge"], trials)


@pytest.mark.parametrize(
    ("judgements", "verdict_is", "result_is", "agree"),
    [
        ((GOOD, GOOD, GOOD), Verdict.ONCE, Result.AS_PROMISED, 3),
        ((GOOD, BAD, GOOD), Verdict.DUPLICATED, Result.NOT_AS_PROMISED, 1),
        ((GOOD, UNTOLD, BAD), Verdict.INVALID, Result.CANNOT_TELL, 1),
    ],
)
def test_the_worst_trial_makes_the_cell(
    judgements: tuple[Judgement, ...], verdict_is: Verdict, result_is: Result, agree: int
) -> None:
    made = result(*judgements)
    assert (made.verdict, made.result, made.agree) == (verdict_is, result_is, agree)


def test_counts_that_differ_are_shown_as_a_range() -> None:
    made = result(GOOD, BAD, UNTOLD)
    assert [made.counted(name) for name in ("model_calls", "received", "applied")] == ["2", "2", "1-2"]
    assert result(UNTOLD).counted("applied") == "-"


def test_only_peers_may_be_otherwise_than_promised() -> None:
    made = [result(BAD, group=group) for group in Group]
    assert {each.cell.group for each in red(made)} == set(Group) - {Group.CONTESTANT}
    assert red([result(UNTOLD)]) and not red([result(GOOD)])


def test_the_report_has_what_its_schema_says() -> None:
    told = json.loads(json.dumps(report([result(GOOD, BAD)], {"seconds": 1.0, "versions": {}})))
    assert told["schema"] == 1
    assert told["summary"] == {"cells": 1, "trials": 2, "as_promised": 0, "red": ["pawl/charge/worker-kill/applied"]}
    (first,) = told["cells"]
    assert {"id", "target", "tool", "fault", "point", "expected", "verdict", "trials"} <= first.keys()
    assert first["trials"][1] == {
        "trial": 2,
        "seed": 7,
        "verdict": "duplicated",
        "result": "not as promised",
        "model_calls": 2,
        "received": 2,
        "applied": 2,
        "recovered_s": 2.0,
        "findings": ["2 effects were applied"],
        "history": "histories/2.json",
        "replayed": None,
    }


def test_the_published_scenarios_stand_beside_what_was_counted() -> None:
    told = report([], {})["published"]
    assert [row["scenario"] for row in told["rows"]] == [scenario.label for scenario in PUBLISHED]
    assert told["rows"][1]["told"] == {"model_calls": 4, "received": 2, "applied": 2}
    assert told["rows"][1]["counted"]["applied"] == "-"


def test_junit_has_a_test_for_each_cell_and_tells_failures_from_errors() -> None:
    told = report([result(GOOD), result(BAD, group=Group.CONTROL), result(UNTOLD)], {"seconds": 3.0})
    tree = ET.fromstring(junit(told))
    suites = {suite.get("name"): suite for suite in tree}
    assert (suites["pawl"].get("tests"), suites["pawl"].get("failures"), suites["pawl"].get("errors")) == (
        "2",
        "0",
        "1",
    )
    assert suites["control"].get("failures") == "1"
    failure = suites["control"].find("testcase/failure")
    assert failure is not None and failure.get("message") == "duplicated in place of once"
    assert failure.text == "2 effects were applied"


def test_no_control_character_gets_into_the_xml() -> None:
    assert printable("a\x00b\x1b[0m\nc") == "a?b?[0m\nc"


def test_the_table_has_a_row_for_each_cell_and_says_what_was_expected() -> None:
    assert table(Group.PAWL, [result(GOOD), result(BAD)]).row_count == 2
    assert verdict(result(BAD)).plain == "duplicated, must be once"
    assert verdict(result(GOOD)).plain == "once"


def test_a_history_is_read_as_it_was_written(tmp_path: Path) -> None:
    made = seen(
        ledger(request(1)), run("outcome_unknown", decided="happened", newest={"a": 1}), after=ledger(), beside=("t1",)
    )
    for each in (sane(), made):
        file = tmp_path / "a" / "trial-1.json"
        history.write(each, file)
        assert history.read(file) == each
        assert judge(cell(), JOBS["charge"], history.read(file)) == judge(cell(), JOBS["charge"], each)
