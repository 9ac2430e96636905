"""What a test of a tool is given: the mock receiver as a process of its own, and a wire to it."""

import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.tools.peer import wire_to
from tools.wire import Wire


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    db: Path = tmp_path_factory.mktemp("receiver") / "receiver.db"
    command = [sys.executable, "-m", "mocks", "receiver", "--host", "127.0.0.1", "--port", "0", "--db", str(db)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().split()[-1]
        finally:
            process.terminate()


@pytest.fixture
async def wire(url: str) -> AsyncIterator[Wire]:
    async with wire_to(url) as made:
        yield made
