"""Reading a message: what stops inside a value, what is cut to a size."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.reply import cap_text, preview, read, stops_inside

WHOLE = '{"to": "a\\"b", "cents": 100, "list": [1, {"x": true}], "none": null}'


@pytest.mark.parametrize(
    "text",
    [
        "{", '{"', '{"to', '{"to"', '{"to":', '{"to": "a', '{"to": "a",', '{"to": "a\\', '{"to": "a\\"',
        '{"n": 1', '{"n": -', '{"n": 1.', '{"n": 1e', '{"t": tr', '{"t": fals', '{"t": nul',
        '{"l": [', '{"l": [1', '{"l": [1,', '{"l": ["a', '{"o": {', '{"o": {"x"', '{"a": 1, "b"', '  {"a": 1,',
    ],
)  # fmt: skip
def test_a_text_that_was_cut_off_stops_inside_a_value(text: str) -> None:
    assert stops_inside(text)


@pytest.mark.parametrize(
    "text",
    [
        "", "x", "to: a", "[1", '"a', '{"to": "a"', '{"l": ["a"', '{"l": [true', '{"t": true', '{"o": {"x": null}',
        '{"a": 1}}', '{"a": 1} and so on', "{'a': 1}", '{"a": "b" "c"}', '{"l": [1]',
    ],
)  # fmt: skip
def test_a_text_that_is_malformed_does_not(text: str) -> None:
    """Either nothing but closing brackets is missing, or it is no beginning of an object at all."""
    assert not stops_inside(text)


@given(st.integers(0, len(WHOLE) - 1))
def test_wherever_an_object_is_cut_it_is_not_read_as_one(end: int) -> None:
    """The sentence about what is wrong is bounded."""
    function: dict[str, Any] = {"name": "x", "arguments": WHOLE[:end]}
    call = read({"tool_calls": [{"function": function}]}).calls[0]
    assert (call.arguments is None) == bool(WHOLE[:end].strip())
    assert len(call.fault or "") < 700


@given(st.text(max_size=50), st.integers(100, 200))
def test_a_capped_text_keeps_to_its_size_and_says_so(text: str, limit: int) -> None:
    """It is never cut inside a character."""
    capped = cap_text(text * 10, limit)
    assert len(capped.encode()) <= limit
    whole = cap_text(text * 10, 10_000)
    if len(whole.encode()) <= limit:
        assert capped == whole
    else:
        assert capped.endswith(f"… [cut here: {len(whole.encode()):,} bytes in all]")


def test_a_preview_is_short() -> None:
    assert preview("x" * 500) == "x" * 500
    assert preview("x" * 2_000_000) == "x" * 500 + "… (2,000,000 characters)"


@pytest.mark.parametrize(
    "raw, calls",
    [
        ({}, 0),
        ({"tool_calls": None}, 0),
        ({"tool_calls": []}, 0),
        ({"tool_calls": {}}, 1),
        ({"tool_calls": "x"}, 1),
        ({"tool_calls": [None, 1]}, 2),
        ({"function_call": None}, 0),
        ({"function_call": {"name": "x"}}, 1),
        ({"tool_calls": [{}], "function_call": {"name": "x"}}, 1),
        ({"tool_calls": [], "function_call": {"name": "x"}}, 1),
    ],
)
def test_every_entry_of_any_shape_is_a_call(raw: dict[str, Any], calls: int) -> None:
    assert len(read(raw).calls) == calls


def test_arguments_that_came_as_an_object_are_read_as_their_json() -> None:
    call = read({"tool_calls": [{"function": {"name": "x", "arguments": {"a": [1]}}}]}).calls[0]
    assert call.arguments == {"a": [1]}
    assert json.loads(call.text) == {"a": [1]}
