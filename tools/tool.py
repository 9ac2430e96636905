"""How a function becomes a tool: the decorator, and what every tool has where its author says nothing.

Rule: a wrong declaration is one sentence at import, so that it is seen at start-up and not after the first crash.
Must not know: Restate, HTTP, any particular tool.
"""

from collections.abc import Callable

from tools.declaration import Approval, Repeat, Tool
from tools.effect import POLICIES, Effect
from tools.lookup import Lookup
from tools.request import Request
from tools.rules import faults
from tools.schema import BadArguments, BadDeclaration, signature
from tools.status import Judge

__all__ = ["Approval", "BadArguments", "BadDeclaration", "Lookup", "Repeat", "Tool", "registry", "tool"]

# Two more after the first: they cover a restart of the receiver, and the turn still ends within a caller's patience.
ATTEMPTS = 3
# Long enough for a slow payment API, short enough that a run can be cancelled and a worker can leave.
SEND_DEADLINE_S = 10.0
# A request that has arrived may still be in the receiver's queue; APIs that commit before they answer need far less.
SETTLE_S = 5.0


def tool(  # noqa: PLR0913  one declaration, all of it by name
    *,
    effect: Effect,
    identity: tuple[str, ...] | None = None,
    repeat: Repeat | None = None,
    amount: str | None = None,
    currency: str | None = None,
    approval: Approval | None = None,
    find: Lookup | None = None,
    undo: Callable[..., Request] | None = None,
    key_lifetime_s: float | None = None,
    settle_s: float = SETTLE_S,
    send_deadline_s: float = SEND_DEADLINE_S,
    attempts: int | None = None,
    judge: Judge | None = None,
    base: str = "receiver",
) -> Callable[[Callable[..., object]], Tool]:
    """Declares a tool; the fields are Tool's. Raises BadDeclaration with one sentence.

    A function that returns `Request` builds the bytes, and the wire sends them; any other function does the work
    itself. `identity` is by default all arguments, `repeat` ASK for what changes something. `attempts` of 0 counts as
    1, because a call that is asked for is made; for a class that is not repeated on doubt it is refused.
    """

    def decorate(function: Callable[..., object]) -> Tool:
        read = signature(function)
        made = Tool(
            name=read.name,
            description=read.description,
            effect=effect,
            schema=read.schema,
            identity=read.arguments if identity is None else identity,
            repeat=repeat or (Repeat.ASK if POLICIES[effect].changes else Repeat.ALLOW),
            amount=amount,
            currency=currency,
            approval=_completed(approval, amount),
            find=find,
            undo=undo,
            key_lifetime_s=key_lifetime_s,
            settle_s=settle_s,
            send_deadline_s=send_deadline_s,
            attempts=ATTEMPTS if attempts is None else max(1, attempts),
            judge=judge,
            base=base,
            function=function,
            model=read.model,
            takes_key=read.takes_key,
            code=read.returns is not Request,
        )
        for sentence in faults(made, read, attempts):
            raise BadDeclaration(f"{read.name}: {sentence}.")
        return made

    return decorate


def _completed(approval: Approval | None, amount: str | None) -> Approval | None:
    """A limit that names no argument is one on the amount."""
    if approval is None or approval.above is None or approval.argument is not None:
        return approval
    return Approval(approval.always, amount, approval.above)


def registry(tools: tuple[Tool, ...]) -> dict[str, Tool]:
    """The tools by name. Raises BadDeclaration for a name that is there twice."""
    names: dict[str, Tool] = {}
    for made in tools:
        if made.name in names:
            raise BadDeclaration(f"there are two tools of the name {made.name!r}.")
        names[made.name] = made
    return names
