"""Ports of 127.0.0.1: which are free, and who asked for one that is not.

Rule: nothing is started before every port is settled. A port that a person named is kept or refused by name; a default
that is taken gives way to a free one.
"""

import os
import socket
import threading
from dataclasses import asdict, dataclass, fields

from lab.errors import UsageError

HOST = "127.0.0.1"

# Below the range from which the kernel takes ports for outgoing connections, so that none of those lands on one of ours
# between the look and the listen.
_FREE_RANGE = range(20000, 32000)
_handed_out: set[int] = set()
_lock = threading.Lock()


def is_free(port: int) -> bool:
    """Whether a server could listen on `port` now. A connection that is only winding down does not count as taken."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
            probe.listen(1)
        except OSError:
            return False
    return True


def refuses(port: int) -> bool:
    """Whether nothing answers at `port`: what must be so after its server was killed."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        return probe.connect_ex((HOST, port)) != 0


def free_port() -> int:
    """A port that is free now and that this process has not handed out before."""
    # A port whose server is just being started again must not be found by another process: a prime puts the beginnings
    # of neighbours far apart.
    start = (os.getpid() * 5_003) % len(_FREE_RANGE)
    for offset in range(len(_FREE_RANGE)):
        port = _FREE_RANGE[(start + offset) % len(_FREE_RANGE)]
        with _lock:
            if port not in _handed_out and is_free(port):
                _handed_out.add(port)
                return port
    raise UsageError(f"no free port is left between {_FREE_RANGE.start} and {_FREE_RANGE.stop}")


@dataclass(frozen=True, slots=True)
class Ports:
    """One port for each part of a stack that listens."""

    ingress: int
    admin: int
    node: int
    worker: int
    receiver: int
    model: int


USUAL = Ports(ingress=8080, admin=9070, node=5122, worker=9080, receiver=7001, model=7002)


@dataclass(frozen=True, slots=True)
class Settled:
    """The ports to use, and which usual ones had to give way: part, usual port, new port."""

    ports: Ports
    replaced: tuple[tuple[str, int, int], ...] = ()


def all_free() -> Ports:
    """Free ports for a stack that nobody needs to find by habit."""
    return Ports(**{part.name: free_port() for part in fields(Ports)})


def settle(asked: dict[str, int | None]) -> Settled:
    """Decide every port: the one asked for, else the usual one, else a free one.

    Raises UsageError, naming the part, where a port that was asked for is impossible, asked for twice or taken.
    """
    wanted = {part: port for part, port in asked.items() if port is not None}
    for part, port in wanted.items():
        if not 0 < port < 65536:
            raise UsageError(f"the port for the {part} must be between 1 and 65535, not {port}")
        twin = next((other for other, its in wanted.items() if its == port and other != part), None)
        if twin is not None:
            raise UsageError(f"port {port} was asked for twice, for the {part} and the {twin}")
        if not is_free(port):
            raise UsageError(
                f"port {port}, asked for as the {part}'s, is taken by another program; nothing was started"
            )
    chosen: dict[str, int] = {}
    replaced: list[tuple[str, int, int]] = []
    for name, usual in asdict(USUAL).items():
        chosen[name] = wanted.get(name, usual)
        if name not in wanted and (usual in wanted.values() or not is_free(usual)):
            chosen[name] = free_port()
            replaced.append((name, usual, chosen[name]))
    return Settled(Ports(**chosen), tuple(replaced))
