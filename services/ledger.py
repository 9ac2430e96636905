"""The ledger's rules: which intent a call is, which key it has, and whether it may leave. Pure.

Rule: an intent is (tool, identity arguments, occurrence). Occurrence is the number of this ask among the asks of one
identity in this pass, rejected ones left out. What is Done in the ledger is answered from it; what may have happened
is never asked for under another key.
Must not know: Restate, HTTP, how a row is stored.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from uuid import UUID, uuid5

from pydantic import JsonValue

from services.authority import approval_needed, beyond
from services.calls import Call
from services.messages import MAY_HAVE_HAPPENED, Grant, Intent, IntentState
from services.phrases import asked_before, denied_text, describe, unknown_text
from tools.effect import POLICIES, Effect
from tools.request import canonical_text
from tools.tool import Repeat, Tool


@dataclass(frozen=True, slots=True)
class Say:
    """Answered without leaving the service."""

    text: str


@dataclass(frozen=True, slots=True)
class Beyond:
    """The grant does not cover it. Answered like `Say`, and people are to see it. A row that stood in the ledger
    already (`tool` and `intent` are of it) gives back its part of the grant."""

    text: str
    tool: Tool | None = None
    intent: Intent | None = None


@dataclass(frozen=True, slots=True)
class Read:
    """Changes nothing: no key, no row."""

    tool: Tool
    arguments: dict[str, JsonValue]


@dataclass(frozen=True, slots=True)
class Go:
    """May be sealed and sent."""

    tool: Tool
    intent: Intent


@dataclass(frozen=True, slots=True)
class AskFirst:
    """A person must approve the bytes. `because` is a sentence, with the earlier effect where there is one."""

    tool: Tool
    intent: Intent
    because: str


@dataclass(frozen=True, slots=True)
class Resolve:
    """It may have happened already: find out before anything else. `because` is a sentence. `barred`: why it may not be
    sent again, where the grant does not cover it any more."""

    tool: Tool
    intent: Intent
    because: str
    barred: str | None = None


@dataclass(frozen=True, slots=True)
class Same:
    """Answered with whatever another call of this turn gets."""

    key: str


Plan = Say | Beyond | Read | Go | AskFirst | Resolve | Same


@dataclass(frozen=True, slots=True)
class Ledger:
    """The rows of one run, the root of its keys, and how often each identity was asked for in this pass."""

    root: UUID
    pass_number: int
    rows: Mapping[str, Intent] = field(default_factory=dict)
    asked: Mapping[str, int] = field(default_factory=dict)

    def put(self, intent: Intent) -> "Ledger":
        return replace(self, rows={**self.rows, intent.key: intent})

    def key(self, tool: str, identity: Mapping[str, JsonValue], occurrence: int) -> str:
        """The key of an intent: uuid5 of the root over the canonical JSON of what makes the action the same."""
        return str(uuid5(self.root, canonical_text([tool, dict(identity), occurrence])))

    def of(self, tool: str, identity: Mapping[str, JsonValue]) -> list[Intent]:
        """The rows of one identity, by occurrence."""
        rows = [row for row in self.rows.values() if row.tool == tool and row.identity == identity and not row.undoes]
        return sorted(rows, key=lambda row: row.occurrence)

    def undone(self, row: Intent) -> bool:
        """Whether a done effect has been taken back."""
        return any(other.undoes == row.key and other.state is IntentState.DONE for other in self.rows.values())

    def moved_cents(self, but: str) -> int:
        """What effects have moved or may have moved, over all passes and in either direction; undone ones still
        count. `but`: the key of the one that is not counted."""
        counted = MAY_HAVE_HAPPENED | {IntentState.DONE, IntentState.WAITING, IntentState.PROPOSED}
        rows = (row for row in self.rows.values() if row.state in counted and not row.undoes and row.key != but)
        return sum(abs(row.amount_cents or 0) for row in rows)


def plan(
    ledger: Ledger, call: Call, tools: Mapping[str, Tool], grant: Grant, limits: Mapping[str, int]
) -> tuple[Ledger, Plan]:
    """What is to be done about one call, and the ledger in which its amount is reserved and its ask is counted.

    Calls of a turn are planned in model order. `limits` maps a tool's name to the amount above which a person must
    approve (-1 for every call); the grant may name stricter ones.
    """
    if call.problem is not None or call.arguments is None:
        return ledger, Say(call.problem or f"{call.name}: no arguments were given.")
    tool = tools[call.name]
    if grant.tools is not None and tool.name not in grant.tools:
        return ledger, Beyond(f"{tool.name} was not run: this run may use only {', '.join(grant.tools) or 'no tools'}.")
    if not POLICIES[tool.effect].changes:
        return ledger, Read(tool, call.arguments)

    identity = tool.identify(call.arguments)
    name = canonical_text([tool.name, identity])
    nth = ledger.asked.get(name, 0) + 1
    ledger = replace(ledger, asked={**ledger.asked, name: nth})
    rows = ledger.of(tool.name, identity)
    # What was taken back answers no further ask, and whether it is to be made anew is for a person to say.
    taken_back = [row for row in rows if ledger.undone(row)]
    standing = [row for row in rows if row.state is not IntentState.REJECTED and row not in taken_back]
    if nth <= len(standing):
        return of_row(ledger, tool, standing[nth - 1], grant, limits)

    before = standing[-1] if standing else None
    if before is not None and before.state in (IntentState.UNKNOWN, IntentState.GIVEN_UP):
        return ledger, Say(unknown_text(before))
    if before is not None and before.state in (IntentState.DENIED, IntentState.NOT_SENT):
        return of_row(ledger, tool, before, grant, limits)
    if before is not None and tool.repeat is Repeat.REUSE:
        return ledger, Say(before.result) if before.result is not None else Same(before.key)

    intent = propose(ledger, call, tool, identity, occurrence=len(rows) + 1)
    refusal = beyond(grant, tool, intent, ledger.moved_cents(but=intent.key))
    if refusal is not None:
        return ledger, Beyond(refusal)
    ledger = ledger.put(intent)
    if before is not None and tool.repeat is Repeat.ASK:
        return ledger, AskFirst(tool, intent, asked_before(before))
    because = approval_needed(tool, intent, grant, limits)
    if taken_back:
        because = f"the same was made before and taken back: {describe(taken_back[-1])}"
    return ledger, AskFirst(tool, intent, because) if because else Go(tool, intent)


def of_row(ledger: Ledger, tool: Tool, row: Intent, grant: Grant, limits: Mapping[str, int]) -> tuple[Ledger, Plan]:
    """What an ask gets whose intent stands in the ledger already."""
    before = next((other for other in reversed(ledger.of(tool.name, row.identity)) if repeats(row, other)), None)
    because = approval_needed(tool, row, grant, limits)
    refusal = beyond(grant, tool, row, ledger.moved_cents(but=row.key))
    if before is not None and tool.repeat is Repeat.ASK:
        because = asked_before(before)
    match row.state:
        case IntentState.DONE | IntentState.REJECTED:
            return ledger, Say(row.result or "done")
        case IntentState.DENIED:
            return ledger, Say(denied_text(row))
        case IntentState.GIVEN_UP:
            return ledger, Say(unknown_text(row))
        case IntentState.ARMED | IntentState.UNKNOWN:
            cut_off = "an earlier pass was cut off after this was armed"
            return ledger, Resolve(tool, row, row.reason or cut_off, refusal)
        case IntentState.PROPOSED | IntentState.WAITING | IntentState.NOT_SENT:
            if refusal is not None:
                return ledger.put(row.model_copy(update={"state": IntentState.NOT_SENT})), Beyond(refusal, tool, row)
            ledger = ledger.put(row.model_copy(update={"state": IntentState.PROPOSED}))
            waited = row.state is not IntentState.NOT_SENT
            # An approval is for its pass: a further one begins after a cancel, or days later, and asks anew.
            approved = row.approved() and row.pass_number == ledger.pass_number
            if approved or not (because or waited):
                return ledger, Go(tool, row)
            return ledger, AskFirst(tool, row, because or "it waited for an approval before")


def plan_undo(ledger: Ledger, row: Intent, tool: Tool) -> Go | Resolve | None:
    """What is to be done to take a done effect back; None where that has been done, or given up. An undo that was
    begun before goes on under its key; after a refusal it is another one."""
    made = sorted(
        (other for other in ledger.rows.values() if other.undoes == row.key), key=lambda each: each.occurrence
    )
    last = made[-1] if made else None
    match last.state if last is not None else IntentState.REJECTED:
        case IntentState.REJECTED:
            return Go(tool, undoing(ledger, row, occurrence=len(made) + 1))
        case IntentState.ARMED | IntentState.UNKNOWN if last is not None:
            return Resolve(tool, last, last.reason or "an earlier undo was cut off after it was armed")
        case IntentState.PROPOSED | IntentState.WAITING | IntentState.NOT_SENT if last is not None:
            return Go(tool, last)
        case _:
            return None


def undoing(ledger: Ledger, row: Intent, occurrence: int) -> Intent:
    """The intent that takes back the effect of `row`."""
    identity: dict[str, JsonValue] = {"undoes": row.key}
    return Intent(
        key=ledger.key(row.tool, identity, occurrence),
        tool=row.tool,
        effect=Effect.KEYED.value,
        identity=identity,
        occurrence=occurrence,
        arguments=row.arguments,
        pass_number=ledger.pass_number,
        turn=row.turn,
        index=row.index,
        state=IntentState.PROPOSED,
        digest="",
        size_bytes=0,
        amount_cents=row.amount_cents,
        currency=row.currency,
        value=row.value,
        value_left_out=row.value_left_out,
        undoes=row.key,
    )


def propose(ledger: Ledger, call: Call, tool: Tool, identity: dict[str, JsonValue], occurrence: int) -> Intent:
    arguments = call.arguments or {}
    amount = arguments.get(tool.amount) if tool.amount else None
    currency = arguments.get(tool.currency) if tool.currency else None
    return Intent(
        key=ledger.key(tool.name, identity, occurrence),
        tool=tool.name,
        effect=tool.effect.value,
        identity=identity,
        occurrence=occurrence,
        arguments=arguments,
        pass_number=ledger.pass_number,
        turn=call.turn,
        index=call.index,
        state=IntentState.PROPOSED,
        digest="",
        size_bytes=0,
        amount_cents=amount if isinstance(amount, int) else None,
        currency=currency if isinstance(currency, str) else None,
    )


def changed_declarations(rows: Iterable[Intent], tools: Mapping[str, Tool]) -> list[str]:
    """Sentences about rows whose tool is gone or names its identity otherwise now: going on could make a new key."""
    sentences = []
    for row in rows:
        tool = tools.get(row.tool)
        if row.undoes or row.state in (IntentState.REJECTED, IntentState.DENIED):
            continue
        if tool is None:
            sentences.append(f"the ledger holds {row.tool} (key {row.key}), and no tool has that name now")
        elif set(tool.identity) != set(row.identity):
            was, now = ", ".join(sorted(row.identity)), ", ".join(sorted(tool.identity))
            sentences.append(f"{row.tool} (key {row.key}) was identified by {was}, and is by {now} now")
    return sentences


def repeats(row: Intent, other: Intent) -> bool:
    """`row` is a further one of the same as `other`, which has or may have been made."""
    return other.occurrence < row.occurrence and other.state in MAY_HAVE_HAPPENED | {IntentState.DONE}


def in_order(rows: Iterable[Intent]) -> list[Intent]:
    """The rows in the order in which the model asked for them."""
    return sorted(rows, key=lambda row: (row.pass_number, row.turn, row.index, bool(row.undoes)))
