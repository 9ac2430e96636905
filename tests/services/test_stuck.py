"""Who is told of which stuck run, and when."""

import pytest

from services.messages import RunState
from services.stuck import NEWS_MAX, REMEMBERED_MAX, Found, Heard, Looked, Memory, Patience, due, looked
from tests.services.seen import MISMATCH, NOW, asking, end, failed, failing, invocation, paused, record, seen

PATIENCE = Patience(stuck_s=60, escalate_s=600)
STUCK = Found("r1", 1, "inv_1 8", NOW - 60, "paused: by an operator", "resume the run")


def names(memory: Memory, looks: Looked, at: float = NOW, patience: Patience = PATIENCE) -> tuple[Memory, list[str]]:
    told = due(memory, looks, at, patience)
    return told.memory, [event.name for event in told.events]


def test_a_run_is_told_of_when_it_has_been_stuck_for_long_enough_and_once() -> None:
    looks = Looked(found=(STUCK,))
    memory, early = names(Memory(), looks, NOW - 0.1)
    assert early == []
    memory, first = names(memory, looks)
    assert first == ["stuck"]
    for later_s in (30, 60, 599):
        memory, further = names(memory, looks, NOW + later_s)
        assert further == []


def test_it_is_told_of_once_more_after_a_time_and_then_no_more() -> None:
    looks = Looked(found=(STUCK,))
    memory, _ = names(Memory(), looks)
    memory, again = names(memory, looks, NOW + 600)
    assert again == ["escalated"]
    assert names(memory, looks, NOW + 6000)[1] == []
    memory, _ = names(Memory(), looks)
    assert names(memory, looks, NOW + 6000, Patience(60))[1] == []


def test_stuck_at_another_place_is_news_and_a_moment_of_getting_on_is_not() -> None:
    memory, _ = names(Memory(), Looked(found=(STUCK,)))
    memory, _ = names(memory, Looked())
    assert names(memory, Looked(found=(STUCK,)))[1] == []
    elsewhere = Found("r1", 1, "inv_1 12", NOW - 60, "paused", "resume")
    assert names(memory, Looked(found=(elsewhere,)))[1] == ["stuck"]


def test_the_same_news_have_the_same_id_whoever_tells_them() -> None:
    (first,), (second,) = (due(Memory(), Looked(found=(STUCK,)), at, PATIENCE).events for at in (NOW, NOW + 7))
    assert first.key() == second.key()
    (escalated,) = due(
        Memory(told={"r1": Heard(place=STUCK.place, at=0)}), Looked(found=(STUCK,)), NOW, PATIENCE
    ).events
    assert escalated.key() != first.key()
    assert (first.state, first.body()["remedy"]) == (RunState.STUCK, "resume the run")  # type: ignore[index,call-overload]


def test_what_has_ended_is_forgotten_and_what_is_remembered_is_bounded() -> None:
    memory = Memory(told={"r1": Heard(place="p", at=NOW), "r2": Heard(place="p", at=NOW)})
    assert set(due(memory, Looked(ended=("r1",)), NOW, PATIENCE).memory.told) == {"r2"}
    many = Memory(told={f"r{number}": Heard(place="p", at=number) for number in range(REMEMBERED_MAX + 5)})
    kept = due(many, Looked(), NOW, PATIENCE).memory.told
    assert len(kept) == REMEMBERED_MAX
    assert "r4" not in kept


def test_of_very_many_the_first_are_told_of_now_and_the_others_next() -> None:
    crowd = Looked(found=tuple(Found(f"r{n}", 1, "p", None, "gone", "") for n in range(NEWS_MAX + 20)))
    memory, first = names(Memory(), crowd)
    _, second = names(memory, crowd)
    assert (len(first), len(second)) == (NEWS_MAX, 20)


@pytest.mark.parametrize("stuck_s", [1, 60, 86_400])
def test_looks_are_close_enough_and_not_too_close(stuck_s: float) -> None:
    assert 0.5 <= Patience(stuck_s).look_s <= min(30, stuck_s / 2)


def test_what_is_stuck_is_found_and_what_waits_goes_on_or_has_ended_is_not() -> None:
    since = {"inv_1": [failed(NOW - 90)]}
    stuck = seen(record(), failing(MISMATCH, "RT0016"), failures=since)
    held = seen(record(), invocation("paused"), run_id="r2", failures={"inv_1": [paused(NOW - 5)]})
    killed = seen(record(), invocation("completed", ended_with="[409] killed"), run_id="r3")
    waits = seen(asking(), failing(), run_id="r4", failures=since)
    works = seen(record(), invocation(), run_id="r5")
    over = seen(record(end=end()), invocation("completed"), run_id="r6")
    told = {name: Heard(place="p", at=NOW) for name in ("r5", "r6", "r7")}
    result = looked([stuck, held, killed, waits, works, over], told)
    assert [(each.run_id, each.place) for each in result.found] == [
        ("r1", "inv_1 8"),
        ("r2", "inv_1 8"),
        ("r3", "inv_1 -"),
    ]
    assert result.found[0].since == NOW - 90
    assert result.ended == ("r6", "r7")
