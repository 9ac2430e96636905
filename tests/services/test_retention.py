"""Which lifetimes fit together, and what is said of those that do not."""

from dataclasses import replace

import pytest

from services.moves import Caps
from services.retention import DAY_S, Kept, faults, lifetimes, repeats_s, spoken
from tools import TOOLS, registry

CHARGE = registry(TOOLS)["charge_card"]
SHIPPED = [tool for tool in TOOLS if tool.name in ("charge_card", "refund_payment", "send_email")]
MONTH_S = 30 * DAY_S


def test_the_defaults_fit() -> None:
    assert faults(TOOLS, Caps(), MONTH_S, Kept(DAY_S, DAY_S)) == []


def test_a_run_is_remembered_for_longer_than_its_keys() -> None:
    said = faults([CHARGE], Caps(), DAY_S)
    assert len(said) == 1
    assert "PAWL_RETENTION_S is 86400" in said[0]
    assert "charge_card" in said[0]
    assert faults([CHARGE], Caps(), DAY_S + 1) == []


def test_a_key_lives_longer_than_it_may_be_repeated() -> None:
    short = replace(CHARGE, key_lifetime_s=repeats_s(CHARGE))
    assert "its key_lifetime_s" in faults([short], Caps(), MONTH_S)[0]
    assert "PAWL_KEY_LIFETIME_S" in faults([CHARGE], Caps(key_lifetime_s=5), MONTH_S)[0]
    assert faults([replace(CHARGE, key_lifetime_s=repeats_s(CHARGE) + 1)], Caps(), MONTH_S) == []


def test_the_time_of_repeats_counts_every_try_and_every_wait() -> None:
    assert repeats_s(replace(CHARGE, attempts=1, send_deadline_s=10)) == 10
    assert repeats_s(replace(CHARGE, attempts=3, send_deadline_s=10)) == pytest.approx(30 + 0.5 + 2)


def test_what_restate_keeps_must_not_outlast_the_run() -> None:
    assert "journals for 60 d" in faults([], Caps(), MONTH_S, Kept(DAY_S, 60 * DAY_S))[0]
    assert "ingress answers" in faults([], Caps(), MONTH_S, Kept(60 * DAY_S, DAY_S))[0]


def test_all_are_shown_side_by_side_the_shortest_first() -> None:
    rows = lifetimes(SHIPPED, Caps(key_lifetime_s=3600), MONTH_S, Kept(DAY_S, DAY_S))
    assert [row.length() for row in rows] == ["1 h", "1 h", "1 h", "1 d", "1 d", "30 d", "for ever"]
    assert {"idempotency at the ingress", "journal of an ended call", "key of charge_card"} <= {
        row.what for row in rows
    }


def test_a_time_is_said_in_its_largest_whole_unit() -> None:
    assert [spoken(each) for each in (2, 90, 120, 5400, 7200, 86_400, 36 * 3600)] == [
        "2 s",
        "90 s",
        "2 min",
        "90 min",
        "2 h",
        "1 d",
        "36 h",
    ]
