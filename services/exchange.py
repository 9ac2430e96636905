"""What an answer of the model's server means: the one table from status and body to reply or failure. Pure.

Rule: every status and every body gives a value. The server's own words are kept, shortened, and without the API key.

| answer                                          | value                                                      |
| ----------------------------------------------- | ---------------------------------------------------------- |
| 200 with a choice that holds a message          | ModelReply                                                 |
| 200 that holds an error                         | as if the error had come under its own status              |
| 200 without a choice, or no JSON                | RETRY no_answer                                            |
| 200 whose finish reason is the server's error   | RETRY model_unavailable                                    |
| any 2xx as text/event-stream                    | FAIL streamed                                              |
| 3xx                                             | FAIL bad_request: the address is another                   |
| 400, 413, 422 about the context's length        | TRIM context_too_long                                      |
| any 4xx with code content_filter                | ModelReply that is a refusal                               |
| 402, any 4xx whose code is of an empty account  | FAIL quota_exhausted                                       |
| 401, 403                                        | FAIL unauthorised                                          |
| 404                                             | FAIL model_not_found                                       |
| 429                                             | WAIT rate_limited, with the wait that is named             |
| 408, 409, 425, 5xx                              | RETRY model_unavailable, with the wait that is named       |
| other 4xx                                       | FAIL bad_request                                           |
Must not know: the client library, retries, the run.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import formatdate

from pydantic import JsonValue

from services.answer import Action, ModelAnswer, ModelFailed, ModelReply
from services.provider import Provider
from services.raw import bounded, clean
from services.reason import Reason
from services.transcript import Cut, Usage
from tools.reply import retry_after_s
from tools.size import shorten

DETAIL_BYTES = 600
_BYTES_PER_TOKEN = 4
PASSED_ON = "llm_provider-"
"""A gateway that is widely used puts this in front of the headers of the provider behind it."""
_EMPTY_ACCOUNT = ("insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "insufficient_balance")
_TOO_LONG_CODES = ("context_length_exceeded", "context_window_exceeded", "request_too_large", "string_above_max_length")
_TOO_LONG = re.compile(
    r"context (length|window|size)|maximum context|prompt is too long|input (is )?too long|too many (input )?tokens"
    r"|exceeds? the .{0,40}(token|context)",
    re.IGNORECASE,
)
_VERSIONED = re.compile(r"/v\d")
_FILTERED = ("content_filter", "content_policy_violation", "responsibleaipolicyviolation")
_SECRET = re.compile(r"\b(sk|key|pk)-[\w*.-]{4,}|Bearer\s+\S+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Arrived:
    """One HTTP answer. Header names are in lower case; `sent_bytes` and `history_bytes` are sizes of the request."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    at: float
    sent_bytes: int = 0
    history_bytes: int = 0


def judge(arrived: Arrived, provider: Provider) -> ModelAnswer:
    """The value that this answer is."""
    if 200 <= arrived.status < 300:
        if "text/event-stream" in arrived.headers.get("content-type", "").lower():
            words = "the server streams its answer although a whole one was asked for; switch streaming off there"
            return _failed(arrived, provider, Action.FAIL, Reason.STREAMED, words)
        return _judge_ok(arrived, provider)
    if arrived.status < 400:
        where = arrived.headers.get("location", "nowhere")
        words = f"status {arrived.status}: the server sends us to {where}; set the model's address to that"
        return _failed(arrived, provider, Action.FAIL, Reason.BAD_REQUEST, words)
    return _judge_error(arrived, provider, arrived.status, read_json(arrived.body))


def read_json(body: bytes) -> JsonValue:
    """The body as clean JSON, or as text where it is none."""
    words = body.decode("utf-8", errors="replace").removeprefix("\ufeff")
    try:
        return clean(json.loads(words, parse_int=_integer))
    except (ValueError, RecursionError):
        return clean(words)


def _integer(digits: str) -> int | None:
    return int(digits) if len(digits) <= 300 else None


def _judge_ok(arrived: Arrived, provider: Provider) -> ModelAnswer:
    answer = read_json(arrived.body)
    usage = answer.get("usage") if isinstance(answer, dict) else None
    match answer:
        case {"choices": [{"message": dict(raw), "finish_reason": str(finish)}, *_]}:
            return _reply(arrived, provider, raw, finish, usage)
        case {"choices": [{"message": dict(raw)}, *_]}:
            return _reply(arrived, provider, raw, None, usage)
        case {"choices": [{"error": dict(error)}, *_]} | {"error": dict(error)}:
            return _judge_error(arrived, provider, _status_of(error), {"error": error})
        case {"error": str(words)}:
            return _judge_error(arrived, provider, 500, {"error": {"message": words}})
        case other:
            shown = json.dumps(other, ensure_ascii=False)
            words = f"status {arrived.status} without an answer: {shown}"
            return _failed(arrived, provider, Action.RETRY, Reason.NO_ANSWER, words)


def _reply(
    arrived: Arrived,
    provider: Provider,
    raw: dict[str, JsonValue],
    reason: str | None,
    usage: JsonValue,
) -> ModelAnswer:
    lower = (reason or "").lower()
    if lower in (name.lower() for name in provider.error_reasons):
        words = f"the server broke its reply off, finish reason {reason}"
        return _failed(arrived, provider, Action.RETRY, Reason.MODEL_UNAVAILABLE, words)
    spent = _usage(usage, arrived)
    if lower in (name.lower() for name in provider.cut_reasons):
        cut = Cut.YES
    elif provider.max_output_tokens and not spent.estimated and spent.tokens_out >= provider.max_output_tokens:
        cut = Cut.MAYBE
    else:
        cut = Cut.NO
    filtered = lower in (name.lower() for name in provider.filter_reasons)
    return ModelReply(bounded(raw), reason, spent, cut, arrived.at, filtered)


def _usage(usage: JsonValue, arrived: Arrived) -> Usage:
    """The tokens that the provider counted, or an estimate from sizes."""
    match usage:
        case {"prompt_tokens": int(tokens_in), "completion_tokens": int(tokens_out)} if tokens_in >= 0 <= tokens_out:
            return Usage(tokens_in, tokens_out)
        case _:
            sizes = arrived.sent_bytes // _BYTES_PER_TOKEN, len(arrived.body) // _BYTES_PER_TOKEN
            return Usage(*sizes, estimated=True)


def _judge_error(arrived: Arrived, provider: Provider, status: int, body: JsonValue) -> ModelAnswer:
    code, kind, message = _words(body)
    named = {code.lower(), kind.lower()}
    said = f"status {status}" + (f", {code or kind}" if code or kind else "") + (f": {message}" if message else "")
    if status in (400, 413, 422) and (status == 413 or named & set(_TOO_LONG_CODES) or _TOO_LONG.search(message)):
        return _failed(arrived, provider, Action.TRIM, Reason.CONTEXT_TOO_LONG, said)
    if status < 500 and named & set(_FILTERED):
        words = message or "The provider's content filter stopped the request."
        refusal = shorten(masked(words, provider), DETAIL_BYTES)
        raw: dict[str, JsonValue] = {"role": "assistant", "content": None, "refusal": refusal}
        return ModelReply(raw, "content_filter", Usage(estimated=True), Cut.NO, arrived.at, filtered=True)
    if status == 402 or (status < 500 and named & set(_EMPTY_ACCOUNT)):
        return _failed(arrived, provider, Action.FAIL, Reason.QUOTA_EXHAUSTED, said)
    if status in (401, 403):
        return _failed(arrived, provider, Action.FAIL, Reason.UNAUTHORISED, said)
    if status == 404:
        return _failed(arrived, provider, Action.FAIL, Reason.MODEL_NOT_FOUND, f"{_nothing_at(provider)}: {said}")
    if status == 429:
        return _failed(arrived, provider, Action.WAIT, Reason.RATE_LIMITED, said)
    if status in (408, 409, 425) or status >= 500:
        return _failed(arrived, provider, Action.RETRY, Reason.MODEL_UNAVAILABLE, said)
    return _failed(arrived, provider, Action.FAIL, Reason.BAD_REQUEST, said)


def _failed(arrived: Arrived, provider: Provider, action: Action, reason: Reason, words: str) -> ModelFailed:
    # A date in Retry-After is compared with the server's own clock; ours stands in where it does not tell the time.
    passed_on = {name.removeprefix(PASSED_ON): value for name, value in arrived.headers.items()}
    headers = {"date": formatdate(arrived.at, usegmt=True), **passed_on, **arrived.headers}
    wait_s = retry_after_s(headers) if action in (Action.WAIT, Action.RETRY) else None
    detail = shorten(" ".join(masked(words, provider).split()), DETAIL_BYTES)
    return ModelFailed(action, reason, detail, wait_s, arrived.status, arrived.history_bytes, arrived.at)


def _nothing_at(provider: Provider) -> str:
    """What was asked for and is not there; an address without a version is most often one that was cut short."""
    address = provider.base_url.rstrip("/")
    short = "" if _VERSIONED.search(address) else " (should PAWL_MODEL_URL end in /v1?)"
    return f"there is no model {provider.name} at {address}{short}"


def _words(body: JsonValue) -> tuple[str, str, str]:
    """Code, type and message of an error body in any of the usual shapes."""
    match body:
        case {"error": dict(error)}:
            inner = error.get("innererror")
            code = inner.get("code") if isinstance(inner, dict) and not error.get("code") else error.get("code")
            return _text(code), _text(error.get("type")), _text(error.get("message"))
        case {"error": str(message)} | {"detail": str(message)} | {"message": str(message)} | str(message):
            return _text(body.get("code")) if isinstance(body, dict) else "", "", message
        case None:
            return "", "", ""
        case _:
            return "", "", json.dumps(body, ensure_ascii=False)


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)


def _status_of(error: Mapping[str, JsonValue]) -> int:
    """The status that an error inside a 200 names, 500 where it names none."""
    for name in ("status", "code"):
        if re.fullmatch(r"[45]\d\d", _text(error.get(name))):
            return int(_text(error.get(name)))
    return {
        "content_filter": 400, "context_length_exceeded": 400, "invalid_request_error": 400, "insufficient_quota": 429,
        "rate_limit_exceeded": 429, "model_not_found": 404, "invalid_api_key": 401,
    }.get(_text(error.get("code")) or _text(error.get("type")), 500)  # fmt: skip


def masked(words: str, provider: Provider) -> str:
    """The words without the key: servers like to quote it, whole or in part."""
    key = provider.key.get_secret_value()
    hidden = words.replace(key, "***") if len(key) >= 6 else words
    return _SECRET.sub("***", hidden)
