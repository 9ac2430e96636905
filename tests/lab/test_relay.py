"""The relay between server and worker, and the frames that it sees."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.errors import LabError
from lab.frames import PREFACE, Frame, Frames
from lab.ports import HOST, free_port, refuses
from lab.relay import Relay, Way

PING = (8).to_bytes(3, "big") + b"\x06\x00" + bytes(4) + b"12345678"


def data(stream: int, words: bytes) -> bytes:
    return len(words).to_bytes(3, "big") + b"\x00\x00" + stream.to_bytes(4, "big") + words


@given(st.lists(st.integers(1, 40), max_size=30), st.lists(st.binary(max_size=30), max_size=5))
def test_frames_are_the_bytes_that_went_in_however_they_came(cuts: list[int], words: list[bytes]) -> None:
    sent = PREFACE + PING + b"".join(data(2 * at + 1, each) for at, each in enumerate(words))
    frames, rest, found = Frames(), sent, list[Frame]()
    for cut in [*cuts, len(sent)]:
        found += frames.feed(rest[:cut])
        rest = rest[cut:]
    assert b"".join(frame.raw for frame in found) == sent
    assert [frame.stream for frame in found if frame.is_data] == [2 * at + 1 for at, each in enumerate(words) if each]


def test_what_is_no_http2_comes_out_as_it_is() -> None:
    frames = Frames()
    assert frames.feed(b"GE") == [Frame(b"GE")]
    assert frames.feed(b"T / HTTP/1.1\r\n") == [Frame(b"T / HTTP/1.1\r\n")]
    assert Frames(client=frames).feed(b"HTTP/1.1 200 OK\r\n") == [Frame(b"HTTP/1.1 200 OK\r\n")]


@contextmanager
def answering(name: bytes) -> Iterator[int]:
    """A server that answers each DATA and each PING with a PING and its name, as DATA of stream 1."""
    port = free_port()
    server = socket.create_server((HOST, port))

    def speak(there: socket.socket) -> None:
        frames = Frames()
        with there:
            while more := there.recv(1000):
                for frame in frames.feed(more):
                    if frame.kind is not None:
                        there.sendall(PING + data(1, name))

    def serve() -> None:
        while True:
            try:
                there, _ = server.accept()
            except OSError:
                return
            threading.Thread(target=speak, args=(there,), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield port
    finally:
        server.shutdown(socket.SHUT_RDWR)
        server.close()


def connect(relay: Relay) -> socket.socket:
    there = socket.create_connection((HOST, relay.port), timeout=5)
    there.sendall(PREFACE + data(1, b"hello"))
    return there


def read(there: socket.socket, count: int) -> bytes:
    got = b""
    while len(got) < count and (more := there.recv(count - len(got))):
        got += more
    return got


def ended(there: socket.socket) -> bool:
    try:
        return there.recv(1) == b""
    except ConnectionResetError:
        return True


def test_it_leads_new_connections_to_where_it_is_aimed() -> None:
    with answering(b"one") as one, answering(b"two") as two, Relay(one) as relay:
        first = connect(relay)
        assert read(first, len(PING) + 12) == PING + data(1, b"one")
        relay.aim(two)
        second = connect(relay)
        assert read(second, len(PING) + 12) == PING + data(1, b"two")
        first.sendall(PING)
        assert read(first, len(PING) + 12) == PING + data(1, b"one")
        first.close()
        second.close()


def test_it_holds_data_and_passes_pings() -> None:
    with answering(b"one") as port, Relay(port) as relay:
        relay.hold(Way.TO_SERVER)
        there = connect(relay)
        relay.wait_held(Way.TO_SERVER)
        assert read(there, len(PING)) == PING
        there.settimeout(0.1)
        with pytest.raises(TimeoutError):
            there.recv(1)
        there.settimeout(5)
        relay.release()
        assert read(there, 12) == data(1, b"one")
        there.close()


def test_it_lets_some_pass_before_it_holds() -> None:
    with answering(b"one") as port, Relay(port) as relay:
        relay.hold(Way.TO_SERVER, after=1)
        there = connect(relay)
        assert read(there, len(PING) + 12) == PING + data(1, b"one")
        there.sendall(PING)
        relay.wait_held(Way.TO_SERVER)
        assert read(there, len(PING)) == PING
        there.close()


def test_it_says_when_nothing_came_to_be_held() -> None:
    with answering(b"one") as port, Relay(port) as relay:
        relay.hold(Way.TO_SERVER)
        with pytest.raises(LabError, match="holding 1 stream"):
            relay.wait_held(Way.TO_SERVER, deadline_s=0.1)


def test_a_cut_ends_both_sides_and_drops_what_was_held() -> None:
    with answering(b"one") as port, Relay(port) as relay:
        relay.hold(Way.TO_SERVER)
        there = connect(relay)
        relay.wait_held(Way.TO_SERVER)
        assert read(there, len(PING)) == PING
        relay.cut()
        assert ended(there)
        there.close()
        again = connect(relay)
        assert read(again, len(PING) + 12) == PING + data(1, b"one")
        again.close()


def test_a_black_hole_swallows_without_a_word() -> None:
    with answering(b"one") as port, Relay(port) as relay:
        there = connect(relay)
        read(there, len(PING) + 12)
        relay.blackhole()
        there.sendall(PING)
        there.settimeout(0.2)
        with pytest.raises(TimeoutError):
            there.recv(1)
        other = connect(relay)
        assert read(other, len(PING) + 12) == PING + data(1, b"one")
        there.close()
        other.close()


def test_a_worker_that_is_down_refuses_through_the_relay() -> None:
    port = free_port()
    assert refuses(port)
    with Relay(port) as relay:
        there = socket.create_connection((HOST, relay.port), timeout=5)
        assert ended(there)
        there.close()
    assert refuses(relay.port)


def test_what_is_kept_stays_while_other_connections_go_on() -> None:
    with answering(b"one") as port, Relay(port) as relay:
        relay.hold(Way.TO_SERVER)
        there = connect(relay)
        relay.wait_held(Way.TO_SERVER)
        assert read(there, len(PING)) == PING
        relay.keep()
        other = connect(relay)
        assert read(other, len(PING) + 12) == PING + data(1, b"one")
        assert relay.held(Way.TO_SERVER) == 1
        relay.release()
        assert read(there, 12) == data(1, b"one")
        there.close()
        other.close()
