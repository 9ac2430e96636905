"""What a person reads about a request."""

import pytest

from lab.follow import of_call, of_request
from mocks.rows import ModelRow, RequestRow


def row(*, applied: bool, status: int | None, method: str = "POST") -> RequestRow:
    return RequestRow(
        n=1,
        effect="refund",
        key="k",
        reference=None,
        digest="",
        applied=applied,
        status=status,
        at=1.0,
        method=method,
        path="/",
    )


@pytest.mark.parametrize(
    ("seen", "text"),
    [
        (row(applied=True, status=None), "applied, not answered yet"),
        (row(applied=True, status=201), "applied, answered 201"),
        (row(applied=False, status=201), "known: the first answer again, 201"),
        (row(applied=False, status=409), "nothing applied, answered 409"),
        (row(applied=False, status=200, method="GET"), "read, answered 200"),
    ],
)
def test_a_request_is_told_by_what_it_did(seen: RequestRow, text: str) -> None:
    step = of_request(seen)
    assert step is not None
    assert step.text == text


def test_what_is_open_is_not_told_yet() -> None:
    assert of_request(row(applied=False, status=None)) is None
    assert of_call(ModelRow(n=1, at=1.0, script=None, turn=None, status=None, messages=1, digest="", bytes=1)) is None


def test_a_model_call_is_told_by_its_turn() -> None:
    step = of_call(ModelRow(n=1, at=1.0, script="refund", turn=0, status=200, messages=2, digest="", bytes=1))
    assert step is not None
    assert step.text == "turn 1, history of 2, answered 200"
