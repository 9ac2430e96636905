"""Why a run has ended: the closed list of names that its end, its status and its log use, and of its limits.

Rule: a name says what to do about it; the sentence beside it says more. Names are kept for ever, tests and alarms use
them.
Must not know: anything else of the service.
"""

from enum import StrEnum


class Limit(StrEnum):
    """The limits of a run that a person can extend."""

    TURNS = "turns"
    CALLS = "calls"
    TOKENS = "tokens"
    COST = "cost_cents"
    WALL = "wall_s"


class Reason(StrEnum):
    DONE = "done"
    """The model has answered."""
    REFUSED = "refused"
    """The model does not do what was asked, or the provider's filter stopped it: word the task otherwise."""
    CANCELLED = "cancelled"
    """Somebody stopped it; the detail says who."""
    LEDGER_FULL = "ledger_full"
    """Its effects, of all passes, take as much room as a run may keep: go on under a new run id."""
    TOOLS_CHANGED = "tools_changed"
    """A tool is not what it was when it made a key, and a person did not allow to go on: use a new run id."""
    MAX_TURNS = "max_turns"
    """This limit and the next four: it was reached, and nobody was asked for more, or a person denied it. The detail
    says how much was used."""
    MAX_CALLS = "max_calls"
    MAX_TOKENS = "max_tokens"
    MAX_COST = "max_cost"
    MAX_WALL = "max_wall"
    MODEL_OUTPUT_INVALID = "model_output_invalid"
    """Several replies in a row could not be read: look at the model's name and at its tool calling."""
    OUTPUT_TRUNCATED = "output_truncated"
    """Several replies in a row were cut off: raise the limit of output tokens, or ask for less at once."""
    QUOTA_EXHAUSTED = "quota_exhausted"
    """The account at the provider is empty: waiting does not help."""
    UNAUTHORISED = "unauthorised"
    """The provider does not accept the key."""
    MODEL_NOT_FOUND = "model_not_found"
    """The provider does not know the model's name, or the address is wrong."""
    BAD_REQUEST = "bad_request"
    """The provider refuses the form of the request; its own words are beside it."""
    CONTEXT_TOO_LONG = "context_too_long"
    """The conversation does not fit the model, also after it was trimmed."""
    STREAMED = "streamed"
    """The server streams although nobody asked it to; only whole answers are read."""
    RATE_LIMITED = "rate_limited"
    """The provider asks to wait longer than the budget of waiting allows."""
    MODEL_UNAVAILABLE = "model_unavailable"
    """No connection, a time-out, or errors of the server's own, for all attempts."""
    NO_ANSWER = "no_answer"
    """The server answered 200 and sent no answer, for all attempts."""
