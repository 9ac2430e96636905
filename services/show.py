"""Runs as a person at a terminal reads them. Pure: values to what rich prints.

Rule: what may be pasted stands on a line of its own and is never wrapped, coloured or shortened. Texts of models and
callers are shown with whatever could steer a terminal, or write from right to left, spelled out.
Must not know: HTTP, Restate, where it is printed.
"""

from collections.abc import Iterable
from datetime import UTC, datetime

from pydantic import JsonValue
from rich.box import SIMPLE_HEAD
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from services.messages import ENDED, Choice, Intent, IntentState, RunEnd, RunState
from services.overview import Ahead, Open, Overview
from services.reason import Reason
from services.report import Commands
from services.trouble import Trouble
from tools.request import canonical_text

STATE_STYLES: dict[RunState | Ahead, str] = {
    RunState.COMPLETED: "green",
    RunState.FAILED: "red",
    RunState.REFUSED: "red",
    RunState.STUCK: "bold red",
    RunState.WAITING_APPROVAL: "yellow",
    RunState.OUTCOME_UNKNOWN: "bold yellow",
    RunState.CANCELLED: "magenta",
}
INTENT_STYLES: dict[IntentState, str] = {
    IntentState.DONE: "green",
    IntentState.REJECTED: "red",
    IntentState.DENIED: "red",
    IntentState.WAITING: "yellow",
    IntentState.UNKNOWN: "bold yellow",
    IntentState.GIVEN_UP: "bold yellow",
}
HINTS: dict[Choice, str] = {
    Choice.APPROVE: "to approve",
    Choice.DENY: "to deny",
    Choice.HAPPENED: "if it happened",
    Choice.DID_NOT_HAPPEN: "if not: send it again",
    Choice.GIVE_UP: "if nobody can tell",
}
ANEW = ENDED - {RunState.COMPLETED}
"""A run that ended so may do better in a further pass."""
TASK_CHARS_MAX = 500
ARGUMENT_CHARS_MAX = 60
KEY_CHARS = 36
NAME_CHARS = 22
STATE_CHARS = 18


def plain(text: str) -> str:
    """One line in which every character that does not print is spelled out."""
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)


def age(seconds: float) -> str:
    """How long, in the two largest units."""
    left = max(0, int(seconds))
    parts: list[str] = []
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "m"), (1, "s")):
        if left >= size or (unit == "s" and not parts):
            parts.append(f"{left // size} {unit}")
        left %= size
    return " ".join(parts[:2])


def clock(at: float) -> str:
    """A time of today, as the machine's own clock says it."""
    return datetime.fromtimestamp(at, tz=UTC).astimezone().strftime("%H:%M:%S")


def money(amount_cents: int | None, currency: str | None) -> str:
    return "" if amount_cents is None else f"{amount_cents / 100:,.2f} {currency or ''}".strip()


def action(intent: Intent) -> str:
    """A call as a person says it; long arguments are cut."""
    if intent.undoes is not None:
        return f"undo of {intent.tool}"
    return plain(f"{intent.tool}({', '.join(f'{name}={short(value)}' for name, value in intent.arguments.items())})")


def short(value: JsonValue) -> str:
    return cut(canonical_text(value), ARGUMENT_CHARS_MAX)


def cut(text: str, chars: int) -> str:
    return text if len(text) <= chars else f"{text[:chars]}…"


def pair(name: str, value: str, style: str = "") -> Text:
    return Text.assemble((f"  {name:<{NAME_CHARS}}", "cyan"), (value, style))


def head(seen: Overview) -> Text:
    """Run id, state, for how long."""
    parts = [(plain(seen.run_id), "bold"), ("  ", ""), (seen.state.value, STATE_STYLES.get(seen.state, "blue"))]
    if seen.since:
        ago = " ago" if seen.record.ended is not None else ""
        parts.append((f"  {age(seen.at - seen.since)}{ago}", "dim"))
    if seen.cancelling:
        parts.append(("  cancel asked for", "magenta"))
    return Text.assemble(*parts)


def why(seen: Overview) -> str:
    """The reason, where it says more than the state does."""
    return "" if seen.state is RunState.COMPLETED and seen.reason == Reason.DONE else seen.reason


def summary(seen: Overview) -> list[RenderableType]:
    """What is known of one run, but for the commands."""
    lines: list[RenderableType] = [head(seen)]
    record = seen.record
    if why(seen) and seen.trouble is None:
        lines.append(pair("why", plain(why(seen))))
    if record.begun is not None:
        lines.append(pair("task", cut(plain(record.begun.task), TASK_CHARS_MAX)))
    if isinstance(record.ended, RunEnd) and record.ended.answer is not None:
        lines.append(pair("answer", f"\n  {'':{NAME_CHARS}}".join(map(plain, record.ended.answer.splitlines()))))
    counted = record.ended if isinstance(record.ended, RunEnd) else record.row
    if counted is not None:
        used = counted.used
        lines.append(
            pair(
                "so far",
                f"pass {counted.pass_number}, turns {used.turns}, calls {used.calls}, tokens {used.tokens:,}"
                + (f", {used.cost_cents:.2f} cents" if used.cost_cents else ""),
            )
        )
        lines += [pair("refused", plain(sentence)) for sentence in counted.refused]
    if record.row is not None and record.row.until is not None and seen.state is RunState.WAITING_UNTIL:
        lines.append(pair("until", clock(record.row.until)))
    if seen.invocation is not None:
        lines.append(pair("invocation", seen.invocation.id))
    if seen.queued:
        lines.append(pair("behind it", f"{len(seen.queued)} further call(s) of run"))
    for call in seen.asked:
        what = plain(call.asks or call.handler)
        lines.append(pair("not answered yet", f"{what}, handed over {age(seen.at - call.created_at)} ago"))
    if record.intents:
        lines.append(ledger(record.intents))
    return lines


def ledger(intents: Iterable[Intent]) -> Table:
    """Each key stands below its effect: beside it, it would leave the rest no room on a usual terminal."""
    table = Table(box=SIMPLE_HEAD)
    table.add_column("effect and key", overflow="fold", min_width=KEY_CHARS)
    for name in ("amount", "state", "tries", "receiver's id"):
        table.add_column(name, justify="right" if name in ("amount", "tries") else "left", overflow="fold")
    for intent in intents:
        table.add_row(
            Text.assemble(action(intent), "\n", (intent.key, "dim")),
            money(intent.amount_cents, intent.currency),
            Text(intent.state.value, style=INTENT_STYLES.get(intent.state, "blue")),
            str(intent.attempts),
            Text(plain(intent.receiver_id or "")),
        )
    return table


def waits(seen: Overview, commands: Commands) -> list[Text]:
    """What holds a run up or has ended it badly, and the commands that answer it."""
    lines: list[Text] = []
    for asked in seen.questions:
        lines += asking(seen, asked, commands)
    unreadable = seen.record.unreadable.items()
    lines += [pair("cannot be read", f"{plain(name)}: {plain(why)}", "red") for name, why in unreadable]
    if seen.trouble is not None:
        lines += in_trouble(seen, seen.trouble, commands)
    if seen.state in ANEW and seen.record.begun is not None and isinstance(seen.record.ended, RunEnd):
        lines.append(pair("to begin it anew", plain(commands.line("again", seen.run_id))))
    return lines


def asking(seen: Overview, asked: Open, commands: Commands) -> list[Text]:
    question, intent = asked.question, asked.intent
    what = action(intent) if intent is not None else "the run itself"
    kind = "approval" if question.kind == "approval" else "outcome unknown"
    lines = [
        Text.assemble((f"  {kind}", "yellow"), f"  {what}", (f"  asked {age(seen.at - asked.since)} ago", "dim")),
        pair("key", question.key),
        pair("question", plain(question.text)),
    ]
    if intent is not None and intent.amount_cents is not None:
        lines.append(pair("amount", money(intent.amount_cents, intent.currency)))
    lines += [pair("evidence", plain(each)) for each in question.evidence if each != question.text]
    if question.digest:
        lines.append(pair("digest of the bytes", question.digest))
    if question.warning:
        lines.append(pair("beware", plain(question.warning)))
    return lines + [pair(HINTS[choice], plain(line)) for choice, line in commands.answers(seen.run_id, asked).items()]


def in_trouble(seen: Overview, trouble: Trouble, commands: Commands) -> list[Text]:
    since = f"  for {age(seen.at - trouble.since)}" if trouble.since else ""
    tries = f", {trouble.tries} tries" if trouble.tries else ""
    lines = [
        Text.assemble((f"  {trouble.cause.value}", "bold red"), (f"{since}{tries}", "dim")),
        pair("what is wrong", plain(trouble.text)),
        pair("what helps", trouble.remedy),
    ]
    return lines + [pair("command", plain(line)) for line in commands.ways(seen.run_id, trouble)]


def changes(before: Overview | None, after: Overview) -> list[Text]:
    """What is new since the last look, a line each, for a log: first the effects, then the run."""
    at, lines = clock(after.at), []
    known = {intent.key: intent.state for intent in before.record.intents} if before is not None else {}
    for intent in after.record.intents:
        if known.get(intent.key) is not intent.state:
            state = (f"{intent.state.value:<{STATE_CHARS}}", INTENT_STYLES.get(intent.state, "blue"))
            lines.append(Text.assemble(f"{at}  ", state, f"{action(intent)}  key {intent.key}"))
    if before is None or (before.state, before.reason) != (after.state, after.reason):
        state = (f"{after.state.value:<{STATE_CHARS}}", STATE_STYLES.get(after.state, "blue"))
        lines.append(Text.assemble(f"{at}  ", state, plain(why(after))))
    if after.cancelling and (before is None or not before.cancelling):
        lines.append(Text(f"{at}  cancel asked for"))
    return lines


def pending(runs: list[Overview], commands: Commands) -> list[Text]:
    """Every run that waits for a person or is in trouble."""
    if not runs:
        return [Text("nothing waits for a person, and nothing is stuck.")]
    asking_now = sum(len(run.questions) for run in runs)
    in_trouble_now = sum(run.trouble is not None for run in runs)
    lines = [Text(f"{asking_now} to decide, {in_trouble_now} in trouble", style="bold")]
    for run in runs:
        lines += [Text(), head(run), *waits(run, commands)]
    return lines
