"""What a matrix says at its end, and with which command a cell is played again."""

from pathlib import Path

import pytest

from lab import campaign
from lab.campaign import Asked
from lab.cells import Fault, Group, Point, Verdict
from lab.checker import Judgement, Result
from lab.closing import fitting, tell, why
from lab.errors import UsageError
from lab.jobs import JOBS
from lab.matrix import cells, must_be, scenes
from lab.own import load
from lab.results import CellResult, TrialResult
from lab.show import Show
from lab.targets import Promise
from lab.words import all_well, count


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A target that promises nothing."""
    made = tmp_path / "agent.toml"
    made.write_text('name = "mine"\ncommand = ["run"]\npromise = "nothing"\n', encoding="utf-8")
    return made


def results(file: Path, seen: Promise) -> list[CellResult]:
    """Its cells, played by an agent that in truth keeps another promise."""
    made = []
    for cell in (each for each in cells(own=[load(file)]) if each.group is Group.OWN):
        verdict = must_be(seen, cell.fault, cell.point)
        right = Result.AS_PROMISED if verdict in cell.expected else Result.NOT_AS_PROMISED
        made.append(CellResult(cell, "mine", JOBS["charge"], (TrialResult(1, 1, Judgement(verdict, right), None, ""),)))
    return made


def test_the_command_for_once_more_has_the_target_and_the_folders_that_were_given(file: Path) -> None:
    usual = Asked(3, None, campaign.OUT, 2, 7)
    assert usual.again("pawl/sms/no-fault") == ("python -m lab matrix --only pawl/sms/no-fault --seed 7 --trials 3")
    asked = Asked(1, None, Path("my report"), 2, 1, file, Path("/there"))
    assert asked.again("mine/charge/no-fault") == (
        f"python -m lab matrix --only mine/charge/no-fault --seed 1 --trials 1 --target {file} --out 'my report' "
        "--dir /there"
    )


@pytest.mark.parametrize("only", [None, "*", "mine/charge/worker-kill,pawl,control"])
def test_with_a_target_only_its_cells_are_played_and_nobody_is_left_out(file: Path, only: str | None) -> None:
    who = campaign.lineup(file, only)
    assert {cell.target for cell in who.cells} == {"mine"}
    assert who.missing == ()
    assert not campaign.lineup(file, "pawl").cells


def test_a_pattern_that_fits_no_cell_of_the_target_leads_to_its_own_list(file: Path) -> None:
    with pytest.raises(UsageError, match=f"--target {file} --list"):
        campaign.run(Asked(1, "pawl", campaign.OUT, 1, 1, file), Show())


def test_a_red_cell_says_what_it_must_be_and_the_end_which_promise_fits(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = results(file, Promise.RECORDED)
    assert tell(made, 1.0, Path("out"), Path("logs"), "play {}".format, Show()) == 1
    said = capsys.readouterr().err
    red = "mine/charge/worker-kill/recorded"
    assert f"{red}: once, not as promised; by its file's promise it must be duplicated.\n  again: play {red}" in said
    assert 'What was seen fits promise = "recorded"' in said
    assert "1 cell is not as it must be" in said


def test_a_finding_stands_behind_the_verdict_and_a_right_verdict_is_not_called_wrong(file: Path) -> None:
    (first, *_) = results(file, Promise.NOTHING)
    judged = Judgement(Verdict.ONCE, Result.NOT_AS_PROMISED, ("3 model calls in place of 2",))
    miscounted = CellResult(first.cell, "mine", first.job, (TrialResult(1, 1, judged, None, ""),))
    assert why(miscounted) == "mine/charge/no-fault: once, not as promised. 3 model calls in place of 2"


def test_every_promise_fits_where_too_little_was_played_and_none_where_nothing_fits(file: Path) -> None:
    made = results(file, Promise.NOTHING)
    assert '"once" or "recorded" or "nothing"' in fitting([each for each in made if each.cell.point is Point.NONE])
    lost = Judgement(Verdict.LOST, Result.NOT_AS_PROMISED)
    assert "fits no promise" in fitting(
        [CellResult(made[0].cell, "mine", made[0].job, (TrialResult(1, 1, lost, None, ""),))]
    )


def test_the_last_sentence_is_about_what_was_played(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tell(results(file, Promise.NOTHING), 1.0, Path("out"), Path("logs"), str, Show()) == 0
    said = capsys.readouterr().out
    assert "Every cell that was played is as it must be: your target as its file promises." in said
    assert "Pawl" not in said.partition("Every cell")[2]
    assert all_well({Group.PAWL, Group.CONTROL}).endswith(
        "Pawl as its classes promise, controls failing where they must."
    )
    assert "does not decide" in all_well({Group.CONTESTANT})


def test_numbers_have_their_plural_and_a_scene_has_the_name_of_its_cell() -> None:
    assert (count(1, "cell"), count(0, "cell"), count(2, "cell is", "cells are")) == (
        "1 cell",
        "0 cells",
        "2 cells are",
    )
    calm = [each for each in cells() if each.fault is Fault.NONE and each.group is Group.CONTROL]
    assert [scene.id for scene in scenes(calm)] == [each.id for each in calm]
