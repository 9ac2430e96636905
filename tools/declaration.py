"""A tool: what the model sees, what leaves, and what its receiver promises.

Rule: everything that decides how a tool is treated is in this one value. `check`, `prepare` and `identify` are pure.
`send`, `send_undo` and `look_up` are one exchange each and return what happened; they never raise for it.
Must not know: Restate, grants, ledgers, addresses.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from pydantic import BaseModel, JsonValue

from tools.code import Job
from tools.effect import POLICIES, Effect
from tools.lookup import Lookup
from tools.outcome import Answer, Found, NotSent, Rejected, Unknown
from tools.plain import MISTAKES, describe, plain
from tools.request import CALL, Request, canonical
from tools.schema import BadArguments, validate
from tools.status import Judge
from tools.wire import MayLeave, Wire, always

# Stands in for the key where a builder is tried out before there is one.
_TRIAL_KEY = "00000000-0000-0000-0000-000000000000"

Arguments = dict[str, JsonValue]


class Repeat(StrEnum):
    """What a further ask of the same identity in the same pass means."""

    ASK = "ask"
    """A person decides, and is shown the first one."""
    ALLOW = "allow"
    """It is another one."""
    REUSE = "reuse"
    """It is the same one, and is answered with its outcome."""


@dataclass(frozen=True, slots=True)
class Approval:
    """When a person must agree first: always, or where an integer argument is above a limit in the argument's own
    unit. What is not a number cannot be shown to be small."""

    always: bool = False
    argument: str | None = None
    above: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Tool:
    """One tool, made by the decorator `tool`."""

    name: str
    description: str
    effect: Effect
    schema: dict[str, JsonValue]
    """JSON schema of the arguments that the model gives."""
    identity: tuple[str, ...]
    """The arguments that make an action the same."""
    repeat: Repeat
    amount: str | None
    """The argument that is money, in the currency's smallest unit."""
    currency: str | None
    """The argument that names the currency."""
    approval: Approval | None
    find: Lookup | None
    undo: Callable[..., Request] | None
    """`undo(key, value, **arguments)`: the request that takes an effect back. `key` is the new request's own, `value`
    what the effect's Done carries; it is sent as KEYED. Raises ValueError where the value does not say enough."""
    key_lifetime_s: float | None
    """How long the receiver remembers a key, for KEYED."""
    settle_s: float
    """How long after the send deadline a request that is under way may still become visible to `find`."""
    send_deadline_s: float
    """For the whole exchange, from the wait for a connection to the last byte of the answer."""
    attempts: int
    """How many answers are asked for at most. For a class that is not repeated on doubt, only a try that provably did
    not leave is followed by another."""
    judge: Judge | None
    base: str
    """The receiver's name; the composition maps names to addresses."""
    function: Callable[..., object] = field(repr=False)
    model: type[BaseModel] = field(repr=False)
    takes_key: bool
    code: bool
    """The function does the work itself instead of building a request."""

    def check(self, arguments: Mapping[str, JsonValue]) -> Arguments | BadArguments:
        """The arguments as plain JSON with defaults filled in, or one sentence that names each bad field."""
        valid = validate(self.model, arguments)
        if isinstance(valid, BadArguments):
            return valid
        try:
            self._build(_TRIAL_KEY, valid)
        except MISTAKES as error:  # a tool author's code: what it refuses now cannot fail later, for ever
            return BadArguments(f"{self.name} cannot be called like this, {describe(error)}.")
        return _written(valid)

    def prepare(self, key: str, arguments: Mapping[str, JsonValue]) -> Request:
        """The bytes for checked arguments: the same for the same key and arguments. Raises ValueError for unchecked
        ones."""
        valid = validate(self.model, arguments)
        if isinstance(valid, BadArguments):
            raise ValueError(f"{self.name} was not checked: {valid.reason}")
        return self._build(key, valid)

    def identify(self, arguments: Mapping[str, JsonValue]) -> Arguments:
        """The identity arguments, in the order of the declaration."""
        return {name: arguments[name] for name in self.identity}

    async def send(self, wire: Wire, key: str, request: Request, may_leave: MayLeave = always) -> Answer:
        """One exchange. `may_leave` gives None, or the sentence for which it must not leave; it is asked last of
        all."""
        if request.method == CALL:
            return await self._call(wire, key, request, may_leave)
        policy = POLICIES[self.effect]
        return await wire.send(
            self.base,
            request,
            key if policy.changes else None,
            self.send_deadline_s,
            judge=self.judge,
            may_leave=may_leave,
            fresh=not policy.repeats_on_doubt,
        )

    async def send_undo(self, wire: Wire, key: str, request: Request, may_leave: MayLeave = always) -> Answer:
        """One exchange of an undo request, with its own key. The tool's judge does not apply to it."""
        return await wire.send(self.base, request, key, self.send_deadline_s, may_leave=may_leave)

    async def look_up(self, wire: Wire, key: str, arguments: Mapping[str, JsonValue]) -> Found:
        """One question to the receiver whether it happened."""
        if self.find is None:
            return Unknown(f"{self.name} has no look-up")
        try:
            request = self.find.build(key, **arguments)
        except MISTAKES as error:  # a tool author's code: what cannot be asked is not answered
            return Unknown(f"the look-up could not be built, {describe(error)}")
        return await wire.look_up(self.base, request, key, self.send_deadline_s, self.find.judge)

    def needs_look_up(self, answer: Answer) -> bool:
        """Whether `look_up` must confirm this answer before it is believed.

        A 412 may be the doing of our own earlier send, whose answer was lost: the version has moved on because of us.
        """
        return self.find is not None and isinstance(answer, Rejected) and answer.status == 412

    def _build(self, key: str, valid: BaseModel) -> Request:
        if self.code:
            return Request(CALL, self.name, canonical(_written(valid)))
        built = self._apply(key, valid)
        if not isinstance(built, Request):
            raise TypeError(f"the function returned {type(built).__name__} instead of a Request")
        return built

    def _apply(self, key: str, valid: BaseModel) -> object:
        values = {name: getattr(valid, name) for name in self.model.model_fields}
        return self.function(key, **values) if self.takes_key else self.function(**values)

    async def _call(self, wire: Wire, key: str, request: Request, may_leave: MayLeave) -> Answer:
        # A request in the ledger may have been written by another version of the tool.
        if not self.code:
            return NotSent(
                f"{self.name} no longer does its work itself, and what was prepared is no request", last=True
            )
        try:
            valid = self.model.model_validate_json(request.body)
        except ValueError as error:
            return NotSent(f"{self.name} does not take these arguments any more, {describe(error)}", last=True)
        changes = POLICIES[self.effect].changes
        return await wire.code.call(Job(lambda: self._apply(key, valid), changes, self.send_deadline_s, may_leave))


def _written(valid: BaseModel) -> Arguments:
    return {name: plain(value) for name, value in valid.model_dump(mode="json").items()}
