"""One receiver and one model for all tests that need no fresh one, honest again before each test."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from tests.mocks.process import MockProcess, running

KEYS = count(1)


@pytest.fixture(scope="session")
def shared_receiver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MockProcess]:
    """One process for the whole session."""
    with running("receiver", tmp_path_factory.mktemp("receiver") / "receiver.db") as mock:
        yield mock


@pytest.fixture
def receiver(shared_receiver: MockProcess) -> MockProcess:
    """An honest receiver with other tests' rows in it."""
    shared_receiver.client.delete("/behaviour/*").raise_for_status()
    return shared_receiver


@pytest.fixture
def fresh_receiver(tmp_path: Path) -> Iterator[MockProcess]:
    """A receiver to kill."""
    with running("receiver", tmp_path / "receiver.db") as mock:
        yield mock


@pytest.fixture(scope="session")
def shared_model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MockProcess]:
    """One process for the whole session."""
    with running("model", tmp_path_factory.mktemp("model") / "model.db") as mock:
        yield mock


@pytest.fixture
def model(shared_model: MockProcess) -> MockProcess:
    """A model with all switches off and other tests' scripts in it."""
    shared_model.client.put("/switches", json={}).raise_for_status()
    return shared_model


@pytest.fixture
def fresh_model(tmp_path: Path) -> Iterator[MockProcess]:
    """A model to kill."""
    with running("model", tmp_path / "model.db") as mock:
        yield mock


@pytest.fixture
def key() -> str:
    """A key that no other test uses."""
    return f"key-{next(KEYS)}"
