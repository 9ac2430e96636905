"""Ports are settled before anything starts: kept, replaced or refused by name."""

import socket
from collections.abc import Iterator

import pytest

from lab import ports
from lab.errors import UsageError


@pytest.fixture
def taken() -> Iterator[int]:
    """A port on which a server listens."""
    with socket.create_server((ports.HOST, ports.free_port())) as server:
        yield server.getsockname()[1]


def test_a_taken_port_is_not_free_and_does_not_refuse(taken: int) -> None:
    assert not ports.is_free(taken)
    assert not ports.refuses(taken)


def test_a_port_that_only_winds_down_is_free() -> None:
    port = ports.free_port()
    with socket.create_server((ports.HOST, port)) as server:
        client = socket.create_connection((ports.HOST, port))
        accepted, _ = server.accept()
        accepted.close()  # the side that closes first keeps the connection in TIME_WAIT
        client.close()
    assert ports.is_free(port)
    assert ports.refuses(port)


def test_a_free_port_is_given_once() -> None:
    given = [ports.free_port() for _ in range(20)]
    assert len(set(given)) == len(given)
    assert all(ports.is_free(port) for port in given)


def test_a_port_that_was_asked_for_is_kept() -> None:
    asked = ports.free_port()
    settled = ports.settle({"ingress": asked})
    assert settled.ports.ingress == asked
    assert "ingress" not in [part for part, _, _ in settled.replaced]


def test_a_port_that_was_asked_for_and_is_taken_is_refused_by_name(taken: int) -> None:
    with pytest.raises(UsageError, match=f"port {taken}, asked for as the receiver's, is taken"):
        ports.settle({"ingress": None, "receiver": taken})


def test_a_usual_port_that_is_taken_is_replaced(monkeypatch: pytest.MonkeyPatch, taken: int) -> None:
    monkeypatch.setattr(ports, "USUAL", ports.Ports(taken, *(ports.free_port() for _ in range(5))))
    settled = ports.settle({"ingress": None})
    assert [(part, usual) for part, usual, _ in settled.replaced] == [("ingress", taken)]
    assert settled.ports.ingress == settled.replaced[0][2] != taken
    assert ports.is_free(settled.ports.ingress)


def test_a_usual_port_that_was_asked_for_by_another_part_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "USUAL", usual := ports.Ports(*(ports.free_port() for _ in range(6))))
    settled = ports.settle({"model": usual.ingress})
    assert settled.ports.model == usual.ingress
    assert settled.ports.ingress != usual.ingress


@pytest.mark.parametrize("port", [0, -1, 65536])
def test_a_port_that_cannot_be_is_refused(port: int) -> None:
    with pytest.raises(UsageError, match="port for the admin must be between 1 and 65535"):
        ports.settle({"admin": port})


def test_one_port_for_two_parts_is_refused() -> None:
    port = ports.free_port()
    with pytest.raises(UsageError, match="asked for twice"):
        ports.settle({"admin": port, "ingress": port})
