"""How a function becomes a tool: the one module that a tool's author and the services import.

Rule: a wrong declaration is one sentence at import, so that it is seen at start-up and not on the first crash.
Must not know: Restate, HTTP, any particular tool.
"""

from collections.abc import Callable

from tools.declaration import Approval, Repeat, Tool
from tools.effect import Effect
from tools.lookup import Lookup
from tools.request import Request
from tools.rules import faults
from tools.schema import BadArguments, BadDeclaration, signature
from tools.status import Judge

__all__ = ["Approval", "BadArguments", "BadDeclaration", "Lookup", "Repeat", "Tool", "registry", "tool"]

# Two more tries after the first: they cover a restart of the receiver, and a turn still ends within its model's patience.
ATTEMPTS = 3
# Long enough for a slow payment API, short enough that a run can be cancelled and a worker can leave.
SEND_DEADLINE_S = 10.0
# After the send deadline a request may still be in the receiver's queue; APIs that commit before they answer need far less.
SETTLE_S = 5.0


def tool(
    *,
    effect: Effect,
    identity: tuple[str, ...] | None = None,
    repeat: Repeat = Repeat.ASK,
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
    """Declares a tool. Raises BadDeclaration with one sentence.

    A function that returns `Request` builds the bytes and the wire sends them; any other function does the work itself.
    `attempts` is refused where the class is not repeated on doubt; 0 counts as 1, because a call that is asked for is made.
    """

    def decorate(function: Callable[..., object]) -> Tool:
        read = signature(function)
        made = Tool(
            name=read.name,
            description=read.description,
            effect=effect,
            schema=read.schema,
            identity=read.arguments if identity is None else identity,
            repeat=repeat,
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
    """A limit without an argument is one on the amount."""
    if approval is None or approval.above is None or approval.argument is not None:
        return approval
    return Approval(approval.always, amount, approval.above)


def registry(tools: tuple[Tool, ...]) -> dict[str, Tool]:
    """The tools by name. Raises BadDeclaration for a name that is there twice."""
    names: dict[str, Tool] = {}
    for tool in tools:
        if tool.name in names:
            raise BadDeclaration(f"there are two tools of the name {tool.name!r}.")
        names[tool.name] = tool
    return names
