"""The receiver's state: request log, effects, keys, customers and behaviours, over one group-committing database.

Rule: an effect, its request's `applied` mark and the key's stored answer are written without an `await` in between, so
they are in one transaction: after a crash there is either all of it or nothing. A claim that a dead process left is
dropped on opening, because without an answer there was no effect.
"""

import json
from pathlib import Path
from typing import Any

from mocks.answer import Answer
from mocks.behaviour import Behaviour
from mocks.database import Database
from mocks.idempotency import KeyRecord
from mocks.rows import EffectRow, RequestRow

SCHEMA = """
CREATE TABLE IF NOT EXISTS requests (
    n INTEGER PRIMARY KEY AUTOINCREMENT, effect TEXT NOT NULL, key TEXT, reference TEXT, digest TEXT NOT NULL,
    applied INTEGER NOT NULL DEFAULT 0, status INTEGER, at REAL NOT NULL, method TEXT NOT NULL, path TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS effects (
    n INTEGER PRIMARY KEY AUTOINCREMENT, effect TEXT NOT NULL, id TEXT NOT NULL, key TEXT, reference TEXT,
    body TEXT NOT NULL, at REAL NOT NULL, request INTEGER NOT NULL UNIQUE REFERENCES requests (n)
);
CREATE INDEX IF NOT EXISTS effects_by_key ON effects (key, effect);
CREATE INDEX IF NOT EXISTS effects_by_reference ON effects (reference, effect);
CREATE TABLE IF NOT EXISTS keys (
    key TEXT PRIMARY KEY, fingerprint TEXT NOT NULL, owner INTEGER NOT NULL, since REAL NOT NULL,
    status INTEGER, headers TEXT, body BLOB
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS customers (id TEXT PRIMARY KEY, version INTEGER NOT NULL, last_key TEXT, body TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS behaviours (effect TEXT PRIMARY KEY, body TEXT NOT NULL);
"""


FIND = {
    "key": "SELECT id, body FROM effects WHERE key = ? AND effect = ? ORDER BY n",
    "reference": "SELECT id, body FROM effects WHERE reference = ? AND effect = ? ORDER BY n",
}


class Store:
    """Everything that the receiver keeps."""

    def __init__(self, path: Path) -> None:
        """Open and recover. Raises DatabaseInUseError, OSError, sqlite3.Error."""
        self.database = Database(path, SCHEMA + RELEASE_DEAD_CLAIMS, synchronous="FULL")
        [(self._effects,)] = self.database.read("SELECT coalesce(max(n), 0) FROM effects")

    # requests

    def arrived(
        self, effect: str, key: str | None, reference: str | None, digest: str, at: float, method: str, path: str
    ) -> int:
        """Log a request and return its number."""
        return self.database.write(
            "INSERT INTO requests (effect, key, reference, digest, at, method, path) VALUES (?, ?, ?, ?, ?, ?, ?)",
            effect,
            key,
            reference,
            digest,
            at,
            method,
            path,
        )

    def answered(self, request: int, status: int) -> None:
        """Note what is about to be sent."""
        self.database.write_lazily("UPDATE requests SET status = ? WHERE n = ?", status, request)

    def requests(self, after: int = 0, effect: str | None = None) -> list[RequestRow]:
        """The log behind number `after`, of one effect or of all."""
        rows = self.database.read(
            "SELECT n, effect, key, reference, digest, applied, status, at, method, path FROM requests"
            " WHERE n > ? AND (? IS NULL OR effect = ?) ORDER BY n",
            after,
            effect,
            effect,
        )
        return [
            {
                "n": n,
                "effect": name,
                "key": key,
                "reference": reference,
                "digest": digest,
                "applied": bool(applied),
                "status": status,
                "at": at,
                "method": method,
                "path": path,
            }
            for n, name, key, reference, digest, applied, status, at, method, path in rows
        ]

    # effects

    def next_id(self, prefix: str) -> str:
        """An id that no object has yet."""
        return f"{prefix}_{self._effects + 1}"

    def apply(
        self, request: int, effect: str, made: str, key: str | None, reference: str | None, body: Any, at: float
    ) -> None:
        """Apply the effect of this request: one effect row, and the request's mark."""
        self._effects = self.database.write(
            "INSERT INTO effects (effect, id, key, reference, body, at, request) VALUES (?, ?, ?, ?, ?, ?, ?)",
            effect,
            made,
            key,
            reference,
            json.dumps(body),
            at,
            request,
        )
        self.database.write("UPDATE requests SET applied = 1 WHERE n = ?", request)

    def effects(self, after: int = 0, effect: str | None = None) -> list[EffectRow]:
        """The effects behind number `after`, of one name or of all."""
        rows = self.database.read(
            "SELECT n, effect, id, key, reference, body, at FROM effects"
            " WHERE n > ? AND (? IS NULL OR effect = ?) ORDER BY n",
            after,
            effect,
            effect,
        )
        return [
            {"n": n, "effect": name, "id": made, "key": key, "reference": reference, "body": json.loads(body), "at": at}
            for n, name, made, key, reference, body, at in rows
        ]

    def find(self, effect: str, by: str, value: str) -> list[dict[str, Any]]:
        """The objects that effects of this name made, by `key` or `reference`."""
        rows = self.database.read(FIND[by], value, effect)
        return [{"id": made, **json.loads(body)} for made, body in rows]

    # keys

    def key_record(self, key: str) -> KeyRecord | None:
        """What is kept for the key."""
        rows = self.database.read(
            "SELECT fingerprint, owner, since, status, headers, body FROM keys WHERE key = ?", key
        )
        for fingerprint, owner, since, status, headers, body in rows:
            answer = None if status is None else Answer(status, body, tuple((n, v) for n, v in json.loads(headers)))
            return KeyRecord(fingerprint, owner, since, answer)
        return None

    def claim(self, key: str, fingerprint: str, request: int, at: float) -> None:
        """Give the key to this request, in place of whatever was there."""
        self.database.write(
            "INSERT OR REPLACE INTO keys (key, fingerprint, owner, since) VALUES (?, ?, ?, ?)",
            key,
            fingerprint,
            request,
            at,
        )

    def keep_answer(self, key: str, request: int, answer: Answer) -> None:
        """Store the key's first answer; belongs into the same group as `apply`."""
        self.database.write(
            "UPDATE keys SET status = ?, headers = ?, body = ? WHERE key = ? AND owner = ?",
            answer.status,
            json.dumps(answer.headers),
            answer.body,
            key,
            request,
        )

    def release(self, key: str, request: int) -> None:
        """Give up this request's claim if it still has no answer."""
        self.database.write("DELETE FROM keys WHERE key = ? AND owner = ? AND status IS NULL", key, request)

    # customers

    def customer(self, customer_id: str) -> tuple[int, dict[str, Any]] | None:
        """Version and record as served, or None."""
        rows = self.database.read("SELECT version, last_key, body FROM customers WHERE id = ?", customer_id)
        for version, last_key, body in rows:
            record = {**json.loads(body), "customer_id": customer_id, "version": version, "last_key": last_key}
            return version, record
        return None

    def put_customer(self, customer_id: str, version: int, key: str | None, body: Any) -> None:
        """Replace the customer's record."""
        self.database.write(
            "INSERT OR REPLACE INTO customers (id, version, last_key, body) VALUES (?, ?, ?, ?)",
            customer_id,
            version,
            key,
            json.dumps(body),
        )

    # behaviours

    def behaviours(self) -> dict[str, Behaviour]:
        """All that are set, by effect."""
        rows = self.database.read("SELECT effect, body FROM behaviours")
        return {effect: Behaviour.model_validate_json(body) for effect, body in rows}

    def set_behaviour(self, effect: str, behaviour: Behaviour | None) -> None:
        """Replace or (with None) drop the behaviour of an effect."""
        if behaviour is None:
            self.database.write("DELETE FROM behaviours WHERE effect = ?", effect)
        else:
            self.database.write(
                "INSERT OR REPLACE INTO behaviours (effect, body) VALUES (?, ?)", effect, behaviour.model_dump_json()
            )


RELEASE_DEAD_CLAIMS = """
DELETE FROM keys WHERE status IS NULL AND NOT EXISTS (SELECT 1 FROM effects WHERE effects.request = keys.owner);
"""
