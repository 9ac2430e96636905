"""Codecs over the vault: a value encrypted as a whole, one of which only some fields are, one that carries its key.

Rule: who writes names the key; a place (whose entry, which one) is bound to the bytes. What cannot be read raises
Unreadable, and never where Restate would take that for the end of a call.
Must not know: what the values mean.
"""

import json
from collections.abc import Mapping
from typing import Any, Generic, TypeVar

from restate.serde import Serde

from services import vault
from services.codec import Codec, newer_fields
from services.vault import PLAIN, Unreadable, key_of

T = TypeVar("T")
ENCRYPTED = "sealed"
"""The field that holds what the blank fields held."""


class Encrypted(Serde[T]):
    """The value is encrypted as a whole. To read, the key need not be named."""

    def __init__(self, codec: Codec[T], place: str, key: str = PLAIN) -> None:
        self._codec, self._place, self._key = codec, place, key

    def serialize(self, obj: T | None) -> bytes:
        return vault.in_use().encrypt(self._codec.serialize(obj), self._key, self._place)

    def deserialize(self, buf: bytes) -> T | None:
        return self._codec.deserialize(vault.in_use().decrypt(buf, self._place))


class PartlyEncrypted(Serde[T]):
    """Fields that hold texts are encrypted, the others stay readable for whoever reads Restate's tables.

    `blanks`: what stands in place of the encrypted fields. `lenient`: without the key the value is read with
    the blanks.
    """

    def __init__(
        self, codec: Codec[T], blanks: Mapping[str, Any], place: str, key: str = PLAIN, *, lenient: bool = False
    ) -> None:
        self._codec, self._blanks, self._place, self._key, self._lenient = codec, blanks, place, key, lenient

    def serialize(self, obj: T | None) -> bytes:
        plain = self._codec.serialize(obj)
        if self._key == PLAIN:
            return plain
        fields = json.loads(plain)
        texts = _json({name: fields[name] for name in self._blanks})
        encrypted = vault.in_use().encrypt(texts, self._key, self._place).hex()
        return _json({**fields, **self._blanks, ENCRYPTED: encrypted})

    def deserialize(self, buf: bytes) -> T | None:
        fields = json.loads(buf) if f'"{ENCRYPTED}"'.encode() in buf else None
        if not isinstance(fields, dict) or ENCRYPTED not in fields:
            return self._codec.deserialize(buf)
        if (sentence := newer_fields(fields)) is not None:
            raise Unreadable(sentence)
        try:
            texts = json.loads(vault.in_use().decrypt(bytes.fromhex(fields.pop(ENCRYPTED)), self._place))
        except Unreadable:
            if not self._lenient:
                raise
            texts = {}
        return self._codec.deserialize(_json({**fields, **texts}))


class Parcel(Generic[T]):
    """A value with the name of the key that it is under. It is opened by whoever uses it: a handler's input that
    cannot be read must not end the call, because it can be read when the key is back."""

    def __init__(
        self, value: T | None = None, key: str = PLAIN, kept: "tuple[Encrypted[T], bytes] | None" = None
    ) -> None:
        self.key = key
        self._value, self._kept = value, kept

    def open(self) -> T:
        """Raises Unreadable."""
        if self._value is None and self._kept is not None:
            codec, data = self._kept
            self._value = codec.deserialize(data)
        assert self._value is not None, "a parcel is made of a value or of its bytes"
        return self._value


class ParcelCodec(Serde[Parcel[T]]):
    def __init__(self, codec: Codec[T], place: str) -> None:
        self._codec, self._place = codec, place

    def serialize(self, obj: Parcel[T] | None) -> bytes:
        return b"" if obj is None else Encrypted(self._codec, self._place, obj.key).serialize(obj.open())

    def deserialize(self, buf: bytes) -> Parcel[T] | None:
        return Parcel(None, key_of(buf), (Encrypted(self._codec, self._place), buf)) if buf else None


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
