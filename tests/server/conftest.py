"""A real stack for the tests of this folder: restate-server, receiver, model and workers, as processes."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.relay import Relay
from lab.stack import Stack
from tests.server.edge import EDGES, Edge
from tests.server.stand import QUICK, Stand, standing
from tests.server.world import World

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


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Stack, Relay]]:
    with standing(Path(tmp_path_factory.mktemp("stand")), QUICK) as made:
        yield made


@pytest.fixture
def stand(place: tuple[Stack, Relay]) -> Iterator[Stand]:
    """Two workers behind a relay, in order before and after the test."""
    stack, relay = place
    made = Stand(stack, next(_numbers), relay=relay)
    made.restore()
    yield made
    made.restore()


@pytest.fixture(scope="session")
def edge_stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with Stack(Path(tmp_path_factory.mktemp("edges")), target=EDGES) as made:
        yield made


@pytest.fixture
def edge(edge_stack: Stack, request: pytest.FixtureRequest) -> Iterator[Edge]:
    """A stack whose worker has the tools of the tests of edges, and the settings that `served_with` names."""
    made = Edge(edge_stack, next(_numbers))
    made.restore()
    made.serve_with(**getattr(request, "param", {}))
    yield made
    made.restore()
