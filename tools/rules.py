"""The checks that refuse an unsafe declaration.

Rule: each fault is one sentence that says what to write instead. A declaration that passes can be treated by its class
alone, so nothing further on needs to ask again.
Must not know: Restate, HTTP, any particular tool.
"""

import re
from collections.abc import Iterator

from tools.declaration import Repeat, Tool
from tools.effect import POLICIES
from tools.schema import Signature

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def faults(made: Tool, read: Signature, attempts: int | None) -> Iterator[str]:
    """What is wrong, one sentence each. `attempts` is as it was declared, None where it was not."""
    yield from _key_faults(made)
    yield from _class_faults(made, attempts)
    yield from _argument_faults(made, read)
    yield from _approval_faults(made, read)
    yield from _number_faults(made, attempts)


def _key_faults(made: Tool) -> Iterator[str]:
    policy = POLICIES[made.effect]
    effect = made.effect.name
    if policy.within_lifetime and not made.takes_key:
        yield f"a {effect} tool takes its key as its first parameter, `key: str`"
    if policy.within_lifetime and made.key_lifetime_s is None:
        yield f"a {effect} tool states how long its receiver remembers a key: key_lifetime_s"
    if not policy.within_lifetime and made.key_lifetime_s is not None:
        yield f"key_lifetime_s has no meaning for {effect}, whose receiver remembers no keys"
    if not policy.changes and made.takes_key:
        yield f"a {effect} tool changes nothing and gets no key"


def _class_faults(made: Tool, attempts: int | None) -> Iterator[str]:
    policy = POLICIES[made.effect]
    effect = made.effect.name
    if not policy.changes and (made.undo is not None or made.amount is not None or made.find is not None):
        yield f"a {effect} tool changes nothing, so it has no undo, no amount and no find"
    if not policy.changes and made.repeat is not Repeat.ALLOW:
        yield f"a {effect} tool may always be repeated, so its repeat is not declared"
    if not policy.repeats_on_doubt and attempts is not None:
        yield f"attempts has no meaning for {effect}: only a try that provably did not leave is followed by another"
    if made.code and made.judge is not None:
        yield "judge reads a receiver's reply, and a function that does the work itself has none"


def _argument_faults(made: Tool, read: Signature) -> Iterator[str]:
    if not _NAME.fullmatch(made.name):
        yield "a tool's name is at most 64 letters, digits, - and _"
    for name in made.identity:
        if name not in read.arguments:
            yield f"identity names {name!r}, which the function does not take"
    if len(set(made.identity)) != len(made.identity):
        yield "identity names an argument twice"
    for field, argument in (("amount", made.amount), ("currency", made.currency)):
        if argument is not None and argument not in read.arguments:
            yield f"{field} names {argument!r}, which the function does not take"
    if made.amount is not None and not _is_integer(read, made.amount):
        yield f"amount names {made.amount!r}, which must be an int: money is counted in the smallest unit"
    if made.currency is not None and made.amount is None:
        yield "currency is given without amount"


def _approval_faults(made: Tool, read: Signature) -> Iterator[str]:
    approval = made.approval
    if approval is None or approval.always:
        return
    if approval.above is None or approval.argument is None:
        yield "approval is either always, or names an argument and the limit above which a person is asked"
    elif approval.argument not in read.arguments:
        yield f"approval names {approval.argument!r}, which the function does not take"
    elif not _is_integer(read, approval.argument):
        yield f"approval names {approval.argument!r}, which must be an int to be above anything"


def _number_faults(made: Tool, attempts: int | None) -> Iterator[str]:
    if attempts is not None and attempts < 0:
        yield "attempts must not be negative"
    if not made.send_deadline_s > 0:
        yield "send_deadline_s must be above 0"
    if not made.settle_s >= 0:
        yield "settle_s must not be negative"
    if made.key_lifetime_s is not None and not made.key_lifetime_s > made.send_deadline_s:
        yield "key_lifetime_s must be longer than one send, send_deadline_s"


def _is_integer(read: Signature, name: str) -> bool:
    return read.model.model_fields[name].annotation is int
