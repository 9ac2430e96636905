"""Every answer comes back from the journal as the value it was."""

from typing import Annotated

import pytest
from pydantic import Field, TypeAdapter

from tools.outcome import Answer, Done, Doubt, Found, InFlight, NotFound, NotSent, Pending, Rejected, Unknown

ANSWERS = [
    Done({"a": [1, None, "ä"]}, "id"),
    Done(None),
    Rejected("no", 402, {"error": 1}),
    Unknown("?", Doubt.KEY_REUSED),
    NotSent("busy", 1.5, last=True),
    InFlight("wait", 1),
    Pending("later", None),
]


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda answer: answer.kind)
def test_an_answer_survives_the_journal(answer: Answer) -> None:
    adapter: TypeAdapter[Answer] = TypeAdapter(Annotated[Answer, Field(discriminator="kind")])
    assert adapter.validate_json(adapter.dump_json(answer)) == answer


@pytest.mark.parametrize("found", [NotFound("none"), *(item for item in ANSWERS if not isinstance(item, InFlight))])
def test_a_finding_survives_the_journal(found: Found) -> None:
    adapter: TypeAdapter[Found] = TypeAdapter(Annotated[Found, Field(discriminator="kind")])
    assert adapter.validate_json(adapter.dump_json(found)) == found
