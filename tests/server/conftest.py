"""A real stack for the tests of this folder: restate-server, receiver, model and workers, as processes."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.stack import Stack
from tests.server.world import World

QUICK = {
    "PAWL_MODEL_BACKOFF_S": "0.1",
    "PAWL_MODEL_DEADLINE_S": "20",
}
_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with Stack(Path(tmp_path_factory.mktemp("stack")), worker_env=QUICK) as made:
        yield made


@pytest.fixture
def world(stack: Stack) -> Iterator[World]:
    """The shared stack, in order before and after the test; the run ids and scripts of each test are its own."""
    made = World(stack, next(_numbers))
    made.restore()
    yield made
    made.restore()
