"""A chosen reply as the bytes of a chat completion. Pure; the answer of one request never depends on time.

Rule: a message is sent exactly as the script has it, wrong as it may be: the subject has to cope.
"""

import json
from typing import Any

from mocks.answer import Answer, Cut, Hang, Reaction, json_answer, raw_answer
from mocks.script import CallSpec, Chosen, Reply, fill

MODEL_NAME = "mock-model"
# Fixed, so that repeated requests get the same bytes.
CREATED = 1_700_000_000
# The usual rule of thumb; only the order of magnitude matters.
CHARS_PER_TOKEN = 4


def complete(chosen: Chosen, reply: Reply, request_bytes: int) -> Reaction:
    """What to do to the request; `reply` is the chosen one or a variant of it."""
    if reply.cut:
        return Cut()
    if reply.hang:
        return Hang()
    answer = _answer(chosen, reply, request_bytes)
    return Answer(answer.status, answer.body, answer.headers, reply.trickle_bytes_per_s)


def error(status: int, code: str | None, message: str, kind: str = "invalid_request_error") -> Answer:
    """An error in the shape of the OpenAI API."""
    return json_answer(status, {"error": {"message": message, "type": kind, "param": None, "code": code}})


def assistant_message(chosen: Chosen, reply: Reply) -> dict[str, Any]:
    """The message that a reply sends."""
    if reply.message is not None:
        raw: dict[str, Any] = fill(reply.message, chosen.groups)
        return raw
    message: dict[str, Any] = {"role": "assistant", "content": fill(reply.content, chosen.groups)}
    if reply.tool_calls is not None:
        message["tool_calls"] = [_call(chosen, index, call) for index, call in enumerate(reply.tool_calls)]
    return {**message, **fill(reply.extra, chosen.groups)}


def _answer(chosen: Chosen, reply: Reply, request_bytes: int) -> Answer:
    headers = fill(reply.headers, chosen.groups)
    if reply.body is not None or reply.body_base64 is not None:
        return raw_answer(reply.status or 200, headers, fill(reply.body, chosen.groups), reply.body_base64)
    if reply.status is not None and reply.status >= 400:
        failed = error(reply.status, None, f"the mock answers {reply.status}", "server_error")
        return Answer(failed.status, failed.body, (*failed.headers, *headers.items()))
    message = assistant_message(chosen, reply)
    calls = bool(message.get("tool_calls"))
    body = {
        "id": f"chatcmpl-{chosen.position}",
        "object": "chat.completion",
        "created": CREATED,
        "model": MODEL_NAME,
        "choices": [
            {
                "index": 0,
                "message": message,
                "finish_reason": reply.finish_reason or ("tool_calls" if calls else "stop"),
                "logprobs": None,
            }
        ],
        "usage": reply.usage or _usage(request_bytes, message),
    }
    return json_answer(reply.status or 200, body, tuple(headers.items()))


def _call(chosen: Chosen, index: int, call: CallSpec) -> dict[str, Any]:
    function: dict[str, Any] = {"name": fill(call.name, chosen.groups)}
    if "arguments" in call.model_fields_set:
        arguments = fill(call.arguments, chosen.groups)
        function["arguments"] = arguments if arguments is None or isinstance(arguments, str) else json.dumps(arguments)
    made = f"call_{chosen.position}_{index}"
    call_id = made if call.id is None else fill(call.id, chosen.groups)
    return {"id": call_id, "type": "function", "function": function, **fill(call.model_extra or {}, chosen.groups)}


def _usage(request_bytes: int, message: dict[str, Any]) -> dict[str, int]:
    prompt = -(-request_bytes // CHARS_PER_TOKEN)
    completion = -(-len(json.dumps(message)) // CHARS_PER_TOKEN)
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
