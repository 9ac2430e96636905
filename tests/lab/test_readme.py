"""The README's table of results comes from report.json, between two marks."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from lab import readme
from lab.cells import Fault, Group
from lab.errors import UsageError
from lab.results import report
from lab.show import Show
from lab.words import WORDS
from tests.lab.test_results import BAD, GOOD, result

VERSIONS = {"restate_server": "1.7.12", "restate-sdk": "1.3.0", "python": "3.11.7"}


def told(*results: object) -> dict[str, object]:
    about = {"versions": VERSIONS, "trials": 1, "seed": 1, "seconds": 130.0, "machine": {"processors": 2}}
    return dict(json.loads(json.dumps(report(list(results), about))))  # type: ignore[arg-type]


def test_verdicts_stand_by_fault_and_class_and_what_is_not_as_promised_is_bold() -> None:
    text = readme.tables(told(result(GOOD), result(BAD)))
    assert "| worker killed | 1 | - | - | once or **duplicated** | - | - |" in text
    assert "2 cells, 1 trial each, seed 1, in 2 minutes on 2 processors: restate-server 1.7.12" in text


def test_controls_stand_by_the_point_of_the_kill() -> None:
    text = readme.tables(told(result(GOOD, group=Group.CONTROL, target="keyed")))
    assert "| Pawl | - | - | once | - | - |" in text


def test_a_control_whose_receiver_takes_no_notice_of_keys_has_a_row_of_its_own() -> None:
    plain, unheeded = (result(each, group=Group.CONTROL) for each in (GOOD, BAD))
    unheeded = replace(unheeded, cell=replace(unheeded.cell, fault=Fault.KEYS_IGNORED))
    text = readme.tables(told(plain, unheeded))
    assert "| Pawl | - | - | once | - | - |" in text
    assert "| Pawl, before a receiver that takes no notice of keys | - | - | **duplicated** | - | - |" in text


def test_the_published_scenarios_come_before_everything_else() -> None:
    made = told(result(GOOD))
    made["published"]["rows"][1]["cell"] = "plain/receipt/worker-kill/recorded"  # type: ignore[index]
    text = readme.tables(made)
    assert "*Restate Durable Agents: Duplicate Tool Calls Tested (2026)*, which ran on restate-server 1.7.13" in text
    assert text.index("plain loop, killed after the charge") < text.index("worker killed")


def test_storm_and_window_are_told_where_they_were_run() -> None:
    storm = {
        "again": "python -m lab storm --runs 2 --seed 1",
        "runs": 2,
        "kinds": {"worker kill": {"landed": 3, "of": 4}},
        "hit": 2,
        "completed": 1,
        "parked": {"run-1": "outcome_unknown: lost"},
        "duplicated": {"run-2": ["charge was applied 2 times"]},
        "lost": {},
        "hanging": {},
    }
    series = {"name": "Pawl", "median_ms": 2.04, "p95_ms": 6.0, "max_ms": 9.9, "effects": 200}
    window = {"series": [series], "kills": {"name": "no key", "kills": 30, "doubled": 62, "effects": 2011}}
    text = readme.tables(told(result(GOOD)), window, storm)
    assert "3 faults landed, 2 runs were hit; 1 completed, 1 wait for a person; 1 duplicated, 0 lost, 0 hanging" in text
    assert "Pawl: median 2.0 ms, 95 % 6.0 ms, longest 9.9 ms, 200 effects. Counted with no key: 30 kills" in text
    assert "storm" not in readme.tables(told(result(GOOD)))


def test_every_fault_has_its_words() -> None:
    assert WORDS.keys() == {fault.value for fault in Fault}


def test_only_what_is_between_the_marks_is_replaced(tmp_path: Path) -> None:
    file = tmp_path / "README.md"
    file.write_text(f"before\n{readme.BEGIN}\nold\n{readme.END}\nafter\n", encoding="utf-8")
    (tmp_path / "report.json").write_text(json.dumps(told(result(GOOD))), encoding="utf-8")
    for _ in range(2):
        assert readme.run(tmp_path, file, Show()) == 0
    text = file.read_text(encoding="utf-8")
    assert text.startswith(f"before\n{readme.BEGIN}\n") and text.endswith(f"{readme.END}\nafter\n")
    assert "old" not in text and text.count("| worker killed |") == 1


@pytest.mark.parametrize("text", ["", readme.BEGIN, f"{readme.END}{readme.BEGIN}", 2 * (readme.BEGIN + readme.END)])
def test_a_file_without_a_place_for_them_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="once each"):
        readme.replaced(text, "tables", "README.md")


def test_without_a_report_there_is_nothing_to_write(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="run `make lab` first"):
        readme.run(tmp_path, tmp_path / "README.md", Show())
