"""One SQLite connection whose writes are committed in groups.

Rule: everything written without an `await` in between is in one transaction, and nobody is answered before `settled()`
has returned. The commit comes at the end of the event loop's round, so requests that arrive together share one fsync.
WAL, so a killed process leaves every commit whole and nothing else. It must not know what is stored.
"""

import asyncio
import fcntl
import sqlite3
from pathlib import Path
from typing import IO, Any, Literal

# Writes that nobody waits for (an answer's status) join the next group, at the latest after this time.
LAZY_COMMIT_S = 0.02


class DatabaseInUseError(Exception):
    """Another process has this database open; two of them would take each other's claims for dead."""


class Database:
    """The connection, its open group and the future that the group's waiters share."""

    def __init__(self, path: Path, schema: str, synchronous: Literal["FULL", "NORMAL"]) -> None:
        """Open or create `path`. Raises DatabaseInUseError, OSError, sqlite3.Error."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = _lock(path)
        self._connection = sqlite3.connect(path, isolation_level=None)
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute(f"PRAGMA synchronous={synchronous}")
        self._connection.executescript(schema)
        self._group: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def read(self, sql: str, *parameters: Any) -> list[Any]:
        """Rows as tuples; sees the open group."""
        return self._connection.execute(sql, parameters).fetchall()

    def write(self, sql: str, *parameters: Any) -> int:
        """Add a write to the group and return the last row id. Durable once `settled()` has returned."""
        self._begin()
        if self._group is None:
            loop = asyncio.get_running_loop()
            self._group = loop.create_future()
            loop.call_soon(self.commit)
        return self._execute(sql, parameters)

    def write_lazily(self, sql: str, *parameters: Any) -> None:
        """Add a write that no one waits for: visible at once, durable within LAZY_COMMIT_S."""
        self._begin()
        if self._group is None and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(LAZY_COMMIT_S, self.commit)
        self._execute(sql, parameters)

    async def settled(self) -> None:
        """Return when the open group, if there is one, is on disk. Raises sqlite3.Error where it could not be."""
        if self._group is not None:
            await asyncio.shield(self._group)

    def commit(self) -> None:
        """Commit the group and wake its waiters; on an error the whole group is rolled back and all of them get it."""
        try:
            if self._connection.in_transaction:
                self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            self._fail(error)
            return
        group = self._end_group()
        if group is not None:
            group.set_result(None)

    def close(self) -> None:
        """Commit what is open and close."""
        self.commit()
        self._connection.close()
        self._lock.close()

    def _execute(self, sql: str, parameters: tuple[Any, ...]) -> int:
        try:
            return self._connection.execute(sql, parameters).lastrowid or 0
        except sqlite3.Error as error:
            self._fail(error)  # half of what belongs together must not be committed
            raise

    def _fail(self, error: sqlite3.Error) -> None:
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")
        group = self._end_group()
        if group is not None:
            group.set_exception(error)
            group.exception()  # marked as seen: a group may have no waiter

    def _end_group(self) -> asyncio.Future[None] | None:
        group, self._group = self._group, None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        return group

    def _begin(self) -> None:
        if not self._connection.in_transaction:
            self._connection.execute("BEGIN IMMEDIATE")


def _lock(path: Path) -> IO[str]:
    """Hold a lock for the life of the process; the kernel drops it on SIGKILL too."""
    lock = path.with_name(path.name + ".lock").open("a")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        lock.close()
        raise DatabaseInUseError(f"the database {path} is in use by another process") from error
    return lock
