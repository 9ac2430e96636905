"""How values become bytes in Restate's journal and state: plain JSON, checked against their type on the way back.

Rule: one codec for everything that is kept; a closed union is told apart by its `kind`. A layout with a higher number
than this code knows is never taken for one that it knows, even where it would fit.
Must not know: what the values mean.
"""

import json
from collections.abc import Callable
from functools import cache
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, Field, TypeAdapter, ValidationError
from restate.serde import Serde

from services.messages import NEWER, SCHEMA
from services.vault import Unreadable

T = TypeVar("T")
PLAIN: TypeAdapter[Any] = TypeAdapter(Any)


class Codec(Serde[T]):
    """Serialises a dataclass, a pydantic model or a union of such, through one `TypeAdapter`."""

    def __init__(self, adapter: TypeAdapter[T]) -> None:
        self._adapter = adapter
        # Called for every entry of every journal: without the adapter's own call around it.
        self._write: Callable[[T], bytes] = adapter.serializer.to_json

    def serialize(self, obj: T | None) -> bytes:
        return b"" if obj is None else self._write(obj)

    def deserialize(self, buf: bytes) -> T | None:
        try:
            return self._adapter.validate_json(buf) if buf else None
        except ValidationError as error:
            # The library's own text shows the values.
            raise Unreadable(newer(buf) or f"another version has written this: {sentence_of(error)}") from None


def newer(buf: bytes) -> str | None:
    """The sentence for a layout that is newer than this code, None for any other. Reads the bytes once more, so it is
    for what has been refused."""
    try:
        fields = json.loads(buf)
    except ValueError:
        return None
    return newer_fields(fields) if isinstance(fields, dict) else None


def newer_fields(fields: dict[str, Any]) -> str | None:
    number = fields.get("schema_number")
    if not isinstance(number, int) or number <= SCHEMA:
        return None
    return (
        f"{NEWER} (schema {number}, this one reads up to {SCHEMA}): deploy that version or a later one; until then"
        " nothing is done with it"
    )


@cache
def codec(*kinds: type[Any]) -> Codec[Any]:
    """The codec of one type, or of a union whose members carry different `kind` literals."""
    if len(kinds) == 1:
        return Codec(TypeAdapter(kinds[0]))
    union: Any = kinds[0]
    for kind in kinds[1:]:
        union = union | kind
    return Codec(TypeAdapter(Annotated[union, Field(discriminator="kind")]))


class Refused(BaseModel):
    """A request body that does not fit, as a sentence that names each field."""

    sentence: str


class BodyCodec(Serde[Any]):
    """Reads the body of a request. What does not fit becomes a `Refused` value, so that the handler can answer 400.

    An exception here would reach the caller as 500.
    """

    def __init__(self, model: type[BaseModel]) -> None:
        self._model = model

    def serialize(self, obj: BaseModel | None) -> bytes:
        return b"" if obj is None else obj.model_dump_json(exclude_none=True).encode()

    def deserialize(self, buf: bytes) -> BaseModel:
        try:
            return self._model.model_validate_json(buf or b"{}")
        except ValidationError as error:
            return Refused(sentence=sentence_of(error))


class AnswerCodec(Serde[Any]):
    """Writes what a handler answers: a model by its outward names, or plain JSON."""

    def serialize(self, obj: Any) -> bytes:
        if obj is None:
            return b"null"
        if isinstance(obj, BaseModel):
            return obj.model_dump_json(by_alias=True).encode()
        return PLAIN.dump_json(obj)

    def deserialize(self, buf: bytes) -> Any:
        return PLAIN.validate_json(buf) if buf else None


def sentence_of(error: ValidationError) -> str:
    """One line that names each field and what is wrong with it, without echoing the values."""
    problems = []
    for item in error.errors(include_url=False, include_input=False):
        where = ".".join(str(part) for part in item["loc"]) or "body"
        what = {"extra_forbidden": "unknown field", "missing": "missing"}.get(item["type"], item["msg"])
        problems.append(f"{where}: {what}")
    return "; ".join(problems)
