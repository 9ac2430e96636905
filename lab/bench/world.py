"""What the benchmark's model and receiver know and do: the scripted reply, the effect under its key, the ledger. Pure
but for the clock.

Rule: every request of a run is a row, and each effect under a key is applied once; a repeat gets the first answer,
other bytes under the same key are refused. Nothing is kept on disk: a receiver that syncs would be what is measured.
Must not know: sockets.
"""

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from lab.bench import jobs
from lab.bench.wire import Answer, Incoming

CHAT = "chat"
EFFECTS = {"/charges": ("charge", "ch"), "/emails": ("email", "em"), "/refunds": ("refund", "re")}
_UNKNOWN = Answer(404, b'{"error":{"message":"the benchmark knows no such address"}}')
_NO_TASK = Answer(400, b'{"error":{"message":"the last user message names no job of the benchmark"}}')
_REUSED = Answer(422, b'{"error":{"code":"idempotency_key_reused","message":"other bytes came under this key before"}}')


@dataclass(frozen=True, slots=True)
class Row:
    """One request: of the model (`what` is chat) with the number of the reply, or of the receiver with the effect.
    `at` in unix seconds, when the reply was made or the effect applied; `applied` is false for a repeat."""

    n: int
    tag: str
    what: str
    turn: int
    key: str
    at: float
    applied: bool


class World:
    """The ledger and the keys that are known."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._rows: list[Row] = []
        self._known: dict[str, tuple[int, Answer]] = {}

    def serve(self, asked: Incoming) -> tuple[Answer, Row | None]:
        """The answer and the row that it made; None for what concerns no run."""
        match asked.method, asked.path:
            case "POST", "/v1/chat/completions":
                return self._chat(asked.body)
            case "POST", path if path in EFFECTS:
                return self._apply(*EFFECTS[path], asked)
            case "GET", "/health":
                return Answer(200, b"{}"), None
            case "GET", path if path.startswith("/rows?after="):
                rows = self._rows[int(path.partition("=")[2]) :]
                return Answer(200, json.dumps([asdict(row) for row in rows]).encode()), None
            case _:
                return _UNKNOWN, None

    def _chat(self, body: bytes) -> tuple[Answer, Row | None]:
        messages: list[dict[str, Any]] = json.loads(body)["messages"]
        last = max((at for at, each in enumerate(messages) if each["role"] == "user"), default=-1)
        found = jobs.asked(str(messages[last]["content"])) if last >= 0 else None
        if found is None:
            return _NO_TASK, None
        job, tag = found
        turn = sum(each["role"] == "assistant" for each in messages[last:])
        message = jobs.reply(job, tag, turn)
        completion = {
            "id": f"chatcmpl-{len(self._rows)}",
            "object": "chat.completion",
            "created": int(self._clock()),
            "model": "mock",
            "choices": [
                {
                    "index": 0,
                    "message": message,
                    "finish_reason": "tool_calls" if "tool_calls" in message else "stop",
                }
            ],
            "usage": {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20},
        }
        return Answer(200, json.dumps(completion).encode()), self._note(tag, CHAT, turn, "", applied=True)

    def _apply(self, effect: str, prefix: str, asked: Incoming) -> tuple[Answer, Row | None]:
        tag, digest = jobs.tag_in(asked.body), hash(asked.body)
        known = self._known.get(asked.key) if asked.key else None
        if known is not None:
            answer = Answer(known[1].status, known[1].body, replayed=True) if known[0] == digest else _REUSED
            return answer, self._note(tag, effect, -1, asked.key, applied=False)
        made = {"id": f"{prefix}_{len(self._rows)}", **json.loads(asked.body)}
        answer = Answer(201, json.dumps(made).encode())
        if asked.key:
            self._known[asked.key] = (digest, answer)
        return answer, self._note(tag, effect, -1, asked.key, applied=True)

    def _note(self, tag: str, what: str, turn: int, key: str, *, applied: bool) -> Row:
        row = Row(len(self._rows) + 1, tag, what, turn, key, self._clock(), applied)
        self._rows.append(row)
        return row
