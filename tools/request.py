"""The bytes that leave: one request to a receiver, fixed before it is sent and kept until its outcome is final.

Rule: the same arguments give the same bytes in every process, so a repeat is byte-identical and its digest can be
approved. What cannot be written down that way raises ValueError here, before anything is sealed.
Must not know: keys as headers (the wire adds `Idempotency-Key`), secrets, addresses, effect classes.
"""

import hashlib
import json
import re
from dataclasses import dataclass
from urllib.parse import quote, urlencode

from pydantic import JsonValue

# The method of a code tool's request, which names a function and goes to no receiver.
CALL = "CALL"
JSON_HEADER = ("content-type", "application/json")
# What may stand in a header: visible ASCII and spaces. A line break would start a header of its own.
HEADER_VALUE = re.compile(r"[\x20-\x7e]*")
# A token of RFC 9110, in lower case because that is how names are compared here.
HEADER_NAME = re.compile(r"[a-z0-9!#$%&'*+.^_`|~-]+")
_METHOD = re.compile(r"[A-Z]{1,16}")
# RFC 3986's characters of a path and a query. A client would rewrite any other one, or a dot segment, on its way out.
_PATH = re.compile(r"/(?:[A-Za-z0-9/?:@!$&()*+,;=._~-]|%[0-9A-F]{2})*")
_DOT_SEGMENT = re.compile(r"/(?:\.|%2E){1,2}(?=[/?]|$)")
_NEVER_HERE = frozenset({"idempotency-key", "authorization", "cookie", "host", "content-length", "transfer-encoding"})


@dataclass(frozen=True, slots=True)
class Request:
    """One request. `path` starts with a slash, is relative to the receiver's address and already percent-encoded."""

    method: str
    path: str
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if not _METHOD.fullmatch(self.method):
            raise ValueError(f"the method {self.method!r} is not one of HTTP's")
        if self.method != CALL and not _is_path(self.path):
            raise ValueError(
                f"the path {self.path!r} must start with a slash, be percent-encoded and have no dot segments"
            )
        for name, value in self.headers:
            if not HEADER_NAME.fullmatch(name) or not HEADER_VALUE.fullmatch(value):
                raise ValueError(f"the header {name!r} must have a lower-case name and a value of printable ASCII")
            if name in _NEVER_HERE:
                raise ValueError(f"the header {name!r} is the wire's to set, not a tool's")

    def digest(self) -> str:
        """SHA-256 in hex over method, path, headers and body: what an approval is bound to."""
        parts = [self.method, self.path, *(f"{name}: {value}" for name, value in self.headers), ""]
        return hashlib.sha256("\n".join(parts).encode() + self.body).hexdigest()

    def to_json(self) -> dict[str, JsonValue]:
        """Plain JSON for the ledger. The body is text; bodies are JSON and so always UTF-8."""
        return {
            "method": self.method,
            "path": self.path,
            "body": self.body.decode(),
            "headers": [[name, value] for name, value in self.headers],
        }

    @classmethod
    def from_json(cls, data: dict[str, JsonValue]) -> "Request":
        """The request that `to_json` wrote, byte for byte. Raises ValueError for anything else."""
        match data:
            case {"method": str(method), "path": str(path), "body": str(body), "headers": list(headers)}:
                return cls(method, path, body.encode(), tuple(_pair(entry) for entry in headers))
            case _:
                raise ValueError("this is not a request that was written by to_json")


def _pair(entry: JsonValue) -> tuple[str, str]:
    match entry:
        case [str(name), str(value)]:
            return name, value
        case _:
            raise ValueError("a header must be a pair of texts")


def _is_path(path: str) -> bool:
    return bool(_PATH.fullmatch(path)) and not _DOT_SEGMENT.search(path)


_CANONICAL = json.JSONEncoder(ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))


def canonical_text(value: JsonValue) -> str:
    """The one JSON text of a value: keys sorted, no spaces, plain characters kept. Raises ValueError for NaN."""
    return _CANONICAL.encode(value)


def canonical(value: JsonValue) -> bytes:
    """The same in UTF-8. Raises ValueError for lone surrogates as well."""
    return canonical_text(value).encode()


def part(value: str) -> str:
    """One segment of a path. Raises ValueError where the value would name another path (empty, `.`, `..`)."""
    if value in ("", ".", ".."):
        raise ValueError(f"{value!r} cannot be part of an address")
    return quote(value, safe="")  # a tilde, dot, dash and underscore stay as they are


def get(path: str, **params: str | int) -> Request:
    """A GET; the parameters become the query, sorted by name."""
    query = urlencode(sorted(params.items()), quote_via=quote, safe="")
    return Request("GET", f"{path}?{query}" if query else path)


def post(path: str, json: JsonValue) -> Request:
    """A POST of a JSON body."""
    return Request("POST", path, canonical(json), (JSON_HEADER,))


def put(path: str, json: JsonValue, if_match: str | None = None) -> Request:
    """A PUT of a JSON body; `if_match` is the version that must still be there, without quotes."""
    match = () if if_match is None else (("if-match", _entity_tag(if_match)),)
    return Request("PUT", path, canonical(json), (JSON_HEADER, *match))


def _entity_tag(version: str) -> str:
    if '"' in version:
        raise ValueError("a version must not contain a quotation mark")
    return f'"{version}"'
