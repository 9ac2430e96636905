"""Hand-written rows: what Restate's tables and a run's own record say, for the tests of what is made of them."""

from typing import Any

from services.messages import Begun, Choice, Intent, IntentState, Question, Ruling, RunEnd, RunRow, RunState, Used
from services.overview import Overview, Record, Seen, overview
from services.rulings import Slot, Slots
from services.trouble import Failure, Invocation

NOW = 1000.0
KEY = "b97c3c51-0f16-54da-9f81-7ca105cd71ee"
WORKER = "http://127.0.0.1:9080/"
REFUSED = "[500 Internal] error when calling 'http://127.0.0.1:9080/': h2 pool connection error: Connection refused"
MISMATCH = "[570 Journal mismatch] Found a mismatch between the code paths\n - recorded: 'get state'\n - now: 'run'"
BUG = "[500 Internal] KeyError('turn')\nTraceback (most recent call last):\n  File \"run.py\", line 1\nKeyError: 'turn'"


def invocation(status: str = "running", handler: str = "run", number: int = 1, **more: Any) -> Invocation:
    row: dict[str, Any] = {"created_at": 900.0, "last_start_at": 900.0, "endpoint": WORKER}
    return Invocation(id=f"inv_{number}", service="Agent", handler=handler, status=status, **(row | more))


def failing(failure: str = REFUSED, code: str = "RT0010", **more: Any) -> Invocation:
    return invocation("backing-off", failure=failure, code=code, tries=9, **more)


def failed(at: float, after: int = 8, **more: Any) -> Failure:
    return Failure(at=at, after=after, paused=False, **more)


def paused(at: float, code: str | None = None, text: str | None = None) -> Failure:
    return Failure(at=at, after=8, paused=True, code=code, text=text)


def begun(**more: Any) -> Begun:
    return Begun(**({"digest": "d", "task": "charge customer 9", "invocation": "inv_1"} | more))


def row(state: RunState = RunState.RUNNING, pass_number: int = 1, **more: Any) -> RunRow:
    return RunRow(digest="d", pass_number=pass_number, state=state, since=910.0, **more)


def end(state: RunState = RunState.COMPLETED, pass_number: int = 1, **more: Any) -> RunEnd:
    kept: dict[str, Any] = {"reason": "done", "at": 950.0, "used": Used(turns=2)} | more
    return RunEnd(digest="d", state=state, pass_number=pass_number, **kept)


def intent(state: IntentState = IntentState.WAITING, key: str = KEY, **more: Any) -> Intent:
    fields: dict[str, Any] = {
        "tool": "charge_card",
        "effect": "keyed",
        "identity": {"customer_id": "9"},
        "occurrence": 1,
        "arguments": {"customer_id": "9", "amount_cents": 4900},
        "pass_number": 1,
        "turn": 1,
        "index": 0,
        "digest": "abc",
        "size_bytes": 3,
        "amount_cents": 4900,
        "currency": "EUR",
    }
    return Intent(key=key, state=state, **(fields | more))


def approval(key: str = KEY) -> Question:
    return Question(key=key, kind="approval", text="charge_card needs an approval each time", digest="abc")


def doubt(key: str = KEY) -> Question:
    return Question(key=key, kind="unknown", text="no whole answer", digest="abc", warning="it cannot be recalled")


def slots(question: Question, ruling: Ruling | None = None) -> dict[str, Slots]:
    slot = Slot(kind=question.kind, number=question.number, question=question, asked_at=940.0, ruling=ruling)
    return {question.key: Slots(slots=(slot,))}


def ruling(choice: Choice = Choice.APPROVE) -> Ruling:
    return Ruling(key=KEY, choice=choice, who="ada", at=960.0)


def record(**more: Any) -> Record:
    return Record(**({"begun": begun(), "row": row()} | more))


def asking(question: Question | None = None, **more: Any) -> Record:
    """The record of a run that waits for a person."""
    question = question or approval()
    state = RunState.WAITING_APPROVAL if question.kind == "approval" else RunState.OUTCOME_UNKNOWN
    asked = {"row": row(state, questions=(question,)), "intents": (intent(),), "slots": slots(question)}
    return record(**(asked | more))


def seen(kept: Record, *invocations: Invocation, run_id: str = "r1", **more: Any) -> Overview:
    found = overview(Seen(run_id, NOW, kept, invocations, **more))
    assert found is not None
    return found
