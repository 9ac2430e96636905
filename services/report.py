"""One run as JSON, for scripts, and the commands that answer what it waits for. Pure.

Rule: the names are those of the `status` handler, with what only Restate's tables know beside them. The commands can
be pasted as they are.
Must not know: the terminal, HTTP.
"""

import shlex
from dataclasses import dataclass

from services import public
from services.messages import Begun, Choice, RunEnd
from services.overview import Open, Overview
from services.public import Shown
from services.trouble import Invocation, Trouble, Way

PROGRAM = ("python", "-m", "services.cli")
VERBS: dict[Choice, tuple[str, ...]] = {
    Choice.APPROVE: ("approve",),
    Choice.DENY: ("deny",),
    Choice.HAPPENED: ("happened", "--receiver-id", "ID"),
    Choice.DID_NOT_HAPPEN: ("did-not-happen",),
    Choice.GIVE_UP: ("give-up",),
}


@dataclass(frozen=True, slots=True)
class Commands:
    """Command lines with the addresses that were given to this one."""

    flags: tuple[str, ...] = ()

    def line(self, *words: str) -> str:
        return shlex.join((*PROGRAM, *words, *self.flags))

    def answers(self, run_id: str, asked: Open) -> dict[Choice, str]:
        return {choice: self._answer(run_id, asked, choice) for choice in asked.question.choices()}

    def _answer(self, run_id: str, asked: Open, choice: Choice) -> str:
        verb, *options = VERBS[choice]
        if asked.question.kind == "approval":
            return self.line(verb, run_id, asked.question.key)
        return self.line("resolve", run_id, asked.question.key, verb, *options)

    def ways(self, run_id: str, trouble: Trouble) -> list[str]:
        """What ends the trouble; empty where it ends by itself when the cause is mended."""
        resume = self.line("resume", run_id)
        latest, afresh = self.line("resume", run_id, "--deployment", "latest"), self.line("resume", run_id, "--afresh")
        match trouble.way:
            case Way.WAIT:
                return []
            case Way.RESUME:
                return [resume]
            case Way.LATEST:
                return [latest, afresh]
            case Way.AFRESH:
                return [afresh]


def report(seen: Overview, commands: Commands) -> Shown:
    """Everything about one run."""
    said = known(seen)
    reason = seen.reason if seen.record.ended is None else said.get("reason", seen.reason)
    return {
        **said,
        "state": seen.state.value,
        "reason": reason,
        "since": seen.since,
        "questions": [question(seen.run_id, each, commands) for each in seen.questions],
        "trouble": trouble(seen.run_id, seen.trouble, commands) if seen.trouble is not None else None,
        "cancelling": seen.cancelling,
        "invocation_id": seen.invocation.id if seen.invocation is not None else said.get("invocation_id"),
        "queued": [waiting(each) for each in seen.queued],
        "unanswered": [waiting(each) for each in seen.asked],
        "unreadable": list(seen.record.unreadable),
    }


def known(seen: Overview) -> Shown:
    """What the run itself says."""
    record = seen.record
    begun = record.begun or Begun(digest="", task="", invocation="")
    if isinstance(record.ended, RunEnd):
        return public.status(seen.run_id, begun, record.row, record.ended, record.intents)
    if record.begun is None:
        return {"run_id": seen.run_id, "ledger": []}
    return public.status(seen.run_id, begun, record.row, None, record.intents)


def question(run_id: str, asked: Open, commands: Commands) -> Shown:
    intent = asked.intent
    return {
        **asked.question.model_dump(mode="json"),
        "choices": [choice.value for choice in asked.question.choices()],
        "since": asked.since,
        "tool": intent.tool if intent is not None else None,
        "arguments": intent.arguments if intent is not None else None,
        "amount_cents": intent.amount_cents if intent is not None else None,
        "currency": intent.currency if intent is not None else None,
        "commands": {choice.value: line for choice, line in commands.answers(run_id, asked).items()},
    }


def trouble(run_id: str, found: Trouble, commands: Commands) -> Shown:
    return {
        "cause": found.cause.value,
        "text": found.text,
        "paused": found.paused,
        "since": found.since,
        "tries": found.tries,
        "endpoint": found.endpoint,
        "invocation_id": found.invocation,
        "remedy": found.remedy,
        "commands": list(commands.ways(run_id, found)),
    }


def waiting(call: Invocation) -> Shown:
    return {
        "handler": call.handler,
        "asks": call.asks or None,
        "invocation_id": call.id,
        "since": call.created_at,
        "start_at": call.start_at,
    }
