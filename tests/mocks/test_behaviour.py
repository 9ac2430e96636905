"""What follows from a behaviour before, in place of, together with and after the commit."""

import pytest
from pydantic import ValidationError

from mocks.answer import Answer, Cut, Reaction
from mocks.behaviour import Behaviour, Fail, Refuse, after_commit, before_commit, instead_of_executing, to_store

SUCCESS = Answer(201, b'{"id": "ch_1"}')
ERROR = Fail().to_answer()
RAW = {"status": 429, "headers": {"Retry-After": "3"}, "body": "slow down"}
RAW_ANSWER = Answer(429, b"slow down", (("Retry-After", "3"), ("Content-Type", "application/json")))


@pytest.mark.parametrize(
    "fields,before,instead,stored,leaves",
    [
        ({}, None, None, SUCCESS, SUCCESS),
        ({"slow_ms": 5, "slow_after_ms": 5}, None, None, SUCCESS, SUCCESS),
        ({"lose_answer": "before_commit"}, Cut(), None, SUCCESS, SUCCESS),
        ({"lose_answer": "after_commit"}, None, None, SUCCESS, Cut()),
        ({"fail": {"when": "before_commit"}}, ERROR, None, SUCCESS, SUCCESS),
        ({"fail": {"when": "before_commit", "store": True}}, None, (ERROR, True), SUCCESS, SUCCESS),
        ({"fail": {"when": "after_commit"}}, None, None, SUCCESS, ERROR),
        ({"fail": {"when": "after_commit", "store": True}}, None, None, ERROR, SUCCESS),
        ({"refuse": {}}, None, (Refuse().to_answer(), True), SUCCESS, SUCCESS),
        ({"refuse": {"store": False}}, None, (Refuse().to_answer(), False), SUCCESS, SUCCESS),
        ({"answer": RAW}, RAW_ANSWER, None, SUCCESS, SUCCESS),
        ({"answer_after": RAW}, None, None, SUCCESS, RAW_ANSWER),
        ({"answer_after": RAW, "lose_answer": "after_commit"}, None, None, SUCCESS, Cut()),
    ],
)
def test_each_field_acts_at_its_point_only(
    fields: dict[str, object],
    before: Reaction | None,
    instead: tuple[Answer, bool] | None,
    stored: Answer,
    leaves: Reaction,
) -> None:
    behaviour = Behaviour.model_validate(fields)
    assert before_commit(behaviour) == before
    assert instead_of_executing(behaviour) == instead
    assert to_store(behaviour, SUCCESS) == stored
    assert after_commit(behaviour, SUCCESS) == leaves


@pytest.mark.parametrize(
    "fields",
    [
        {"slow_s": 1},
        {"slow_ms": -1},
        {"lose_answer": "sometimes"},
        {"fail": {"status": 99}},
        {"times": 0},
        {"trickle_bytes_per_s": 0},
        {"answer": {"body_base64": "?"}},
        {"key_lifetime_s": 0},
    ],
)
def test_a_wrong_behaviour_is_refused(fields: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Behaviour.model_validate(fields)
