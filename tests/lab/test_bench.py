"""The benchmark's pure parts: what is counted, divided, judged, drawn and written; and all of it once, quickly."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from lab import pages, readme
from lab.bench import audit, growth, jobs, plots, tables, told, written
from lab.bench.contestants import CONTESTANTS, NAMES, contestant, present
from lab.bench.goals import GOALS, judged
from lab.bench.parts import PARTS
from lab.bench.run import plan
from lab.bench.sums import percentiles, ratio, spread
from lab.errors import LabError, UsageError
from lab.load import check
from lab.show import Show
from lab.targets import Addresses
from tests.lab.bench_data import ABOUT, parts
from tests.lab.programs import LabCommand

AT = Addresses("http://ingress", "http://admin", "http://receiver", "http://model")


def row(tag: str, what: str, at: float = 0.0, *, applied: bool = True) -> dict[str, Any]:
    return {"tag": tag, "what": what, "at": at, "applied": applied, "turn": 0}


def of_run(tag: str, *, calls: int = 3, charges: int = 1) -> list[dict[str, Any]]:
    return [*(row(tag, "chat") for _ in range(calls)), *(row(tag, "charge") for _ in range(charges)), row(tag, "email")]


def made(*, quick: bool = False) -> dict[str, Any]:
    return told.bench(parts(quick=quick), {**ABOUT, "quick": quick}, None)


def test_a_run_that_did_its_job_is_right() -> None:
    rows = [*of_run("a1x"), *of_run("a2x"), row("a1x", "charge", applied=False)]
    assert audit.faults(jobs.SHORT, ["a1x", "a2x"], rows) == []


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([], "applied {}"),
        (of_run("a1x", charges=2), "'charge': 2"),
        (of_run("a1x", charges=0), "applied {'email': 1}"),
        (of_run("a1x", calls=2), "made 2"),
        (of_run("a1x", calls=4), "made 4"),
        ([*of_run("a1x"), row("a1x", "refund")], "'refund': 1"),
    ],
)
def test_a_run_that_is_lost_doubled_or_strange_is_an_error(rows: list[dict[str, Any]], says: str) -> None:
    assert says in audit.faults(jobs.SHORT, ["a1x"], rows)[0]
    with pytest.raises(LabError, match="1 runs of Pawl are not right"):
        audit.check("Pawl", jobs.SHORT, ["a1x"], rows, more_calls=0)


def test_a_model_call_may_be_made_again_and_is_counted_an_effect_may_not() -> None:
    assert audit.again(jobs.SHORT, ["a1x", "a2x"], [*of_run("a1x", calls=5), *of_run("a2x")]) == 2
    assert audit.faults(jobs.SHORT, ["a1x"], of_run("a1x", calls=4), more_calls=1) == []
    assert audit.faults(jobs.SHORT, ["a1x"], of_run("a1x", calls=5), more_calls=1)
    assert audit.faults(jobs.SHORT, ["a1x"], of_run("a1x", charges=2), more_calls=1)


def test_ratios_are_taken_round_by_round() -> None:
    """The median of the ratios is not the ratio of the medians."""
    assert ratio([80.0, 150.0, 60.0], [40.0, 50.0, 60.0]) == {"median": 2.0, "least": 1.0, "most": 3.0}
    assert spread([3.0, 1.0, 2.0]) == {"median": 2.0, "least": 1.0, "most": 3.0}
    assert percentiles([number / 1000 for number in range(1, 101)]) == {"p50": 50.0, "p90": 90.0, "p99": 99.0}


def test_a_turn_lasts_from_one_model_request_to_the_next() -> None:
    rows = [row("a", "chat", 1.0), row("b", "chat", 1.5), row("a", "email", 1.6), row("a", "chat", 2.0)]
    assert growth.turns_ms([*rows, row("a", "chat", 2.25)], "a") == [1000.0, 250.0]
    assert growth.at_turn([1.0] * 10 + [5.0] * 10, 20) == 5.0
    assert growth.at_turn([1.0, 2.0, 3.0], 2) == 1.5


def test_goals_are_judged_from_one_sitting_each() -> None:
    found = {goal["name"]: goal for goal in judged(parts())}
    assert found["job_vs_plain"]["value"] == 2.0
    assert found["job_vs_plain"]["reached"] is True
    assert found["recovery"]["value"] == 1.1 and found["recovery"]["reached"] is True
    assert found["recovery_worst"]["reached"] is False
    assert found["recovery"]["ratio"] == pytest.approx(1.1 / 1.2, abs=1e-4)
    assert found["growth"]["value"] == 0.25
    assert found["job_vs_typescript"]["value"] is None and found["job_vs_typescript"]["reached"] is None


def test_only_bounds_that_were_measured_are_shown_and_the_others_are_counted() -> None:
    table = tables.goals(made())
    measured = sum(goal["value"] is not None for goal in made()["goals"])
    assert 0 < len(table.rows) == measured < len(GOALS)
    assert "-" not in {cell for row in table.rows for cell in row}
    assert table.says == f"{len(GOALS) - measured} more bounds are for parts that were not measured."
    nothing = tables.goals({"goals": judged({})})
    assert nothing.rows == () and nothing.says.startswith(f"{len(GOALS)} more bounds")


def test_there_is_a_ratio_for_each_goal() -> None:
    assert made()["ratios"].keys() == {goal.name for goal in GOALS}
    assert "throughput_vs_bare" in made()["ratios"]
    assert len({goal.name for goal in GOALS}) == len(GOALS)
    assert all((goal.least is None) != (goal.most is None) for goal in GOALS)


def test_a_quick_sitting_is_not_judged() -> None:
    assert all(goal["reached"] is None for goal in judged(parts(quick=True)))
    assert made(quick=True)["ratios"]["job_vs_plain"] == 2.0


def test_a_part_that_was_not_measured_again_keeps_what_it_had() -> None:
    first = made()
    again = told.bench({"recovery": {**parts()["recovery"], "started_at": 1.9e9}}, {**ABOUT, "quick": False}, first)
    assert again["parts"]["speed"] == first["parts"]["speed"]
    assert again["parts"]["recovery"]["started_at"] == 1.9e9
    assert list(again["parts"]) == ["speed", "recovery", "growth"]


def test_quick_and_thorough_parts_are_never_mixed(tmp_path: Path) -> None:
    told.write(tmp_path, made())
    with pytest.raises(UsageError, match="thorough"):
        told.before(tmp_path, quick=True)
    before = told.before(tmp_path, quick=False)
    assert before is not None
    quick = made(quick=True)
    again = told.bench({"speed": parts()["speed"]}, {**ABOUT, "quick": False}, quick)
    assert list(again["parts"]) == ["speed"]


def test_every_part_has_a_place_in_the_file_and_a_table() -> None:
    assert set(told.ORDER) == set(PARTS) == set(tables.MAKERS)


def test_what_only_names_may_be_parts_contestants_or_both() -> None:
    assert plan(None).parts == tuple(PARTS) and plan(None).contestants == NAMES
    assert plan("memory, steps").parts == ("steps", "memory")
    assert plan("pawl,plain").parts == ("speed", "recovery", "growth", "replay")
    assert plan("pawl,plain").contestants == ("plain", "pawl")
    assert plan("speed,pawl").parts == ("speed",)
    with pytest.raises(UsageError, match="--only nobody: there are the parts"):
        plan("nobody")


def test_a_contestant_is_reached_at_the_ingress_or_at_its_worker() -> None:
    assert contestant("pawl").url(AT, "http://worker", "run-1") == "http://ingress/Agent/run-1/run"
    assert contestant("dbos").url(AT, "http://worker", "run-1") == "http://worker/runs/run-1?wait_s=120"
    assert len({each.target.service for each in CONTESTANTS if each.target.service}) == 7
    with pytest.raises(UsageError, match="no contestant nobody"):
        contestant("nobody")
    assert {each.name for each in present(("plain", "bare", "bare-lean", "pawl"))[0]} >= {"plain", "pawl"}


@pytest.mark.parametrize(
    ("status", "said"),
    [(500, b'{"state":"completed"}'), (200, b'{"state":"running"}'), (200, b"no"), (200, b"[]"), (404, b"{}")],
)
def test_an_answer_that_is_not_of_a_completed_run_is_an_error(status: int, said: bytes) -> None:
    check("http://x", 200, b'{"state":"completed"}')
    check("http://x", 202, b'{"state":"completed"}')
    with pytest.raises(LabError, match=str(status)):
        check("http://x", status, said)


def test_the_pictures_are_whole_and_say_every_number_in_words() -> None:
    found = parts()
    found["speed"]["contestants"][0]["title"] = "a <plain> & simple loop"
    pictures = plots.pictures(found)
    assert set(pictures) == {"latency", "throughput", "growth"}
    for picture in pictures.values():
        root = ET.fromstring(picture)
        words = " ".join(each.text or "" for each in root.iter())
        assert "Pawl" in words or "pawl" in words
    assert "a <plain> & simple loop" in " ".join(
        each.text or "" for each in ET.fromstring(pictures["throughput"]).iter()
    )
    assert ">80.0<" in pictures["throughput"]
    assert plots.pictures({}) == {}


@pytest.mark.parametrize(("value", "text"), [(1234.5, "1234"), (99.94, "99.9"), (1.25, "1.2"), (0.777, "0.78")])
def test_a_number_has_as_many_digits_as_say_something(value: float, text: str) -> None:
    assert plots.number_text(value) == text


def test_the_readme_gets_the_numbers_of_the_sitting(tmp_path: Path) -> None:
    told.write(tmp_path, made())
    file = tmp_path / "README.md"
    file.write_text(f"before\n{written.BEGIN}\nold\n{written.END}\nafter\n", encoding="utf-8")
    page = tmp_path / "performance.md"
    page.write_text(f"{written.BEGIN}\n{written.END}\n", encoding="utf-8")
    for _ in range(2):
        assert readme.run(tmp_path, file, Show(), page) == 0
    text = file.read_text(encoding="utf-8")
    assert text.startswith(f"before\n{written.BEGIN}\n") and text.endswith(f"{written.END}\nafter\n")
    assert "| Pawl | 20.0 | 80.0 (60.0-150) | 5.5 | 1.1 (1.0-2.5) | 10.0 |" in text
    assert "| plain loop | 10.0 | 50.0 (40.0-60.0) | 5.5 | lost | 40.0 |" in text
    assert "2027-01-15, 2 processors" in text
    every = page.read_text(encoding="utf-8")
    assert "| SIGKILL in the window to the answer, median | at most 1.2 s | 1.1 s | reached |" in every
    assert every.count("**What the job costs.**") == 1
    assert "old" not in text


def test_a_quick_sitting_is_not_written_into_the_readme() -> None:
    with pytest.raises(UsageError, match="make bench"):
        written.tables(made(quick=True))
    with pytest.raises(UsageError, match="make bench"):
        written.every(made(quick=True))


def test_the_page_shows_the_benchmark_without_a_matrix(tmp_path: Path) -> None:
    told.write(tmp_path, made())
    text = pages.write(tmp_path).read_text(encoding="utf-8")
    assert 'id="bench"' in text and "What must be reached" in text and "<svg" in text
    assert "DBOS: the peers" in text
    (tmp_path / told.NAME).unlink()
    with pytest.raises(UsageError, match="nothing to show"):
        pages.run(tmp_path, None, Show())


@pytest.mark.server
@pytest.mark.long
@pytest.mark.timeout(400)
def test_the_quick_benchmark_goes_through_every_part(tmp_path: Path) -> None:
    bench = LabCommand(
        (
            "bench",
            "--quick",
            "--only",
            ",".join((*PARTS, "plain", "bare-lean", "pawl")),
            "--out",
            str(tmp_path / "out"),
        ),
        tmp_path / "output",
    )
    bench.start()
    try:
        assert bench.wait(360) == 0, bench.said()
        found = json.loads((tmp_path / "out" / "bench.json").read_text(encoding="utf-8"))
        assert list(found["parts"]) == list(told.ORDER)
        assert [each["name"] for each in found["parts"]["speed"]["contestants"]] == ["plain", "bare-lean", "pawl"]
        steps = found["parts"]["steps"]
        assert steps["steps"]["with_rows"] == steps["steps"]["pawl"] == steps["steps"]["bare"]
        assert steps["entries"]["with_rows"] == steps["entries"]["pawl"] > steps["entries"]["bare"]
        measured = {name for name, value in found["ratios"].items() if value is not None}
        assert {goal.name for goal in GOALS} - measured == {"job_vs_bare", "job_vs_typescript", "job_vs_openai_agents"}
        assert {file.name for file in (tmp_path / "out").iterdir()} >= {
            "bench-latency.svg",
            "bench-throughput.svg",
            "bench-growth.svg",
            "report.html",
        }
        assert bench.left() == []
    finally:
        bench.clean()
