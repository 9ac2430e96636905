"""The exception table covers httpx's tree, and no client is built that repeats."""

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.tools.peer import wire_to
from tools import failure
from tools.failure import FAILURES, Left
from tools.outcome import NotSent, Unknown
from tools.request import post
from tools.wire import Wire

TOOLS = Path(failure.__file__).parent


def tree() -> list[type[Exception]]:
    found = [item for item in vars(httpx).values() if inspect.isclass(item) and issubclass(item, Exception)]
    known: list[type[Exception]] = []
    while found:
        item = found.pop()
        if item not in known and item.__module__.startswith("httpx"):
            known.append(item)
            found += item.__subclasses__()
    return known


def test_every_class_of_httpx_is_in_the_table() -> None:
    missing = [item.__name__ for item in tree() if item not in FAILURES]
    assert missing == []
    assert len(tree()) >= 28


def test_every_class_of_httpx_is_caught() -> None:
    assert [item.__name__ for item in tree() if not issubclass(item, failure.EXCHANGE)] == []


def test_only_these_prove_that_nothing_left() -> None:
    never = {item.__name__ for item, left in FAILURES.items() if left is Left.NEVER}
    assert never == {"ConnectError", "ConnectTimeout", "PoolTimeout", "UnsupportedProtocol", "InvalidURL"}


def test_a_relative_counts_as_its_nearest_and_a_stranger_as_maybe() -> None:
    class Odd(httpx.ConnectError):
        pass

    assert failure.left(Odd("x")) is Left.NEVER
    assert failure.left(KeyError("x")) is Left.MAYBE


class Failing(httpx.AsyncBaseTransport):
    def __init__(self, error: Exception) -> None:
        self.error = error

    async def handle_async_request(self, _: httpx.Request) -> httpx.Response:
        raise self.error


def made(kind: type[Exception]) -> Exception:
    if kind is httpx.HTTPStatusError:
        request = httpx.Request("GET", "http://a")
        return httpx.HTTPStatusError("x", request=request, response=httpx.Response(500, request=request))
    try:
        return kind("x")
    except TypeError:
        return kind()


@pytest.mark.parametrize("kind", tree(), ids=lambda kind: kind.__name__)
async def test_the_wire_returns_each_as_a_value(kind: type[Exception], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Wire, "_transport", lambda *_: Failing(made(kind)))
    async with wire_to("http://127.0.0.1:1") as wire:
        got = await wire.send("receiver", post("/charges", {}), "k", 5)
    assert isinstance(got, NotSent if FAILURES[kind] is Left.NEVER else Unknown)
    assert kind.__name__ in got.reason


def calls(name: str) -> Iterator[tuple[str, ast.Call]]:
    for path in TOOLS.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == name:
                yield path.name, node


def test_no_client_is_built_with_retries() -> None:
    """The behaviour is tested with sockets in test_wire; this names the line that would break it."""
    for builder in ("Client", "AsyncClient", "HTTPTransport", "AsyncHTTPTransport", "AiohttpTransport", "Retry"):
        assert [name for name, _ in calls(builder)] == [], f"{builder} is built outside the transport"
    [(name, session)] = calls("ClientSession")
    assert name == "transport.py"
    options = {keyword.arg: ast.unparse(keyword.value) for keyword in session.keywords}
    assert options["middlewares"] == "(_renaming,)", "without it aiohttp repeats GET, PUT and DELETE"
    assert options["trust_env"] == "False"
    for path in TOOLS.glob("*.py"):
        keywords = [node.arg for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.keyword)]
        assert not {"retries", "max_retries", "retry"} & {keyword for keyword in keywords if keyword}, path.name
