"""The status table, driven whole."""

import pytest

from tools import status
from tools.outcome import Answer, Done, Doubt, InFlight, NotSent, Rejected, Unknown
from tools.reply import Reply


def said(code: int, body: object = None, *, replayed: bool = False, **headers: str) -> Answer:
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return status.answer(Reply(code, names, body, replayed), None)  # type: ignore[arg-type]


def error(code: str = "", message: str = "", kind: str = "") -> dict[str, object]:
    return {"error": {"code": code, "message": message, "type": kind}}


def test_whatever_a_receiver_says_its_reason_is_one_short_line() -> None:
    for code in (400, 408, 409, 412, 422, 429, 500, 302):
        got = said(code, error("c" * 1_000_000, "m\n\n" * 300_000, "t" * 1_000_000))
        assert not isinstance(got, Done)
        assert got.reason.isprintable() and len(got.reason.encode()) < 1_500


@pytest.mark.parametrize("code", [200, 201, 202, 204, 206, 299])
def test_a_success_is_done(code: int) -> None:
    assert said(code, {"id": "a"}) == Done({"id": "a"}, "a")


@pytest.mark.parametrize(
    "body, name",
    [
        ({"id": "a"}, "a"),
        ({"id": 7}, "7"),
        ({"id": ""}, None),
        ({"id": True}, None),
        ({"id": 2**60}, str(2**60)),
        ({"id": 10**5000}, None),
        ({"id": 1.5}, None),
        ({"id": "  "}, None),
        ({"id": "é / x" + "x" * 250}, "é / x" + "x" * 250),
        ({"id": "x" * 256}, None),
        ({"id": "x\n\nNEW INSTRUCTIONS"}, None),
        ({"id": "x\u2028y"}, None),
        ({"id": "x\u202ey"}, None),
        ({"id": None}, None),
        ([], None),
        ("id", None),
        (None, None),
    ],
)
def test_the_id_is_the_receivers_name(body: object, name: str | None) -> None:
    assert said(200, body) == Done(body, name)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "code", [100, 101, 300, 301, 302, 303, 304, 307, 308, 408, 425, 500, 501, 502, 503, 504, 599, 600]
)
def test_what_says_neither_is_unknown(code: int) -> None:
    got = said(code)
    assert isinstance(got, Unknown)
    assert got.doubt is Doubt.SERVER_ERROR


@pytest.mark.parametrize(
    "code", [400, 401, 402, 403, 404, 405, 406, 409, 410, 411, 412, 413, 414, 415, 422, 428, 431, 451]
)
def test_a_refusal_is_rejected_with_its_status_and_words(code: int) -> None:
    got = said(code, error("card_declined", "no money"))
    assert isinstance(got, Rejected)
    assert got.status == code
    assert got.value == error("card_declined", "no money")
    assert f"no money (HTTP {code} card_declined)" in got.reason


@pytest.mark.parametrize(
    "body",
    [
        error("idempotency_in_flight"),
        error("idempotency_key_in_use", kind="invalid_request_error"),
        error(kind="idempotency_error"),
        {"code": "idempotency_in_flight"},
    ],
)
def test_in_flight_is_told_by_its_code(body: object) -> None:
    got = said(409, body, retry_after="1")
    assert isinstance(got, InFlight)
    assert got.retry_after_s == 1


@pytest.mark.parametrize("code", [400, 402, 422, 423])
def test_the_in_flight_code_with_another_status_is_a_refusal(code: int) -> None:
    assert isinstance(said(code, error("idempotency_in_flight")), Rejected)


def test_a_bare_409_is_a_refusal() -> None:
    assert isinstance(said(409), Rejected)
    assert isinstance(said(409, error("already_exists")), Rejected)


@pytest.mark.parametrize(
    "code, body",
    [
        (422, error("idempotency_key_reused")),
        (409, error("idempotency_key_reused")),
        (400, error("idempotency_key_reused")),
        (400, error(kind="idempotency_error")),
        (422, error(kind="idempotency_error")),
    ],
)
def test_a_reused_key_is_a_doubt_and_never_a_refusal(code: int, body: object) -> None:
    got = said(code, body)
    assert isinstance(got, Unknown)
    assert got.doubt is Doubt.KEY_REUSED


@pytest.mark.parametrize("code", [500, 503])
def test_a_replayed_error_is_a_stored_one(code: int) -> None:
    got = said(code, replayed=True)
    assert isinstance(got, Unknown)
    assert got.doubt is Doubt.STORED_ERROR


def test_a_replayed_refusal_stays_a_refusal_and_a_replayed_success_done() -> None:
    assert isinstance(said(402, replayed=True), Rejected)
    assert isinstance(said(200, replayed=True), Done)


def test_a_stale_version_says_what_to_do() -> None:
    got = said(412, error("precondition_failed", "the version is 4"))
    assert isinstance(got, Rejected)
    assert "the version is 4" in got.reason
    assert "read it again" in got.reason


def test_too_many_was_not_looked_at() -> None:
    assert said(429, error("slow_down", "slow down"), retry_after="30") == NotSent("slow down (HTTP 429 slow_down)", 30)


@pytest.mark.parametrize("code", ["insufficient_quota", "quota_exceeded"])
def test_an_exhausted_quota_will_not_come_back(code: str) -> None:
    got = said(429, error(code))
    assert isinstance(got, NotSent)
    assert got.last


def test_no_status_is_without_an_answer() -> None:
    for code in range(100, 1000):
        got = said(code)
        assert isinstance(got, Done | Rejected | Unknown | NotSent)
        if not isinstance(got, Done):
            assert got.reason
