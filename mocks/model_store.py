"""The model's state: request log, scripts, switches and how often an identical request was seen.

Rule: what a killed process had answered is still counted after its restart. It applies no effects, so a commit need not
outlive a power cut.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mocks.database import Database
from mocks.rows import ModelRow
from mocks.script import Script
from mocks.switches import Switches

SCHEMA = """
CREATE TABLE IF NOT EXISTS requests (
    n INTEGER PRIMARY KEY AUTOINCREMENT, at REAL NOT NULL, script TEXT, turn INTEGER, status INTEGER, messages INTEGER,
    digest TEXT NOT NULL, bytes INTEGER NOT NULL, headers TEXT NOT NULL, body BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS scripts (
    n INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, body TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS switches (one INTEGER PRIMARY KEY CHECK (one = 1), body TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS seen (digest TEXT PRIMARY KEY, times INTEGER NOT NULL) WITHOUT ROWID;
"""


class ModelStore:
    """Everything that the model keeps."""

    def __init__(self, path: Path) -> None:
        """Open or create. Raises DatabaseInUseError, OSError, sqlite3.Error."""
        self.database = Database(path, SCHEMA, synchronous="NORMAL")

    def arrived(self, at: float, messages: int | None, digest: str, raw: bytes, headers: dict[str, str]) -> int:
        """Log a request and return its number."""
        return self.database.write(
            "INSERT INTO requests (at, messages, digest, bytes, headers, body) VALUES (?, ?, ?, ?, ?, ?)",
            at,
            messages,
            digest,
            len(raw),
            json.dumps(headers),
            raw,
        )

    def chosen(self, request: int, script: str | None, turn: int) -> None:
        """Note which reply was chosen."""
        self.database.write("UPDATE requests SET script = ?, turn = ? WHERE n = ?", script, turn, request)

    def answered(self, request: int, status: int) -> None:
        """Note what is about to be sent."""
        self.database.write_lazily("UPDATE requests SET status = ? WHERE n = ?", status, request)

    def requests(self, after: int = 0) -> list[ModelRow]:
        """The log behind number `after`."""
        rows = self.database.read(
            "SELECT n, at, script, turn, status, messages, digest, bytes FROM requests WHERE n > ? ORDER BY n", after
        )
        return [_row(row) for row in rows]

    def request(self, n: int) -> tuple[ModelRow, dict[str, str], bytes] | None:
        """Row, headers and raw body of one request."""
        rows = self.database.read(
            "SELECT n, at, script, turn, status, messages, digest, bytes, headers, body FROM requests WHERE n = ?", n
        )
        for *row, headers, body in rows:
            return _row(row), json.loads(headers), body
        return None

    def seen(self, digest: str) -> int:
        """How often this request was counted before; counts it once more."""
        rows = self.database.read("SELECT times FROM seen WHERE digest = ?", digest)
        times: int = rows[0][0] if rows else 0
        self.database.write("INSERT OR REPLACE INTO seen (digest, times) VALUES (?, ?)", digest, times + 1)
        return times

    def scripts(self) -> list[tuple[str, Script]]:
        """The scripts that were put, the last one first."""
        rows = self.database.read("SELECT name, body FROM scripts ORDER BY n DESC")
        return [(name, Script.model_validate(json.loads(body))) for name, body in rows]

    def put_script(self, name: str, body: Any) -> None:
        """Add or replace a script (a JSON value that Script accepts); it becomes the first one."""
        self.database.write("INSERT OR REPLACE INTO scripts (name, body) VALUES (?, ?)", name, json.dumps(body))

    def drop_script(self, name: str) -> None:
        """Remove a script that was put."""
        self.database.write("DELETE FROM scripts WHERE name = ?", name)

    def switches(self) -> Switches:
        """The switches as last put."""
        rows = self.database.read("SELECT body FROM switches")
        return Switches.model_validate(json.loads(rows[0][0])) if rows else Switches()

    def put_switches(self, switches: Switches) -> None:
        """Replace the switches."""
        body = json.dumps(switches.model_dump(exclude_unset=True))
        self.database.write("INSERT OR REPLACE INTO switches (one, body) VALUES (1, ?)", body)


def _row(columns: Sequence[Any]) -> ModelRow:
    n, at, script, turn, status, messages, digest, size = columns
    return {
        "n": n,
        "at": at,
        "script": script,
        "turn": turn,
        "status": status,
        "messages": messages,
        "digest": digest,
        "bytes": size,
    }
