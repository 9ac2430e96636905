"""Types of arguments that several tools share: what is refused here never reaches a receiver.

Rule: a limit is stated in the type, so the model reads it in the schema and a bad value costs no request.
Must not know: any particular tool.
"""

from typing import Annotated

from pydantic import Field

Identifier = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.:@+~-]*$")]
"""A receiver's name for a thing. It may become part of an address, so no slash and no leading dot."""
Cents = Annotated[int, Field(ge=1, le=100_000_000)]
"""Money in the currency's smallest unit. The upper bound is a net under a slipped digit; grants set the real limits."""
Currency = Annotated[str, Field(pattern=r"^[A-Z]{3}$")]
"""ISO 4217."""
Line = Annotated[str, Field(max_length=500)]
"""A short text."""
