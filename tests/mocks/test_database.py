"""Group commit: what is written together is kept together, and nobody is told before it is on disk."""

import asyncio
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from mocks.database import Database, DatabaseInUseError

SCHEMA = """
CREATE TABLE IF NOT EXISTS t (n INTEGER PRIMARY KEY, word TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS child (t INTEGER REFERENCES t (n) DEFERRABLE INITIALLY DEFERRED);
"""
INSERT = "INSERT INTO t (word) VALUES (?)"


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = Database(tmp_path / "new" / "t.db", SCHEMA, "FULL")
    yield database
    database.close()


def seen_by_others(tmp_path: Path) -> list[str]:
    other = sqlite3.connect(tmp_path / "new" / "t.db")
    try:
        return [word for (word,) in other.execute("SELECT word FROM t ORDER BY n")]
    finally:
        other.close()


async def test_a_group_is_visible_to_others_only_when_settled(database: Database, tmp_path: Path) -> None:
    assert database.write(INSERT, "a") == 1
    assert database.write(INSERT, "b") == 2
    assert seen_by_others(tmp_path) == []
    assert database.read("SELECT word FROM t ORDER BY n") == [("a",), ("b",)]
    await database.settled()
    assert seen_by_others(tmp_path) == ["a", "b"]


async def test_a_write_that_fails_takes_its_group_with_it(database: Database, tmp_path: Path) -> None:
    database.write(INSERT, "a")
    with pytest.raises(sqlite3.IntegrityError):
        database.write(INSERT, None)
    await database.settled()
    assert seen_by_others(tmp_path) == []
    database.write(INSERT, "b")
    await database.settled()
    assert seen_by_others(tmp_path) == ["b"]


async def test_whoever_waits_for_a_commit_that_fails_is_told(database: Database, tmp_path: Path) -> None:
    database.read("PRAGMA foreign_keys=ON")
    database.write("INSERT INTO child VALUES (1)")
    with pytest.raises(sqlite3.IntegrityError):
        await database.settled()
    database.write(INSERT, "a")
    await database.settled()
    assert seen_by_others(tmp_path) == ["a"]


async def test_a_lazy_write_is_visible_at_once_and_committed_soon(database: Database, tmp_path: Path) -> None:
    database.write_lazily(INSERT, "a")
    assert database.read("SELECT word FROM t") == [("a",)]
    await asyncio.wait_for(database.settled(), 0.01)
    assert seen_by_others(tmp_path) == []
    await asyncio.sleep(0.1)
    assert seen_by_others(tmp_path) == ["a"]


async def test_closing_commits(tmp_path: Path) -> None:
    database = Database(tmp_path / "new" / "t.db", SCHEMA, "FULL")
    database.write_lazily(INSERT, "a")
    database.close()
    assert seen_by_others(tmp_path) == ["a"]


async def test_full_means_wal_and_a_sync_on_each_commit(database: Database) -> None:
    assert database.read("PRAGMA journal_mode") == [("wal",)]
    assert database.read("PRAGMA synchronous") == [(2,)]


async def test_a_second_owner_is_refused(database: Database, tmp_path: Path) -> None:
    assert database.read("SELECT 1") == [(1,)]
    with pytest.raises(DatabaseInUseError, match="in use by another process"):
        Database(tmp_path / "new" / "t.db", SCHEMA, "FULL")
