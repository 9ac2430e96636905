"""Whole conversations with the mock model in its strict mode: decision core, history and client, without Restate."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from services.answer import ModelFailed, ModelReply
from services.history import history
from services.limits import Limits
from services.loop import CallModel, CallTools, Decision, Finish, GiveUp, Reason, Refuse, decide
from services.model import Fail, Model, plan
from services.provider import Provider
from services.transcript import Answered, Entry, Shortened, Told, Transcript
from tests.mocks.process import MockProcess, running
from tests.services.replies import LIMITS, MAIL, TOOLSET

Results = Callable[[str, Mapping[str, Any]], str]


@pytest.fixture(scope="module")
def mock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MockProcess]:
    path: Path = tmp_path_factory.mktemp("model") / "model.db"
    with running("model", path) as process:
        yield process


def prepare(
    mock: MockProcess, name: str, replies: list[dict[str, Any]], *, loop: bool = False, **switches: Any
) -> None:
    """A script that answers the task `name`, and the switches."""
    script = {"match": f"^{name}\\b", "replies": replies, "loop": loop}
    mock.client.put(f"/scripts/{name}", json=script).raise_for_status()
    mock.client.put("/switches", json={"strict": True, **switches}).raise_for_status()


def turn(*calls: tuple[str, Any], **more: Any) -> dict[str, Any]:
    """A reply of a script with these calls."""
    return {"content": None, "tool_calls": [{"name": name, "arguments": given} for name, given in calls], **more}


async def converse(
    mock: MockProcess,
    transcript: Transcript,
    limits: Limits = LIMITS,
    results: Results = lambda name, _: f"{name} done",
    model: Model | None = None,
    **settings: Any,
) -> tuple[Transcript, Decision, list[tuple[str, Mapping[str, Any]]]]:
    """The run as the handler makes it, without waits; its transcript, its end, and the calls that were run."""
    provider = Provider(base_url=f"{mock.url}/v1", **settings)
    shared, model = model, model or Model(provider)
    run: list[tuple[str, Mapping[str, Any]]] = []
    failures: list[ModelFailed] = []
    try:
        while True:
            decision = decide(transcript, TOOLSET, limits, provider)
            match decision:
                case CallModel(number):
                    answer = await model.ask(history(transcript, provider, limits), TOOLSET.values())
                    if isinstance(answer, ModelReply):
                        transcript, failures = transcript.add(answer.replied(number)), []
                        continue
                    what = plan(failures, answer, provider)
                    failures.append(answer)
                    if isinstance(what, Fail):
                        return transcript, GiveUp(what.reason, what.detail), run
                    if what.trim_to_bytes is not None:
                        transcript = transcript.add(Shortened(what.trim_to_bytes))
                case CallTools(number, calls):
                    texts = []
                    for call in calls:
                        if call.arguments is not None:
                            run.append((call.name, call.arguments))
                        texts.append(call.problem or results(call.name, call.arguments or {}))
                    transcript = transcript.add(Answered(number, tuple(texts)))
                case _:
                    return transcript, decision, run
    finally:
        if shared is None:
            await model.close()


async def task(mock: MockProcess, words: str, **more: Any) -> tuple[Decision, list[str], int]:
    """How the task ended, the names of the calls that were run, and how many requests the model got."""
    before = requests(mock)
    _, decision, run = await converse(mock, Transcript((Told("Be kind.", "system"), Told(words))), **more)
    return decision, [name for name, _ in run], requests(mock) - before


def requests(mock: MockProcess) -> int:
    rows = mock.rows()
    return int(rows[-1]["n"]) if rows else 0


ECHO_CASES = [("null", {}), ("empty", {"reject_null": True}), ("omit", {"reject_null": True, "reject_empty": True})]


@pytest.mark.parametrize("setting, switches", ECHO_CASES)
async def test_one_setting_makes_every_provider_take_empty_content(
    mock: MockProcess, setting: str, switches: dict[str, bool]
) -> None:
    replies = [turn(("search", {})), {**turn(("search", {})), "content": ""}, {"content": "done"}]
    prepare(mock, "echo", replies, **switches)
    assert await task(mock, "echo", echo_empty=setting) == (Finish("done"), ["search", "search"], 3)


async def test_a_history_that_is_refused_costs_one_request(mock: MockProcess) -> None:
    prepare(mock, "refused", [turn(("search", {})), {"content": "done"}], reject_null=True)
    decision, _, count = await task(mock, "refused", echo_empty="null")
    assert isinstance(decision, GiveUp)
    assert (decision.reason, count) == (Reason.BAD_REQUEST, 2)
    assert "content is null" in decision.text


async def test_broken_arguments_cost_their_own_call_only(mock: MockProcess) -> None:
    broken = '{"to":"a@example.test","body":"hi"'
    prepare(
        mock, "broken", [turn(("send_email", broken), ("search", "")), turn(("send_email", MAIL)), {"content": "done"}]
    )
    assert await task(mock, "broken") == (Finish("done"), ["search", "send_email"], 3)


@pytest.mark.parametrize("arguments", ["[]", '"x"', "5", "null", '{"to"', "x" * 2_000_000])
async def test_broken_arguments_for_ever_end_after_three_replies(mock: MockProcess, arguments: str) -> None:
    prepare(mock, "forever", [turn(("send_email", arguments))], loop=True)
    decision, run, count = await task(mock, "forever")
    assert isinstance(decision, GiveUp)
    cut = Reason.OUTPUT_TRUNCATED if arguments == '{"to"' else Reason.MODEL_OUTPUT_INVALID
    assert (decision.reason, run, count) == (cut, [], 3)


@pytest.mark.parametrize("arguments", ["", "  ", None, {}])
async def test_a_tool_without_parameters_needs_no_arguments(mock: MockProcess, arguments: Any) -> None:
    prepare(mock, "bare", [turn(("list_invoices", arguments)), {"content": "done"}])
    assert await task(mock, "bare") == (Finish("done"), ["list_invoices"], 2)


@pytest.mark.parametrize("name", ["get_date", "", "Search"])
async def test_an_unknown_name_costs_its_own_call_only(mock: MockProcess, name: str) -> None:
    prepare(mock, "name", [turn((name, {}), ("search", {})), {"content": "done"}])
    assert await task(mock, "name") == (Finish("done"), ["search"], 2)


@pytest.mark.parametrize(
    "finish, arguments",
    [
        ("length", '{"amount_cents": 1'),
        ("tool_calls", '{"amount_cents": 1'),
        ("length", '{"customer_id": "c", "amount_cents": 10}'),
        ("MAX_TOKENS", '{"customer_id": "c", "amount_cents": 10}'),
    ],
)
async def test_a_call_that_was_cut_off_is_not_run(mock: MockProcess, finish: str, arguments: str) -> None:
    prepare(mock, "cut", [turn(("charge_card", arguments), finish_reason=finish)], loop=True)
    decision, run, count = await task(mock, "cut")
    assert isinstance(decision, GiveUp)
    assert (decision.reason, run, count) == (Reason.OUTPUT_TRUNCATED, [], 3)


async def test_a_call_that_may_be_cut_off_is_not_run_where_it_changes_something(mock: MockProcess) -> None:
    usage = {"prompt_tokens": 5, "completion_tokens": 64}
    calls = [("charge_card", {"customer_id": "c", "amount_cents": 10}), ("search", {})]
    prepare(mock, "maybe", [turn(*calls, usage=usage), {"content": "done"}])
    assert await task(mock, "maybe", max_output_tokens=64) == (Finish("done"), ["search"], 2)


async def test_ids_that_repeat_are_told_apart(mock: MockProcess) -> None:

    def pay(customer: str, identifier: str) -> dict[str, Any]:
        return {"name": "charge_card", "arguments": {"customer_id": customer, "amount_cents": 5}, "id": identifier}

    two = {"content": None, "tool_calls": [pay("a", "call_1"), pay("b", "call_1")]}
    replies = [
        two,
        {"content": None, "tool_calls": [pay("c", "call_1")]},
        {"content": None, "tool_calls": [pay("d", "")]},
    ]
    prepare(mock, "ids", [*replies, {"content": "done"}])
    _, decision, run = await converse(mock, Transcript((Told("ids"),)))
    assert decision == Finish("done")
    assert [arguments["customer_id"] for _, arguments in run] == ["a", "b", "c", "d"]


REFUSALS: list[dict[str, Any]] = [
    {"content": None, "extra": {"refusal": "I will not."}},
    {"content": "part", "finish_reason": "content_filter"},
    {"status": 400, "body": {"error": {"code": "content_filter", "message": "no"}}},
    {**turn(("send_email", MAIL)), "extra": {"refusal": "I will not."}},
]


@pytest.mark.parametrize("reply", REFUSALS)
async def test_a_refusal_is_asked_for_once_and_the_session_goes_on(mock: MockProcess, reply: dict[str, Any]) -> None:
    prepare(mock, "refuse", [reply])
    prepare(mock, "next", [{"content": "done"}])
    transcript, decision, run = await converse(mock, Transcript((Told("refuse"),)))
    assert isinstance(decision, Refuse)
    assert (transcript.tally.turns, run) == (1, [])
    _, decision, _ = await converse(mock, Transcript((Told("next"),), earlier=transcript.entries))
    assert decision == Finish("done")


@pytest.mark.parametrize("keep", [True, False])
async def test_fields_come_back_or_are_left_out_as_the_provider_wants(mock: MockProcess, keep: bool) -> None:
    signed = {"name": "search", "arguments": "{ }", "extra_content": {"google": {"thought_signature": "a+/é=="}}}
    first = {"content": None, "tool_calls": [signed], "extra": {"reasoning_content": "hm…"}}
    switches = {"require_fields": True} if keep else {"reject_unknown_fields": True}
    prepare(mock, "signed", [first, {"content": "done"}], **switches)
    decision, run, _ = await task(mock, "signed", keep_unknown=keep)
    assert (decision, run) == (Finish("done"), ["search"])
    decision, _, _ = await task(mock, "signed", keep_unknown=not keep)
    assert isinstance(decision, GiveUp)
    assert decision.reason is Reason.BAD_REQUEST


async def test_reasoning_without_an_answer_is_no_success(mock: MockProcess) -> None:
    prepare(mock, "mute", [{"content": "", "extra": {"reasoning_content": "hm"}}])
    decision, _, count = await task(mock, "mute")
    assert isinstance(decision, GiveUp)
    assert (decision.reason, count) == (Reason.MODEL_OUTPUT_INVALID, 3)


async def test_the_same_call_for_ever_ends_at_the_limit_of_turns(mock: MockProcess) -> None:
    prepare(mock, "again", [turn(("search", {}))], loop=True)
    decision, run, count = await task(mock, "again", limits=LIMITS.model_copy(update={"turns": 7}))
    assert isinstance(decision, GiveUp)
    assert (decision.reason, len(run), count) == (Reason.MAX_TURNS, 7, 7)


@pytest.mark.parametrize(
    "status, code, reason",
    [
        (429, "insufficient_quota", Reason.QUOTA_EXHAUSTED),
        (401, "invalid_api_key", Reason.UNAUTHORISED),
        (403, "forbidden", Reason.UNAUTHORISED),
        (404, "model_not_found", Reason.MODEL_NOT_FOUND),
        (400, "bad", Reason.BAD_REQUEST),
    ],
)
async def test_what_cannot_succeed_is_asked_once(mock: MockProcess, status: int, code: str, reason: Reason) -> None:
    prepare(mock, "never", [{"status": status, "body": {"error": {"code": code, "message": "no"}}}])
    decision, _, count = await task(mock, "never")
    assert isinstance(decision, GiveUp)
    assert (decision.reason, count) == (reason, 1)


@pytest.mark.parametrize("fault", [{"status": 500, "body": "no"}, {"cut": True}, {"hang": True}])
async def test_attempts_are_requests(mock: MockProcess, fault: dict[str, Any]) -> None:
    prepare(mock, "down", [fault])
    decision, _, count = await task(mock, "down", attempts=3, deadline_s=0.5)
    assert isinstance(decision, GiveUp)
    assert (decision.reason, count) == (Reason.MODEL_UNAVAILABLE, 3)


async def test_a_conversation_that_is_too_long_is_trimmed_once_and_goes_on(mock: MockProcess) -> None:
    """A message too large to be trimmed away ends the run with the reason's name."""
    prepare(mock, "big", [*[turn(("search", {"query": str(n)})) for n in range(6)], {"content": "done"}])
    mock.client.put("/switches", json={"strict": True, "max_request_bytes": 40_000}).raise_for_status()
    before = requests(mock)
    transcript, _, _ = await converse(mock, Transcript((Told("big"),)), results=lambda *_: "x" * 12_000)
    assert len(transcript.of(Shortened)) >= 1
    assert requests(mock) - before <= 2 * (transcript.tally.turns + 1)
    decision, _, count = await task(mock, "big " + "y" * 50_000)
    assert isinstance(decision, GiveUp)
    assert (decision.reason, count) == (Reason.CONTEXT_TOO_LONG, 2)


@pytest.mark.long
async def test_a_session_of_three_hundred_messages_stays_well_formed(mock: MockProcess) -> None:
    """A strict provider that takes 60,000 bytes at most refuses no message of the session."""
    replies = [turn(("search", '{"limit": 1}'), ("look_up_order", "{broken")), {"content": "answer {n}"}]
    script = {"match": r"^message (?P<n>\d+)", "replies": replies}
    mock.client.put("/scripts/message", json=script).raise_for_status()
    mock.client.put("/switches", json={"strict": True, "max_request_bytes": 60_000}).raise_for_status()
    model = Model(Provider(base_url=f"{mock.url}/v1"))
    earlier: tuple[Entry, ...] = ()
    for number in range(300):
        transcript = Transcript((Told("Be kind.", "system"), Told(f"message {number}")), earlier)
        transcript, decision, _ = await converse(mock, transcript, results=lambda *_: "r" * 700, model=model)
        assert decision == Finish(f"answer {number}"), decision
        earlier = (*earlier, *transcript.entries)
    await model.close()
    assert sum(isinstance(entry, Shortened) for entry in earlier) <= 2
