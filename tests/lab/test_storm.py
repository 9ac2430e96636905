"""The storm: its schedule is the seed's, and its judge tells a doubled, a lost and a hanging effect from right ones."""

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from lab import storm
from lab.show import Show
from lab.storm_judge import Landed, RunAfter, Seen, StormVerdict, hits, judge, kinds
from lab.storm_plan import (
    EFFECTS,
    THINK_S_MAX,
    Kind,
    Member,
    Strike,
    length_s,
    life_s,
    members,
    part_of,
    recipes,
    schedule,
)
from mocks.rows import EffectRow, RequestRow
from tests.lab.programs import LabCommand

ALL = next(recipe for recipe, _ in recipes() if recipe.effects == EFFECTS)
MEMBER = Member(ALL, "s1x0000x", "storm-1-0000")
OTHER = Member(ALL, "s1x0001x", "storm-1-0001")


def body(member: Member, effect: str) -> dict[str, Any]:
    if effect == "customer":
        return {"tier": "gold", "by": member.tag}
    return {"reference": f"{member.tag}-{effect}", "memo": member.tag}


def rows(*effects: tuple[Member, str]) -> tuple[tuple[RequestRow, ...], tuple[EffectRow, ...]]:
    """What an honest receiver would have of these effects."""
    requests: list[RequestRow] = []
    made: list[EffectRow] = []
    for n, (member, effect) in enumerate(effects, 1):
        key = f"key-{member.tag}-{effect}"
        requests.append(
            RequestRow(
                n=n,
                effect=effect,
                key=key,
                reference=key,
                digest="",
                applied=True,
                status=201,
                at=float(n),
                method="POST",
                path=f"/{effect}s",
            )
        )
        made.append(
            EffectRow(n=n, effect=effect, id=f"id-{n}", key=key, reference=key, body=body(member, effect), at=float(n))
        )
    return tuple(requests), tuple(made)


def after(state: str = "completed", member: Member = MEMBER, reason: str = "because") -> RunAfter:
    return RunAfter(member, state, reason, submitted_at=0.0, over_at=100.0)


def seen(*effects: str, state: str = "completed", reason: str = "because") -> Seen:
    return Seen((after(state, reason=reason),), (), *rows(*((MEMBER, effect) for effect in effects)))


def test_the_same_seed_gives_the_same_schedule_and_the_same_runs() -> None:
    assert schedule(7, 120.0) == schedule(7, 120.0)
    assert schedule(7, 120.0) != schedule(8, 120.0)
    assert members(50, 7) == members(50, 7)
    assert len({member.tag for member in members(500, 7)}) == 500


@pytest.mark.parametrize("seed", range(20))
def test_no_part_is_struck_while_it_is_down(seed: int) -> None:
    strikes = schedule(seed, 120.0)
    assert all(0 < strike.at_s < 120.0 for strike in strikes)
    for part in {part_of(strike) for strike in strikes}:
        own = [strike for strike in strikes if part_of(strike) == part]
        assert all(before.at_s + before.for_s + life_s(before) <= after.at_s + 0.001 for before, after in pairwise(own))


def test_a_long_storm_brings_every_kind_of_strike() -> None:
    assert {strike.kind for strike in schedule(1, length_s(200))} == set(Kind)


def test_every_recipe_asks_for_what_it_is_judged_by() -> None:
    tools = {
        "charge_card": "charge",
        "refund_payment": "refund",
        "update_crm": "customer",
        "send_email": "email",
        "transfer_money": "transfer",
        "send_sms": "sms",
    }
    for recipe, _ in recipes():
        assert sorted(tools[name] for turn in recipe.turns for name, _ in turn) == sorted(recipe.effects)
        for seconds in (1.0, 20.0, 90.0):
            replies = recipe.script(seconds)["replies"]
            called = [call["name"] for reply in replies for call in reply.get("tool_calls", ())]
            assert [name for name in called if name != "look_up_order"] == [n for turn in recipe.turns for n, _ in turn]
            assert sum(reply["delay_s"] for reply in replies) == pytest.approx(seconds, rel=0.3)
            assert all(reply["delay_s"] <= THINK_S_MAX for reply in replies)


def test_everything_once_is_good() -> None:
    verdict = judge(seen(*EFFECTS))
    assert verdict.good
    assert verdict.completed == 1


def test_a_record_that_was_written_again_with_the_same_state_is_good() -> None:
    assert judge(seen(*EFFECTS, "customer")).good


@pytest.mark.parametrize("effect", [effect for effect in EFFECTS if effect != "customer"])
@pytest.mark.parametrize("state", ["completed", "outcome_unknown", "running"])
def test_an_effect_that_was_applied_twice_is_found_in_whatever_state(effect: str, state: str) -> None:
    verdict = judge(seen(*EFFECTS, effect, state=state))
    assert verdict.duplicated == {MEMBER.run_id: (f"{effect} was applied 2 times",)}
    assert not verdict.good


@pytest.mark.parametrize("effect", EFFECTS)
def test_an_effect_that_a_completed_run_lacks_is_lost(effect: str) -> None:
    verdict = judge(seen(*(each for each in EFFECTS if each != effect)))
    assert verdict.lost == {MEMBER.run_id: (f"the run completed and {effect} was never applied",)}


def test_a_parked_run_may_lack_what_is_in_doubt_and_must_say_why() -> None:
    parked = judge(seen("charge", state="outcome_unknown"))
    assert parked.good
    assert parked.parked == {MEMBER.run_id: "outcome_unknown: because"}
    assert judge(seen("charge", state="outcome_unknown", reason="")).hanging


@pytest.mark.parametrize("state", ["running", "unreachable", "waiting_until", "status 500"])
def test_a_run_that_came_to_no_rest_hangs(state: str) -> None:
    assert MEMBER.run_id in judge(seen(*EFFECTS, state=state)).hanging


def test_a_run_that_failed_is_lost() -> None:
    assert judge(seen(*EFFECTS, state="failed")).lost == {MEMBER.run_id: ("the run ended as failed: because",)}


def test_an_effect_of_nobody_and_one_that_was_not_asked_for_are_found() -> None:
    requests, effects = rows(*((MEMBER, effect) for effect in EFFECTS), (OTHER, "charge"))
    assert judge(Seen((after(),), (), requests, effects)).duplicated[""]
    money = replace(MEMBER, recipe=next(recipe for recipe, _ in recipes() if recipe.name == "money-1"))
    requests, effects = rows((money, "charge"), (money, "refund"), (money, "email"), (money, "sms"))
    told = judge(Seen((after(member=money),), (), requests, effects)).duplicated
    assert told == {money.run_id: ("sms was applied, and nobody asked for it",)}


def test_a_record_that_is_not_what_was_asked_for_is_found() -> None:
    requests, effects = rows(*((MEMBER, effect) for effect in EFFECTS))
    wrong = tuple(
        EffectRow(**{**row, "body": {"tier": "tin", "by": MEMBER.tag}}) if row["effect"] == "customer" else row
        for row in effects
    )
    assert judge(Seen((after(),), (), requests, wrong)).duplicated


def test_rows_that_were_not_read_or_contradict_each_other_are_no_pass() -> None:
    assert judge(Seen((after(),), (), None, None)).unreadable
    requests, effects = rows(*((MEMBER, effect) for effect in EFFECTS))
    assert judge(Seen((after(),), (), requests, effects[1:])).unreadable


def test_each_wrong_by_itself_is_enough() -> None:
    wrong: dict[str, tuple[str, ...]] = {"run-1": ("it is wrong",)}
    assert StormVerdict().good
    assert not StormVerdict(duplicated=wrong).good
    assert not StormVerdict(lost=wrong).good
    assert not StormVerdict(hanging=wrong).good
    assert not StormVerdict(unreadable="the rows could not be read").good


def test_a_run_is_hit_by_what_landed_while_it_was_under_way() -> None:
    strike = Strike(1.0, Kind.KILL, "worker-1")
    landed = [
        Landed(strike, at, landed, "") for at, landed in ((-1.0, True), (50.0, True), (60.0, False), (101.0, True))
    ]
    assert hits(after(), landed) == 1
    assert kinds(landed) == {"worker kill": (3, 4)}


def test_a_duplicate_is_told_with_its_run_its_history_and_the_command_that_repeats_it(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    one = seen(*EFFECTS, "transfer")
    struck = replace(one, strikes=(Landed(Strike(1.0, Kind.KILL, "worker-1"), 3.5, True, "it died"),))
    verdict = judge(struck)
    asked = storm.Asked(1, 7, tmp_path)
    assert storm.tell(struck, verdict, {MEMBER.run_id: {"state": "completed"}}, asked, Show()) == 1
    out, err = capfd.readouterr()
    assert f"{MEMBER.run_id}: transfer was applied 2 times" in err
    assert "python -m lab storm --runs 1 --seed 7" in err
    assert out.index("kill worker-1") < out.index("POST /transfers, applied")
    storm.write(tmp_path, struck, verdict, {"runs": 1})
    kept = json.loads((tmp_path / "storm.json").read_text())
    assert kept["good"] is False
    assert kept["duplicated"] == {MEMBER.run_id: ["transfer was applied 2 times"]}


@pytest.mark.server
@pytest.mark.long
def test_a_small_storm_is_survived(tmp_path: Path) -> None:
    command = LabCommand(
        ("storm", "--runs", "12", "--seed", "3", "--out", str(tmp_path / "out"), "--dir", str(tmp_path)),
        tmp_path / "output",
    )
    command.start()
    try:
        assert command.wait(110) == 0, command.said()
        assert (tmp_path / "out" / "storm.json").exists()
        assert command.left() == []
    finally:
        command.clean()
