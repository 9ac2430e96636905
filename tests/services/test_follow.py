"""Following a run: when it is looked at again, and when not."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from services.follow import PATIENCE_S, follow
from services.messages import RunState
from services.overview import Overview
from services.restate_api import Unanswered
from services.trouble import Way
from tests.services.seen import BUG, MISMATCH, NOW, asking, end, failed, failing, invocation, paused, record, row, seen

Look = Overview | Unanswered
RUNNING = seen(record(), invocation())
DONE = seen(record(end=end()), invocation("completed"))
WAITING = seen(asking(), invocation())
FAILURES = {"inv_1": [failed(NOW - 5)]}
AWAY = seen(record(), failing(), failures=FAILURES)
BUGGY = seen(record(), failing(BUG, "RT0007"), failures=FAILURES)
ELSEWHERE = seen(record(), failing(MISMATCH, "RT0016"), failures=FAILURES)
PAUSED = seen(record(), invocation("paused"), failures={"inv_1": [paused(NOW)]})
KILLED = seen(record())
NO_SERVER = Unanswered("the admin API does not answer")


class Watch:
    """Looks that come one a second; the last one stays."""

    def __init__(self, *looks: Look) -> None:
        self.looks = list(looks)
        self.at = 0.0

    def look(self) -> Overview:
        now = self.looks[min(int(self.at), len(self.looks) - 1)]
        if isinstance(now, Unanswered):
            raise now
        return now

    def tick(self) -> None:
        self.at += 1

    def follow(self, **more: float) -> Iterator[Overview]:
        return follow(self.look, lambda: self.at, self.tick, **more)  # type: ignore[arg-type]


def test_each_change_is_told_once() -> None:
    watch = Watch(RUNNING, RUNNING, replace(RUNNING, at=NOW + 1), DONE)
    assert list(watch.follow()) == [RUNNING, DONE]
    assert watch.at == 3


@pytest.mark.parametrize("last", [DONE, WAITING, PAUSED, KILLED, ELSEWHERE])
def test_it_ends_where_nothing_comes_by_itself(last: Overview) -> None:
    watch = Watch(RUNNING, last)
    assert list(watch.follow())[-1] is last
    assert watch.at == 1


@pytest.mark.parametrize("trouble", [AWAY, BUGGY])
def test_trouble_that_may_pass_is_watched_for_a_while(trouble: Overview) -> None:
    assert trouble.trouble is not None
    assert trouble.trouble.way is Way.WAIT
    healed = Watch(RUNNING, trouble, trouble, RUNNING, trouble, DONE)
    assert list(healed.follow())[-1] is DONE
    lasting = Watch(RUNNING, trouble)
    assert list(lasting.follow()) == [RUNNING, trouble]
    assert lasting.at == 1 + PATIENCE_S


def test_a_server_that_is_away_for_a_while_is_waited_for() -> None:
    assert list(Watch(RUNNING, NO_SERVER, NO_SERVER, DONE).follow()) == [RUNNING, DONE]
    with pytest.raises(Unanswered):
        list(Watch(RUNNING, NO_SERVER).follow())


def test_it_ends_when_the_time_is_over() -> None:
    watch = Watch(RUNNING)
    assert list(watch.follow(within_s=5)) == [RUNNING]
    assert watch.at == 5
    with pytest.raises(Unanswered):
        list(Watch(NO_SERVER).follow(within_s=5))


def test_the_end_of_an_earlier_pass_is_not_the_end() -> None:
    second = seen(
        record(row=row(pass_number=2), end=end(pass_number=2, state=RunState.FAILED)), invocation("completed")
    )
    assert list(Watch(DONE, RUNNING, second).follow(pass_number=2)) == [DONE, RUNNING, second]
