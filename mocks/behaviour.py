"""How an endpoint misbehaves. Pure: what was asked for, and what follows from it before and after the commit.

Rule: every field is optional and all of them combine; a fault that stores nothing meets every request, also one whose
key has been answered. It must not know the store.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from mocks.answer import Answer, Cut, HttpStatus, RawAnswer, Reaction, error_answer

Milliseconds = Annotated[int, Field(ge=0)]


class Fail(BaseModel):
    """Answer with an error. `store` makes it the key's stored answer, replayed with the header."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    status: HttpStatus = 500
    when: Literal["before_commit", "after_commit"] = "before_commit"
    store: bool = False

    def to_answer(self) -> Answer:
        """The error as sent."""
        return error_answer(self.status, "internal_error", "the receiver failed")


class Refuse(BaseModel):
    """A refusal by the business: nothing is applied; like any first answer it is stored with the key."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    status: HttpStatus = 402
    code: str = "card_declined"
    message: str = "The card was declined."
    store: bool = True

    def to_answer(self) -> Answer:
        """The refusal as sent."""
        return error_answer(self.status, self.code, self.message)


class Behaviour(BaseModel):
    """One endpoint's behaviour; the default is honest and prompt.

    `slow_ms` passes before the commit with the key claimed, `slow_after_ms` between commit and answer. `hang` and
    `answer` come before the key is looked at. `claim_limit_s` lets another request take over a claim that is older and
    has no effect. `times` is how many requests it meets before it is gone; None is all.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    ignore_keys: bool = False
    lose_answer: Literal["before_commit", "after_commit"] | None = None
    slow_ms: Milliseconds = 0
    slow_after_ms: Milliseconds = 0
    fail: Fail | None = None
    key_lifetime_s: Annotated[float, Field(gt=0)] | None = None
    claim_limit_s: Annotated[float, Field(gt=0)] | None = None
    refuse: Refuse | None = None
    answer: RawAnswer | None = None
    answer_after: RawAnswer | None = None
    trickle_bytes_per_s: Annotated[int, Field(ge=1)] | None = None
    hang: bool = False
    times: Annotated[int, Field(ge=1)] | None = None


HONEST = Behaviour()


def before_commit(behaviour: Behaviour) -> Reaction | None:
    """What ends a request before anything is applied and without a trace in the key's record; None goes on."""
    if behaviour.lose_answer == "before_commit":
        return Cut()
    if behaviour.answer is not None:
        return behaviour.answer.to_answer()
    if behaviour.fail is not None and behaviour.fail.when == "before_commit" and not behaviour.fail.store:
        return behaviour.fail.to_answer()
    return None


def instead_of_executing(behaviour: Behaviour) -> tuple[Answer, bool] | None:
    """An answer given in place of the effect, and whether the key keeps it; None executes."""
    if behaviour.fail is not None and behaviour.fail.when == "before_commit" and behaviour.fail.store:
        return behaviour.fail.to_answer(), True
    if behaviour.refuse is not None:
        return behaviour.refuse.to_answer(), behaviour.refuse.store
    return None


def to_store(behaviour: Behaviour, success: Answer) -> Answer:
    """The answer that goes into the key's record together with the effect."""
    fail = behaviour.fail
    if fail is not None and fail.when == "after_commit" and fail.store:
        return fail.to_answer()
    return success


def after_commit(behaviour: Behaviour, answer: Answer) -> Reaction:
    """What leaves in the end, given the answer that the receiver means to send."""
    if behaviour.lose_answer == "after_commit":
        return Cut()
    if behaviour.answer_after is not None:
        return behaviour.answer_after.to_answer()
    if behaviour.fail is not None and behaviour.fail.when == "after_commit" and not behaviour.fail.store:
        return behaviour.fail.to_answer()
    return answer
