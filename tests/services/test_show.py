"""What a person and what a script read of a run."""

import io
import json
import re
import shlex
from collections.abc import Iterable
from typing import Any

import pytest
from rich.console import Console, RenderableType
from rich.text import Text
from typer.testing import CliRunner

from services import show
from services.cli import app
from services.exits import STATES, Exit, of_pending, of_run, of_status
from services.messages import IntentState, RunState, Tombstone
from services.overview import Ahead, Overview, Record
from services.report import Commands, report
from tests.services.seen import (
    BUG,
    KEY,
    MISMATCH,
    NOW,
    asking,
    begun,
    doubt,
    end,
    failed,
    failing,
    intent,
    invocation,
    paused,
    record,
    row,
    seen,
)

HERE = Commands()
FAILURES = {"inv_1": [failed(NOW - 125)]}


def text(lines: Iterable[RenderableType], width: int = 80) -> str:
    console = Console(file=io.StringIO(), width=width, soft_wrap=True)
    for line in lines:
        console.print(line, soft_wrap=isinstance(line, Text))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def shown(run: Overview, width: int = 80) -> str:
    return text((*show.summary(run), *show.waits(run, HERE)), width)


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(-3, "0 s"), (0.4, "0 s"), (59, "59 s"), (61, "1 m 1 s"), (3600, "1 h"), (90061, "1 d 1 h"), (86400 * 9, "9 d")],
)
def test_an_age_has_at_most_two_units(seconds: float, said: str) -> None:
    assert show.age(seconds) == said


def test_an_approval_shows_what_goes_out_and_the_commands_that_answer() -> None:
    said = shown(seen(asking(), invocation()))
    assert "r1  waiting_approval  1 m 30 s" in said
    assert 'charge_card(customer_id="9", amount_cents=4900)  asked 1 m ago' in said
    assert "49.00 EUR" in said
    assert f"python -m services.cli approve r1 {KEY}\n" in said
    assert f"python -m services.cli deny r1 {KEY}\n" in said


def test_an_unknown_outcome_shows_its_evidence_and_three_answers() -> None:
    question = doubt().model_copy(update={"evidence": ("the look-up found nothing",)})
    said = shown(seen(asking(question), invocation()))
    assert "the look-up found nothing" in said
    assert "it cannot be recalled" in said
    for answer in ("happened --receiver-id ID", "did-not-happen", "give-up"):
        assert f"python -m services.cli resolve r1 {KEY} {answer}\n" in said


def test_commands_carry_the_addresses_that_were_given_and_quote_the_run_id() -> None:
    commands = Commands(("--admin=http://far:9070",))
    line = commands.line("resume", "it's mine; rm -rf /")
    assert shlex.split(line) == [
        "python", "-m", "services.cli", "resume", "it's mine; rm -rf /", "--admin=http://far:9070"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("run", "words", "command"),
    [
        (seen(record(), failing(), failures=FAILURES), "start a worker at http://127.0.0.1:9080/", None),
        (seen(record(), failing(BUG, "RT0007"), failures=FAILURES), "KeyError('turn')", None),
        (seen(record(), failing(MISMATCH, "RT0016"), failures=FAILURES), "what is done is not repeated", "--afresh"),
        (seen(record(), failing("[500] gone", "RT0011"), failures=FAILURES), "no longer registered", "--deployment"),
        (seen(record(), invocation("paused"), failures={"inv_1": [paused(NOW)]}), "paused", "resume r1\n"),
        (seen(record(), invocation("completed", ended_with="[409] killed")), "killed", "resume r1\n"),
    ],
)
def test_a_stuck_run_says_what_is_wrong_and_what_helps(run: Overview, words: str, command: str | None) -> None:
    said = shown(run)
    assert run.state is RunState.STUCK
    assert words in said
    assert "what helps" in said
    assert ("services.cli resume" in said) is (command is not None)
    assert command is None or command in said


def test_a_key_is_never_cut_or_wrapped() -> None:
    said = shown(seen(asking(), invocation()), width=60)
    assert len(re.findall(KEY, said)) == 4


def test_on_a_usual_terminal_the_ledger_breaks_between_words() -> None:
    arguments = {"payment_id": "pay_1042", "amount_cents": 4900, "reason": "refund of order 1042", "currency": "EUR"}
    made = intent(IntentState.DONE, arguments=arguments, receiver_id="re_1042_1")
    said = text([show.ledger((made,))], width=100)
    assert set(show.action(made).split()) <= set(said.split())
    assert {"49.00", "EUR", "done", "re_1042_1", made.key} <= set(said.split())
    assert "receiver's id" in said


def test_a_reason_that_says_no_more_than_the_state_is_left_out() -> None:
    assert "why" not in shown(seen(record(end=end(answer="x")), invocation("completed")))
    cancelled = end(state=RunState.CANCELLED, reason="cancelled", detail="cancelled by ann")
    assert re.search(r"why +cancelled by ann$", shown(seen(record(end=cancelled))), re.MULTILINE)


def test_the_usage_names_the_words_as_they_are_typed() -> None:
    said = CliRunner().invoke(app, ["approve"], prog_name="cli").stderr
    assert said.startswith("Usage: cli approve [OPTIONS] RUN KEY\n")


def test_what_could_steer_a_terminal_or_write_backwards_is_spelled_out() -> None:
    nasty = "\x1b[2Jpaid\u202e\n\x9b1m"
    kept = asking(intents=(intent(arguments={"memo": nasty}),), begun=begun(task=nasty))
    said = shown(seen(kept, invocation(), run_id=f"r{nasty}"))
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", said)
    assert "\\x1b[2Jpaid\\u202e\\n\\x9b1m" in said


def test_an_ended_run_shows_its_answer_and_how_long_ago() -> None:
    said = shown(
        seen(record(end=end(answer="all\ndone"), intents=(intent(IntentState.DONE),)), invocation("completed"))
    )
    assert "r1  completed  50 s ago" in said
    assert "all\n                        done" in said
    assert "what helps" not in said
    assert "anew" not in said


@pytest.mark.parametrize("state", [RunState.FAILED, RunState.REFUSED, RunState.CANCELLED])
def test_a_run_that_did_not_complete_says_how_to_begin_it_anew(state: RunState) -> None:
    ended = seen(record(end=end(state, reason="no_answer", pass_number=2)), invocation("completed"))
    assert "to begin it anew      python -m services.cli again r1\n" in shown(ended)
    assert '"again": 3' in str(report(ended, HERE)["anew"])
    begun_again = seen(record(end=end(state), row=row(pass_number=2)), invocation())
    assert "anew" not in shown(begun_again) and "anew" not in report(begun_again, HERE)


def test_what_can_no_longer_go_on_is_not_begun_anew() -> None:
    stone = Tombstone(digest="d", state=RunState.FAILED, ended_at=1.0)
    for kept in (Record(end=stone), record(end=stone), Record(end=end(RunState.CANCELLED))):
        assert "anew" not in shown(seen(kept))


def test_a_log_has_a_line_for_each_thing_that_is_new() -> None:
    before = seen(record(intents=(intent(IntentState.ARMED),)), invocation())
    after = seen(record(intents=(intent(IntentState.DONE),), end=end()), invocation("completed"))
    assert len(show.changes(None, before)) == 2
    assert not show.changes(before, before)
    assert [line.plain.split()[1] for line in show.changes(before, after)] == ["done", "completed"]


def test_what_cannot_be_read_is_named_also_among_what_is_pending() -> None:
    kept = record(row=row(RunState.WAITING_APPROVAL), unreadable={"run": "the key k1 is not here"})
    said = text(show.pending([seen(kept, invocation())], HERE))
    assert "r1  waiting_approval" in said
    assert "run: the key k1 is not here" in said


def test_pending_counts_and_lists() -> None:
    runs = [seen(asking(), invocation()), seen(record(), failing(), run_id="r2", failures=FAILURES)]
    said = text(show.pending(runs, HERE))
    assert said.startswith("1 to decide, 1 in trouble\n")
    assert "r2  stuck  2 m 5 s" in said
    assert text(show.pending([], HERE)) == "nothing waits for a person, and nothing is stuck.\n"


def test_a_script_reads_the_names_of_the_status_handler_and_more() -> None:
    told: Any = report(seen(asking(), failing(), failures=FAILURES), HERE)
    assert json.loads(json.dumps(told)) == told
    assert (told["run_id"], told["state"], told["pass"], told["task"]) == (
        "r1",
        "waiting_approval",
        1,
        "charge customer 9",
    )
    (question,) = told["questions"]
    assert question["commands"]["approve"].endswith(f"approve r1 {KEY}")
    assert told["trouble"]["cause"] == "worker unreachable"
    assert "request" not in told["ledger"][0]


@pytest.mark.parametrize(
    "run",
    [
        seen(Record(), invocation("pending")),
        seen(Record(), invocation()),
        seen(Record(), failing(handler="submit")),
        seen(record(end=end()), invocation("completed")),
        seen(record()),
    ],
)
def test_every_run_has_a_report_and_a_summary(run: Overview) -> None:
    told = report(run, HERE)
    assert told["state"] == run.state.value
    assert told["ledger"] == []
    assert run.run_id in shown(run)


def test_every_state_has_an_exit_code() -> None:
    assert set(STATES) == set(RunState) | set(Ahead)
    assert of_run(seen(asking(), invocation())) is Exit.WAITS


def test_pending_ends_with_the_worst() -> None:
    waiting = seen(asking(), invocation())
    stuck = seen(record(), failing(), failures=FAILURES)
    assert of_pending([]) is Exit.OK
    assert of_pending([waiting]) is Exit.WAITS
    assert of_pending([waiting, stuck]) is Exit.STUCK


@pytest.mark.parametrize(("status", "code"), [(400, 2), (401, 2), (404, 2), (413, 2), (409, 6), (410, 6), (422, 6)])
def test_a_refusal_is_told_from_a_conflict(status: int, code: int) -> None:
    assert of_status(status) == code


def test_a_call_that_the_grant_did_not_cover_is_shown() -> None:
    said = "charge_card was not run: 4900 cents is above the 100 that one effect may move."
    for kept in (record(row=row(refused=(said,))), record(end=end(refused=(said,)))):
        assert f"  refused               {said}\n" in shown(seen(kept, invocation()))
