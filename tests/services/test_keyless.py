"""The model reads no key of its run, however it is spelt and wherever a text was cut."""

import random
import re
import time
from collections.abc import Callable
from uuid import UUID, uuid5

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.keyless import PIECE_DIGITS, keyless

ROOT = UUID("7f3c1b1e-0c57-4d0e-9d1e-0a9a5c1d2e3f")
KEYS = [str(uuid5(ROOT, str(n))) for n in range(200)]
KEY = KEYS[7]
HEX = KEY.replace("-", "")
OTHER = str(uuid5(ROOT, "another run's"))


def digits(text: str) -> str:
    return "".join(each for each in text.lower() if each.isascii() and each.isalnum())


SPELT: dict[str, Callable[[str], str]] = {
    "as it is": lambda key: key,
    "upper": str.upper,
    "hex": lambda key: key.replace("-", ""),
    "underscores": lambda key: key.replace("-", "_"),
    "spaced": " ".join,
    "lines": lambda key: key.replace("-", "\n"),
    "accents": lambda key: key.replace("-", "é—"),
    "fours": lambda key: re.sub("(....)(?=.)", r"\1:", key.replace("-", "")),
}
AROUND = [
    ('{"reference":"', '"}'),
    ("", ""),
    ("ref", ""),
    ("PAYREF", "x"),
    ("aaaaaaaa", "bbbb"),
    ("0-", "-0"),
    ("naïve \ud800 ", " 😀"),
]


@pytest.mark.parametrize("spelt", SPELT.values(), ids=SPELT.keys())
@pytest.mark.parametrize("before, behind", AROUND)
def test_a_key_is_found_in_each_spelling(spelt: Callable[[str], str], before: str, behind: str) -> None:
    assert keyless(f"{before}{spelt(KEY)}{behind}", KEYS) == f"{before}(key){behind}"


def test_other_keys_and_everything_else_stay() -> None:
    text = f"{OTHER} café \ud83d {OTHER.replace('-', '')} ch_9f {KEY[:8]} {KEY} {'0' * 100}"
    assert keyless(text, KEYS) == text.replace(KEY, "(key)")
    assert keyless(text, []) == text


@pytest.mark.parametrize("left", range(37))
def test_what_a_cut_leaves_of_a_key_is_no_use(left: int) -> None:
    for text in (f"{KEY} t: {KEY[:left]}… [cut here", f"…{KEY[36 - left :]} and {KEY}"):
        kept = digits(keyless(text, KEYS)).replace("key", "")
        assert not any(HEX[at : at + PIECE_DIGITS] in kept for at in range(len(HEX) - PIECE_DIGITS + 1))


def test_many_keys_side_by_side_are_each_found() -> None:
    assert keyless("".join(KEYS), KEYS) == "(key)" * 200
    assert keyless(" ".join(KEYS), KEYS) == " ".join(["(key)"] * 200)


@settings(deadline=None)
@given(st.lists(st.one_of(st.text(), st.sampled_from([KEY, HEX, KEY.upper(), KEY[:20], OTHER, "a", "0-"]))))
def test_whatever_stands_around_it_no_key_is_left_and_nothing_else_is_lost(parts: list[str]) -> None:
    kept = keyless("".join(parts), KEYS)
    assert HEX not in digits(kept)
    assert keyless(kept, KEYS) == kept
    if "(key)" not in kept:
        assert kept == "".join(parts)


def test_the_longest_text_beside_many_keys_takes_little_time() -> None:
    """Some two milliseconds; the bound leaves room for a machine that is busy."""
    drawn = random.Random(1)
    texts = [
        "The order of the customer was beaded and faded, café. " * 600,
        "".join(drawn.choice("0123456789abcdef") for _ in range(32_000)),
        " ".join(KEYS * 5),
        HEX[:11] * 3_000,
        "".join(f"{key[9:25]}z" for key in KEYS * 10),
    ]
    for text in texts:
        keyless(text, KEYS)
        took = []
        for _ in range(3):
            begun = time.process_time()
            keyless(text[:32_000], KEYS)
            took.append(time.process_time() - begun)
        assert min(took) < 0.03
