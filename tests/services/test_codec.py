"""Bytes in the journal and the state, and bodies that do not fit."""

import pytest

from services.codec import BodyCodec, Refused, codec
from services.conversation import Conversation
from services.journal import Stale
from services.messages import (
    NEWER,
    SCHEMA,
    Begun,
    CancelRequest,
    DecideRequest,
    Grant,
    Intent,
    RunEnd,
    RunRequest,
    RunRow,
    Tombstone,
    digest,
)
from services.moves import Prepared
from services.rulings import Slots
from services.send import Looked, Sealed, Told
from services.state import encrypted_begun
from services.vault import Unreadable
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
    one = RunRequest(task="x", grant=Grant(each_cents=5))
    assert one.digest() == RunRequest.model_validate_json('{"grant":{"each_cents":5},"task":"x"}').digest()
    assert one.digest() == one.model_copy(update={"again": 2}).digest()
    assert one.digest() != RunRequest(task="x").digest() != RunRequest(task="y").digest()
    assert digest({"b": 1, "a": 2}) == digest({"a": 2, "b": 1})


LATER = SCHEMA + 1
ROW = b'{"schema_number":%d,"digest":"d","state":"completed","ended_at":1.0,"kind":"tombstone"}'


@pytest.mark.parametrize(
    "body",
    [ROW % LATER, b'{"kind":"archived","schema_number":%d}' % LATER, b'{"schema_number":%d,"state":[]}' % LATER],
    ids=["a layout that fits", "another kind", "a layout that does not fit"],
)
def test_a_newer_layout_is_not_read_and_is_named_before_anything_else(body: bytes) -> None:
    with pytest.raises(Unreadable, match=rf"{NEWER} \(schema {LATER}, this one reads up to {SCHEMA}\)") as caught:
        codec(RunEnd, Tombstone).deserialize(body)
    assert caught.value.retry_after


def test_what_is_of_this_layout_or_broken_is_not_called_newer() -> None:
    assert codec(RunEnd, Tombstone).deserialize(ROW % SCHEMA)
    for body in (b"{", b"[3]", b'{"schema_number":"x"}', b'{"schema_number":1}', b"\xff"):
        with pytest.raises(Unreadable) as caught:
            codec(RunEnd, Tombstone).deserialize(body)
        assert NEWER not in str(caught.value)


def test_a_newer_layout_of_a_row_that_is_encrypted_in_part_is_named_without_its_key() -> None:
    newer = b'{"schema_number":%d,"sealed":["another","way"]}' % LATER
    with pytest.raises(Unreadable, match=NEWER):
        encrypted_begun("r1", lenient=True).deserialize(newer)


def test_everything_that_is_kept_in_the_state_of_a_run_or_a_session_has_the_number() -> None:
    for kind in (Begun, RunRow, RunEnd, Tombstone, Intent, Slots, Conversation):
        assert kind.model_fields["schema_number"].default == SCHEMA
        with pytest.raises(ValueError, match="schema_number"):
            kind.model_validate({"schema_number": LATER})
