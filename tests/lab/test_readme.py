"""The README's table of results comes from report.json, between two marks."""

import json
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
    about = {"versions": VERSIONS, "trials": 1, "seed": 1}
    return dict(json.loads(json.dumps(report(list(results), about))))  # type: ignore[arg-type]


def test_verdicts_stand_by_fault_and_class_and_what_is_not_as_promised_is_bold() -> None:
    text = readme.tables(told(result(GOOD), result(BAD)))
    assert "| worker killed | 1 | - | - | once or **duplicated** | - | - |" in text
    assert "restate-server 1.7.12" in text


def test_controls_stand_by_the_point_of_the_kill() -> None:
    text = readme.tables(told(result(GOOD, group=Group.CONTROL, target="keyed")))
    assert "| Pawl | - | - | once | - | - |" in text


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
