"""The client of the model's server: one request to one value.

Rule: exactly one request leaves per call, within one deadline that covers everything from connecting to the last
byte, and an expected failure is a value. Retrying is the handler's; the client library's own retries are off.

The library is `openai`, and what leaves is what `chat.completions.create` would send. But that walks the typed form of
every message and makes address and headers anew for each call, which costs milliseconds that block the event loop. So
the library is asked once what its requests look like, and each call leaves in that shape through the library's own HTTP
client. `openai` and `aiohttp` take over a second to import, so they are loaded in a thread by `open`, after the
worker's port is open.
Must not know: Restate, the transcript, what is done about a failure.
"""

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from services.answer import Action, ModelAnswer, ModelFailed, ModelReply
from services.clock import wall_s
from services.exchange import Arrived, judge, masked
from services.patience import Fail, Retry, plan
from services.provider import Provider
from services.reason import Reason
from tools.tool import Tool
from tools.unpack import ACCEPTED, unpacked

if TYPE_CHECKING:
    import httpx2
    from openai import AsyncOpenAI

__all__ = ["Action", "Fail", "Model", "ModelAnswer", "ModelFailed", "ModelReply", "Retry", "functions", "plan"]

# A server that is up accepts a connection within a second; ten allow for a bad moment.
CONNECT_S = 10.0


class Model:
    """One provider's client. Open it inside the event loop that uses it; close it at the end."""

    def __init__(self, provider: Provider, clock: Callable[[], float] = wall_s) -> None:
        self._provider = provider
        self._clock = clock
        self._opened: _Opened | None = None
        self._opening = asyncio.Lock()

    async def open(self) -> "_Opened":
        """Load the client library and make the client; nothing is sent. May be called again."""
        if self._opened is not None:
            return self._opened
        async with self._opening:
            if self._opened is None:
                self._opened = await asyncio.to_thread(_load, self._provider)
            return self._opened

    async def close(self) -> None:
        if self._opened is not None:
            await self._opened.client.close()
            self._opened = None

    async def ask(self, messages: Sequence[Mapping[str, Any]], tools: Iterable[Tool] = ()) -> ModelAnswer:
        """Send one request and give what came of it; never raises for an expected failure."""
        history = _encode(list(messages))
        body = request_body(self._provider, history, functions(tools))
        try:
            opened = await self.open()
            async with asyncio.timeout(self._provider.deadline_s):
                status, headers, answer = await self._exchange(opened, body)
        except TimeoutError:
            return self._unavailable(f"no whole answer within {self._provider.deadline_s:g} s", history)
        except _UnreadableError as error:
            return self._unavailable(f"no answer: {error}", history)
        except _TooLargeError as error:
            return ModelFailed(Action.FAIL, Reason.BAD_REQUEST, str(error), at=self._clock())
        except Exception as error:  # noqa: BLE001  three libraries and the environment that they read: no answer came
            return self._unavailable(f"no answer: {masked(_cause(error), self._provider)}", history)
        return judge(Arrived(status, headers, answer, self._clock(), len(body), len(history)), self._provider)

    async def _exchange(self, opened: "_Opened", body: bytes) -> tuple[int, dict[str, str], bytes]:
        response = await opened.http.send(opened.shape.around(body), stream=True, follow_redirects=False)
        try:
            headers = {name.lower(): value for name, value in response.headers.items()}
            return response.status_code, headers, await _read(response, headers, self._provider.reply_bytes)
        finally:
            await response.aclose()

    def _unavailable(self, detail: str, history: bytes) -> ModelFailed:
        return ModelFailed(Action.RETRY, Reason.MODEL_UNAVAILABLE, detail, history_bytes=len(history), at=self._clock())


def functions(tools: Iterable[Tool]) -> list[dict[str, Any]]:
    """The tools as the request names them."""
    return [
        {
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": tool.schema},
        }
        for tool in tools
    ]


def request_body(provider: Provider, history: bytes, tools: Sequence[Mapping[str, Any]]) -> bytes:
    """The request's JSON around messages that are encoded already."""
    fields: dict[str, Any] = {"model": provider.name, **provider.extra}
    if tools:
        fields["tools"] = list(tools)
        if provider.parallel_calls is not None:
            fields["parallel_tool_calls"] = provider.parallel_calls
    if provider.max_output_tokens is not None:
        fields[provider.max_output_field] = provider.max_output_tokens
    return b'{"messages":' + history + b"," + _encode(fields)[1:]


def _encode(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


class _TooLargeError(Exception):
    """The answer is larger than we read."""


class _UnreadableError(Exception):
    """The answer is packed in a way that we do not read."""


class _Shape:
    """What each request looks like: the first one that the library made, to be sent with other bodies."""

    def __init__(self, request: "httpx2.Request") -> None:
        self._like = request
        kept = [
            (name, value)
            for name, value in request.headers.raw
            if name.lower() not in (b"content-length", b"accept-encoding")
        ]
        # The library asks for whatever can be unpacked where it is installed; we unpack these.
        self._headers = [*kept, (b"Accept-Encoding", ACCEPTED.encode())]

    def around(self, body: bytes) -> "httpx2.Request":
        like = self._like
        return type(like)(like.method, like.url, headers=self._headers, content=body, extensions=like.extensions)


@dataclass(frozen=True, slots=True)
class _Opened:
    """The client with its own HTTP client, and what it sends."""

    client: "AsyncOpenAI"
    http: "httpx2.AsyncClient"
    shape: _Shape


def _load(provider: Provider) -> _Opened:
    """Runs in a thread."""
    import httpx2
    import openai

    timeout = httpx2.Timeout(provider.deadline_s, connect=min(CONNECT_S, provider.deadline_s))
    http = openai.DefaultAioHttpClient(timeout=timeout)
    client = openai.AsyncOpenAI(
        api_key=provider.key.get_secret_value(),
        base_url=provider.base_url,
        timeout=timeout,
        max_retries=0,
        http_client=http,
    )
    return _Opened(client, http, asyncio.run(_shape(client)))


async def _shape(client: "AsyncOpenAI") -> _Shape:
    """Lets the library make a request and keeps it; it goes nowhere."""
    import httpx2

    made: list[httpx2.Request] = []

    def keep(request: httpx2.Request) -> httpx2.Response:
        made.append(request)
        return httpx2.Response(200)

    nowhere = httpx2.AsyncClient(transport=httpx2.MockTransport(keep))
    async with client.with_options(http_client=nowhere) as asking:
        await asking.post("/chat/completions", cast_to=httpx2.Response, body={})
    return _Shape(made[0])


async def _read(response: "httpx2.Response", headers: Mapping[str, str], limit_bytes: int) -> bytes:
    """The unpacked body; raises `_TooLargeError` as soon as it is larger than allowed. Of an error the status
    alone says enough; a success that cannot be read raises `_UnreadableError`."""
    body = await unpacked(response.aiter_raw(), headers.get("content-encoding", ""), limit_bytes)
    if body.end == "cut":
        words = f"status {response.status_code}: the answer is larger than the {limit_bytes:,} bytes that are read"
        raise _TooLargeError(words)
    if body.unreadable is None:
        return body.raw
    if response.status_code < 300:
        raise _UnreadableError(body.unreadable)
    return body.unreadable.encode()


def _cause(error: BaseException) -> str:
    """The innermost reason in one line: class and text."""
    while error.__cause__ is not None:
        error = error.__cause__
    words = " ".join(str(error).split())
    return f"{type(error).__name__}: {words[:300]}" if words else type(error).__name__
