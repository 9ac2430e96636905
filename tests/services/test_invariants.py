"""Two invariants, over whatever a model may send.

I2: the history is well formed: each call is answered exactly once, under a unique id, in the original order, and its
arguments are the text of a JSON object. I3: a run ends, within its limits.
"""

import json
from collections.abc import Iterator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from mocks.strict import what_is_malformed
from services.history import History, history
from services.limits import Limits
from services.loop import AskMore, CallModel, CallTools, Decision, Finish, GiveUp, Refuse, decide
from services.raw import clean
from services.reply import read
from services.transcript import Answered, Cut, Entry, Extended, Replied, Shortened, Told, Transcript, Usage
from tests.services.replies import PROVIDER, TOOLSET

POISON = st.text(st.characters(categories=["L", "N", "P", "Cs", "Cc", "Zs", "So"]), max_size=8)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | POISON,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(POISON, inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.dictionaries(
    st.sampled_from(["order_id", "customer_id", "amount_cents", "query", "key"]), JSON, max_size=3
)
WRITTEN = OBJECTS.map(json.dumps)
ARGUMENTS = st.one_of(
    WRITTEN,
    WRITTEN.flatmap(lambda text: st.integers(0, len(text)).map(lambda end: text[:end])),
    st.sampled_from(
        ["", " ", "null", "[]", "5", '"x"', "{", "}", '{"a":', '{"a":1}{', "[" * 2_000, "NaN", '{"a":1e400}']
    ),
    POISON,
    JSON,
)
NAMES = st.sampled_from([*TOOLSET, "", "Search", "get_date", "functions.search", "x" * 80]) | JSON
IDS = st.sampled_from(["", "call_1", "call_1", "t0001c000", "t0002c001", "a b", "x" * 200]) | JSON
FUNCTIONS = st.fixed_dictionaries({}, optional={"name": NAMES, "arguments": ARGUMENTS, "extra": JSON}) | JSON
CALLS = st.fixed_dictionaries({}, optional={"id": IDS, "type": JSON, "function": FUNCTIONS, "index": JSON}) | JSON
GOOD_CALLS = st.fixed_dictionaries(
    {"id": IDS, "function": st.fixed_dictionaries({"name": st.sampled_from(list(TOOLSET)), "arguments": WRITTEN})}
)
CONTENT = st.sampled_from([None, "", " ", "text", [], [{"type": "text", "text": "part"}]]) | POISON | JSON
MESSAGES = st.fixed_dictionaries(
    {},
    optional={
        "role": JSON,
        "content": CONTENT,
        "refusal": st.none() | POISON,
        "tool_calls": st.lists(GOOD_CALLS | CALLS, max_size=4) | JSON,
        "function_call": st.none() | FUNCTIONS,
        "reasoning_content": POISON,
        "tool_call_id": JSON,
    },
)
WORKING = st.fixed_dictionaries({"content": CONTENT, "tool_calls": st.lists(GOOD_CALLS, min_size=1, max_size=4)})
REPLIES = st.builds(
    lambda raw, finish, cut, filtered, usage: Replied(1, clean(raw), finish, usage, cut, filtered),  # type: ignore[arg-type]
    st.one_of(WORKING, MESSAGES),
    st.none() | st.sampled_from(["stop", "tool_calls", "length"]),
    st.sampled_from([Cut.NO, Cut.NO, Cut.NO, Cut.MAYBE, Cut.YES]),
    st.sampled_from([False] * 9 + [True]),
    st.builds(Usage, st.integers(0, 1_000), st.integers(0, 1_000)),
)
TEXTS = st.sampled_from(["", "done", "x" * 5_000]) | POISON
LIMITS = st.builds(
    Limits,
    turns=st.integers(1, 12),
    calls=st.integers(0, 20),
    tokens=st.integers(1, 20_000),
    bad_turns=st.integers(1, 4),
    calls_per_turn=st.integers(1, 4),
    arguments_bytes=st.integers(100, 1_000),
    history_bytes=st.integers(2_000, 20_000),
    on_limit=st.sampled_from(["fail", "ask"]),
)
PROVIDERS = st.builds(
    lambda echo, keep: PROVIDER.model_copy(update={"echo_empty": echo, "keep_unknown": keep}),
    st.sampled_from(["null", "empty", "omit"]),
    st.booleans(),
)
# More decisions than any run within these limits can need: turns, their calls, a few extensions.
STEPS_MAX = 100
ENTRIES: TypeAdapter[tuple[Entry, ...]] = TypeAdapter(tuple[Entry, ...])


def run(
    replies: list[Replied], texts: list[str], limits: Limits, provider: Any, *, extensions: int = 0
) -> Iterator[tuple[Transcript, Decision]]:
    """A run as the handler would make it, each decision with the transcript that it was made from."""
    transcript = Transcript((Told("Be kind.", "system"), Told("task")))
    for step in range(STEPS_MAX):
        decision = decide(transcript, TOOLSET, limits, provider)
        yield transcript, decision
        match decision:
            case CallModel(turn):
                each = replies[turn % len(replies)]
                reply = Replied(turn, each.raw, each.finish_reason, each.usage, each.cut, each.filtered, float(step))
                transcript = transcript.add(reply)
            case CallTools(turn, calls):
                answers = tuple(call.problem or texts[call.index % len(texts)] for call in calls)
                transcript = transcript.add(Answered(turn, answers, float(step)))
            case AskMore(limit, _, allowed) if extensions:
                extensions -= 1
                transcript = transcript.add(Extended(limit, allowed))
            case _:
                return
    raise AssertionError("the run did not end")


@settings(max_examples=400, deadline=None)
@given(
    st.lists(REPLIES, min_size=1, max_size=6), st.lists(TEXTS, min_size=1, max_size=3), LIMITS, PROVIDERS, st.booleans()
)
def test_the_history_is_well_formed_whatever_the_model_said(
    replies: list[Replied], texts: list[str], limits: Limits, provider: Any, overflow: bool
) -> None:
    """I2, by the mock's strict check and by our own."""
    turn_by_turn = History(provider, limits)
    for transcript, decision in run(replies, texts, limits, provider, extensions=2):
        seen = transcript.add(Shortened(3_000)) if overflow else transcript
        messages: list[dict[str, Any]] = history(seen, provider, limits)
        if isinstance(decision, CallModel):
            assert what_is_malformed(messages) is None
        check(messages)
        if isinstance(decision, CallTools):
            newest = [message for message in messages if message.get("tool_calls")][-1]
            assert [call["id"] for call in newest["tool_calls"]] == [call.id for call in decision.calls]
        assert turn_by_turn.messages(seen) == messages


def check(messages: list[dict[str, Any]]) -> None:
    """Each call answered once, right behind it, in order; unique ids; arguments that are objects; no poison."""
    assert json.dumps(messages, ensure_ascii=False, allow_nan=False).encode()
    due: list[str] = []
    seen: set[str] = set()
    for message in messages:
        if message["role"] == "tool":
            assert message["tool_call_id"] == due.pop(0)
            continue
        assert not due
        for call in message.get("tool_calls") or ():
            assert call["id"] not in seen
            seen.add(call["id"])
            due.append(call["id"])
            assert isinstance(json.loads(call["function"]["arguments"]), dict)
    assert not due


@settings(max_examples=400, deadline=None)
@given(st.lists(REPLIES, min_size=1, max_size=8), st.lists(TEXTS, min_size=1, max_size=3), LIMITS, st.integers(0, 3))
def test_a_run_ends_within_its_limits(
    replies: list[Replied], texts: list[str], limits: Limits, extensions: int
) -> None:
    """I3: for ever the same replies, and the run ends; calls that are run have checked arguments."""
    ends: list[Decision] = []
    last = Transcript()
    for transcript, decision in run(replies, texts, limits, PROVIDER, extensions=extensions):
        last = transcript
        ends.append(decision)
        if isinstance(decision, CallTools):
            reply = transcript.of(Replied)[-1]
            assert len(decision.calls) == len(read(reply.raw).calls)
            for call in decision.calls:
                assert (call.problem is None) == (call.arguments is not None)
                if call.arguments is not None:
                    assert TOOLSET[call.name].check(call.arguments) == call.arguments
                    assert reply.cut is not Cut.YES
    assert isinstance(ends[-1], Finish | Refuse | GiveUp | AskMore)
    more = 2**extensions
    assert last.tally.turns <= limits.turns * more
    assert last.tally.calls <= max(limits.calls * more, limits.calls)


@settings(max_examples=200, deadline=None)
@given(st.lists(REPLIES, min_size=1, max_size=6), LIMITS)
def test_entries_that_went_through_the_journal_decide_the_same(replies: list[Replied], limits: Limits) -> None:
    for transcript, decision in run(replies, ["ok"], limits, PROVIDER):
        again = Transcript(ENTRIES.validate_json(ENTRIES.dump_json(transcript.entries)))
        assert (again, again.tally, again.ids) == (transcript, transcript.tally, transcript.ids)
        assert decide(again, TOOLSET, limits, PROVIDER) == decision
        assert history(again, PROVIDER, limits) == history(transcript, PROVIDER, limits)


@given(JSON)
def test_clean_text_is_what_can_be_stored_and_sent(value: Any) -> None:
    """Cleaning is idempotent and yields JSON that can be written as UTF-8."""
    cleaned = clean(value)
    written = json.dumps(cleaned, ensure_ascii=False, allow_nan=False).encode()
    assert b"\x00" not in written
    assert clean(cleaned) == cleaned
