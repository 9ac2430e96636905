"""Large values become small ones that say so."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tools.plain import plain
from tools.size import LIMIT_BYTES_MIN, cap, shorten

EMOJI = "\U0001f600"


def size(value: object) -> int:
    return len(json.dumps(value, ensure_ascii=False).encode())


def test_a_small_value_stays_as_it_is() -> None:
    value = plain({"a": [1, 2, 3]})
    assert cap(value, 1000) is value


def test_the_limit_itself_is_small_enough() -> None:
    value = "x" * (LIMIT_BYTES_MIN - 2)
    assert cap(value, LIMIT_BYTES_MIN) == value
    assert cap(value + "x", LIMIT_BYTES_MIN) != value + "x"


def test_a_large_value_says_its_size_and_how_to_ask_for_less() -> None:
    got = cap(["x" * 10] * 10_000, 500)
    assert isinstance(got, str)
    assert got.startswith('["xxxxxxxxxx","xx')
    assert "130,001 bytes in all; ask for less: one item, a filter, a page or fewer fields" in got


def test_the_size_of_the_whole_may_be_known_or_not() -> None:
    assert "[cut here: 9,999 bytes in all" in str(cap("abc", 500, total_bytes=9_999, cut=True))
    assert "[cut here: more than 5 bytes in all" in str(cap("abc", 500, cut=True))


@pytest.mark.parametrize("limit_bytes", range(LIMIT_BYTES_MIN, LIMIT_BYTES_MIN + 8))
@pytest.mark.parametrize("character", [EMOJI, "ä", '"', "\n", "\x01", "\\"])
def test_no_character_is_cut_in_two(character: str, limit_bytes: int) -> None:
    got = str(cap(character * 1000, limit_bytes))
    beginning = got.partition("…")[0]
    assert set(beginning) <= {character}
    assert limit_bytes - 8 <= size(got) <= limit_bytes


@settings(deadline=None)
@given(st.recursive(st.text() | st.integers(), st.lists, max_leaves=50), st.integers(LIMIT_BYTES_MIN, 600))
def test_a_result_keeps_to_its_limit_and_is_always_the_same(value: object, limit_bytes: int) -> None:
    form = plain(value)
    got = cap(form, limit_bytes)
    assert len(json.dumps(got, ensure_ascii=False, separators=(",", ":")).encode()) <= limit_bytes
    assert cap(form, limit_bytes) == got


@settings(deadline=None)
@given(st.text(), st.integers(3, 50))
def test_short_text_keeps_to_its_limit(value: str, limit_bytes: int) -> None:
    assert len(shorten(value, limit_bytes).encode()) <= limit_bytes


def test_short_text_shows_its_cut() -> None:
    assert shorten("abcdef", 6) == "abcdef"
    assert shorten("abcdefg", 6) == "abc…"
    assert shorten(EMOJI * 3, 8) == EMOJI + "…"
