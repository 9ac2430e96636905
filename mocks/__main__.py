"""`python -m mocks receiver|model --host --port --db`. Wrong arguments end with code 2 and one sentence."""

import argparse
import asyncio
import sqlite3
import sys
import time
from pathlib import Path
from typing import NoReturn

from mocks.database import DatabaseInUseError
from mocks.model import Model
from mocks.model_store import ModelStore
from mocks.receiver import Receiver
from mocks.serve import serve
from mocks.store import Store

DEFAULT_PORTS = {"receiver": 7001, "model": 7002}


class OneSentence(argparse.ArgumentParser):
    """A parser whose error is one sentence."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and exit with code 2."""
        self.exit(2, f"{self.prog}: {message}\n")


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = OneSentence(prog="python -m mocks", description=__doc__)
    parser.add_argument("mock", choices=sorted(DEFAULT_PORTS))
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, help="0 takes a free one")
    parser.add_argument("--db", type=Path, required=True, help="the SQLite file, made where it does not exist")
    return parser.parse_args()


async def run(mock: str, host: str, port: int, db: Path) -> None:
    """Open the state, serve, close."""
    if mock == "receiver":
        store = Store(db)
        try:
            await serve(mock, Receiver(store, time.time).app(), host, port)
        finally:
            store.database.close()
    else:
        model_store = ModelStore(db)
        try:
            await serve(mock, Model(model_store, time.time).app(), host, port)
        finally:
            model_store.database.close()


def main() -> int:
    """Run the mock that the command line names; the exit code."""
    args = arguments()
    port = DEFAULT_PORTS[args.mock] if args.port is None else args.port
    try:
        asyncio.run(run(args.mock, args.host, port, args.db))
    except (DatabaseInUseError, OSError, OverflowError, sqlite3.Error) as error:
        sys.stderr.write(f"python -m mocks {args.mock}: {error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
