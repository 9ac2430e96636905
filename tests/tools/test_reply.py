"""Reading an answer never fails."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from tools import reply
from tools.reply import Problem, Reply, problem, read, retry_after_s

DATE = "Sun, 29 Nov 2026 17:00:00 GMT"


def body_of(raw: bytes, *, truncated: bool = False) -> object:
    return read(200, {}, raw, truncated=truncated, key=None).body


@pytest.mark.parametrize(
    "headers, wait_s",
    [
        ({"retry-after": "30"}, 30),
        ({"retry-after": " 30 "}, 30),
        ({"retry-after": "7200"}, 7200),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "1500"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "30"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "30"}, 30),
        ({"retry-after": "Sun, 29 Nov 2026 17:00:30 GMT", "date": DATE}, 30),
        ({"retry-after": "Sun, 29 Nov 2026 18:00:30 +0100", "date": DATE}, 30),
        ({"retry-after": "Sun, 29 Nov 2026 16:59:30 GMT", "date": DATE}, None),
        ({"retry-after": "Sun, 29 Nov 2026 17:00:30 GMT"}, None),
        ({"retry-after": "Sun, 29 Nov 2026 17:00:30", "date": DATE}, None),
        ({"retry-after": "Sun, 99 Nov 2026 17:00:30 GMT", "date": DATE}, None),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "0"}, None),
        ({"retry-after": "abc"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "1e9"}, None),
        ({"retry-after": "٣"}, None),
        ({"retry-after": "99999999999999999999"}, None),
        ({}, None),
    ],
)
def test_a_wait_is_seconds_or_nothing(headers: dict[str, str], wait_s: float | None) -> None:
    assert retry_after_s(headers) == wait_s


@settings(deadline=None)
@given(st.text(), st.text())
def test_no_wait_raises(value: str, date: str) -> None:
    wait_s = retry_after_s({"retry-after": value, "date": date, "retry-after-ms": date})
    assert wait_s is None or wait_s > 0


@pytest.mark.parametrize(
    "raw, body",
    [
        (b"", None),
        (b"  \r\n", None),
        (b"null", None),
        (b'{"a": 1}', {"a": 1}),
        (b'\xef\xbb\xbf{"a": 1}', {"a": 1}),
        (b"<html>busy</html>", "<html>busy</html>"),
        (b'{"a": 1', '{"a": 1'),
        (b"\xff\xfe", "\ufffd\ufffd"),
        (b'"\\ud83d"', "\ufffd"),
        (b"[1e400, -1e400, NaN]", ["Infinity", "-Infinity", "NaN"]),
        (str(2**80).encode(), str(2**80)),
        (b"9" * 5000, "9" * 5000),
        (b"[" * 100_000, "[" * 100_000),
    ],
)
def test_a_body_is_json_or_text(raw: bytes, body: object) -> None:
    assert body_of(raw) == body


def test_a_cut_body_is_text_and_ends_with_a_whole_character() -> None:
    raw = '{"a": "ää'.encode()[:-1]
    assert body_of(raw, truncated=True) == '{"a": "ä'


@settings(deadline=None)
@given(st.binary(), st.booleans())
def test_no_body_raises(raw: bytes, truncated: bool) -> None:
    body_of(raw, truncated=truncated)


@pytest.mark.parametrize("name", ["idempotency-replayed", "idempotent-replayed"])
@pytest.mark.parametrize("value, replayed", [("true", True), ("True", True), ("false", False), ("", False)])
def test_either_header_marks_a_stored_answer(name: str, value: str, replayed: bool) -> None:
    assert read(200, {name: value}, b"", truncated=False, key=None).replayed is replayed


@pytest.mark.parametrize(
    "body, expected",
    [
        ({"error": {"code": "c", "message": "m", "type": "t"}}, Problem("c", "t", "m")),
        ({"error": "m"}, Problem(message="m")),
        ({"error": {"message": None, "detail": "d"}}, Problem(message="d")),
        ({"type": "about:blank", "title": "t", "detail": "d"}, Problem("", "about:blank", "d")),
        ({"message": "m", "code": 17}, Problem("17", "", "m")),
        ({"code": True}, Problem()),
        ({"error": 5}, Problem()),
        ({"error": []}, Problem()),
        ({}, Problem()),
        ("no\n  way", Problem(message="no way")),
        (None, Problem()),
        ([1], Problem()),
    ],
)
def test_the_usual_shapes_of_an_error(body: object, expected: Problem) -> None:
    assert problem(Reply(400, {}, body)) == expected  # type: ignore[arg-type]


def test_long_words_are_cut() -> None:
    assert len(problem(Reply(400, {}, "ä" * 5000)).message.encode()) <= reply.MESSAGE_BYTES_MAX
    for name in ("message", "detail", "title"):
        assert len(problem(Reply(400, {}, {name: "ä" * 5000})).message.encode()) <= reply.MESSAGE_BYTES_MAX


def test_each_word_of_an_error_is_one_short_line() -> None:
    long: JsonValue = "a\n\u2028b\x1b[31m" * 100_000
    bodies: list[JsonValue] = [long, {"error": long}, {"error": {"code": long, "type": long, "message": long}}]
    for body in (*bodies, {"code": long}):
        got = problem(Reply(400, {}, body))
        assert all(word.isprintable() for word in (got.code, got.type, got.message))
        assert max(len(got.code.encode()), len(got.type.encode())) <= 100
