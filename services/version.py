"""Which code a worker is: a digest that it says of itself where Restate discovers it.

Rule: the same files and the same tools give the same digest, on every machine; any change of either gives another. What
is set by the environment is not part of it: a run records the settings that it began with.
Must not know: what is registered.
"""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

from restate import Service, VirtualObject

from tools import Tool

CODE = "pawl.code"
"""The entry of a service's metadata in which the digest stands."""
FOLDERS = ("services", "tools")
DIGITS = 12
"""Of a SHA-256: enough that two versions do not meet, few enough to be read aloud."""


def code_version(tools: Iterable[Tool], root: Path = Path(__file__).parent.parent) -> str:
    """Digest of the source files of the worker and of what its tools declare. Reads the files."""
    made = hashlib.sha256()
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*.py")):
            _add(made, path.relative_to(root).as_posix().encode(), path.read_bytes())
    for tool in sorted(tools, key=lambda each: each.name):
        declared = [tool.name, tool.description, tool.effect.value, tool.schema, list(tool.identity), tool.repeat.value]
        _add(made, b"tool", json.dumps(declared, sort_keys=True).encode())
    return made.hexdigest()[:DIGITS]


def mark(services: Iterable[Service | VirtualObject], code: str) -> None:
    """Each service says from now on which code it is."""
    for service in services:
        service.service_tag.metadata = {**(service.service_tag.metadata or {}), CODE: code}


def _add(made: "hashlib._Hash", *parts: bytes) -> None:
    for part in parts:
        # With its length, so that no text can pass for a name and a text.
        made.update(f"{len(part)}:".encode())
        made.update(part)
