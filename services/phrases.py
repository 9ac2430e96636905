"""What is said of the ledger's rows: to people, and to the model, which never sees a key. Pure.

Rule: a sentence for people may name a key, always in the same form, so that the model's can be made from it.
Must not know: when something is said.
"""

import re
from collections.abc import Collection, Mapping

from services.keyless import keyless
from services.messages import MAY_HAVE_HAPPENED, Intent, IntentState
from tools.request import canonical_text

_NAMED_KEY = re.compile(r" \(key [0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\)")


def asked_before(row: Intent) -> str:
    return f"the same was asked for before in this run: {describe(row)}"


def describe(row: Intent) -> str:
    """One line about a row, for a person. What a receiver has written stands in it as a quoted JSON text."""
    arguments = ", ".join(f"{name}={canonical_text(value)}" for name, value in row.identity.items())
    by = f", {row.rulings[-1].sentence()}" if row.rulings else ""
    receiver = f", receiver's id {canonical_text(row.receiver_id)}" if row.receiver_id else ""
    return f"{row.tool}({arguments}) is {row.state.value}{receiver}{by} (key {row.key})"


def unknown_text(row: Intent) -> str:
    return f"{row.tool}: the outcome is unknown. It may have happened. Do not repeat it."


def denied_text(row: Intent) -> str:
    who = row.rulings[-1].who if row.rulings else "a person"
    note = f" Note: {row.rulings[-1].note}" if row.rulings and row.rulings[-1].note else ""
    return f"{row.tool} was denied by {who} and not run. Do not ask for it again.{note}"


def summary(rows: Collection[Intent]) -> str | None:
    """What the model is told at the start of a further pass, or None where nothing has left."""
    rows = list(rows)
    undone = {row.undoes for row in rows if row.state is IntentState.DONE}
    lines = [
        f"- {without_keys(describe(row))}{', and was taken back since' if row.key in undone else ''}"
        for row in rows
        if row.state in MAY_HAVE_HAPPENED | {IntentState.DONE} and not row.undoes
    ]
    if not lines:
        return None
    head = "This task was worked on before. What has been done already, and must not be done again:"
    return keyless("\n".join([head, *lines]), [row.key for row in rows])


def without_keys(text: str) -> str:
    """A sentence of ours, as the model may read it."""
    return _NAMED_KEY.sub("", text)


def unkeyed(text: str, rows: Mapping[str, Intent]) -> str:
    """A receiver's text without the keys of these rows: many send the key back, and the model never sees one."""
    return keyless(text, rows)
