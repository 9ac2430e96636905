"""Bytes in the journal and the state, and bodies that do not fit."""

import pytest

from services.codec import BodyCodec, Refused, codec
from services.journal import Stale
from services.messages import CancelRequest, DecideRequest, Grant, RunRequest, digest
from services.moves import Prepared
from services.send import Looked, Sealed, Told
from tools.outcome import Answer, Done, Doubt, Found, InFlight, NotFound, NotSent, Pending, Rejected, Unknown

ANSWERS: tuple[Answer, ...] = (
    Done({"a": [1, None, "é"]}, "x"),
    Done(None),
    Rejected("no", 402, {"b": 1}),
    Unknown("?", Doubt.STORED_ERROR),
    NotSent("away", 1.5, last=True),
    InFlight("busy", 2.0),
    Pending("taken"),
)
FOUND: tuple[Found, ...] = (Done({"id": "x"}, "x"), NotFound("none"), Pending("taken"), Unknown("?"), NotSent("away"))


@pytest.mark.parametrize("answer", ANSWERS)
def test_an_answer_comes_back_as_its_own_type(answer: Answer) -> None:
    """B28"""
    kept = codec(Told, Stale)
    assert kept.deserialize(kept.serialize(Told(answer, 12.5))) == Told(answer, 12.5)


@pytest.mark.parametrize("found", FOUND)
def test_a_look_up_comes_back_as_its_own_type(found: Found) -> None:
    kept = codec(Looked, Stale)
    assert kept.deserialize(kept.serialize(Looked(found, 1.0))) == Looked(found, 1.0)


def test_a_seal_and_a_stale_step_are_told_apart() -> None:
    kept = codec(Sealed, Stale)
    sealed = Sealed(1.0, {"key": Prepared({"method": "POST"}, "d", 3), "other": Prepared(None, failed="ValueError")})
    assert kept.deserialize(kept.serialize(sealed)) == sealed
    assert kept.deserialize(kept.serialize(Stale("inv_1"))) == Stale("inv_1")


@pytest.mark.parametrize(
    ("model", "body", "says"),
    [
        (RunRequest, b"not json", "Invalid JSON"),
        (RunRequest, b"", "task: missing"),
        (RunRequest, b"[]", "body"),
        (RunRequest, b'{"task": ""}', "task"),
        (RunRequest, b'{"task": "x", "taks": 1}', "taks: unknown field"),
        (RunRequest, b'{"task": "x", "again": 1}', "again"),
        (RunRequest, b'{"task": "x", "grant": {"each": 5}}', "grant.each: unknown field"),
        (RunRequest, b'{"task": "\\ud83d"}', "Invalid JSON"),
        (DecideRequest, b'{"key": "k", "decision": "maybe"}', "decision"),
        (CancelRequest, b'{"undo": "perhaps"}', "undo"),
    ],
)
def test_a_body_that_does_not_fit_becomes_a_sentence_that_names_the_field(model: type, body: bytes, says: str) -> None:
    refused = BodyCodec(model).deserialize(body)
    assert isinstance(refused, Refused) and says in refused.sentence


def test_the_digest_of_a_request_is_its_meaning_not_its_form() -> None:
    """B47"""
    one = RunRequest(task="x", grant=Grant(each_cents=5))
    assert one.digest() == RunRequest.model_validate_json('{"grant":{"each_cents":5},"task":"x"}').digest()
    assert one.digest() == one.model_copy(update={"again": 2}).digest()
    assert one.digest() != RunRequest(task="x").digest() != RunRequest(task="y").digest()
    assert digest({"b": 1, "a": 2}) == digest({"a": 2, "b": 1})
