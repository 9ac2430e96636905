"""Sends an e-mail through an API that applies a key once and remembers it for a day."""

from typing import Annotated

from pydantic import Field

from tools.effect import Effect
from tools.fields import Line
from tools.lookup import find_by_key
from tools.request import Request, post
from tools.tool import Repeat, tool

Address = Annotated[str, Field(max_length=254, pattern=r"^[^@\s,;<>]+@[^@\s,;<>]+$")]
Body = Annotated[str, Field(max_length=50_000)]


@tool(effect=Effect.KEYED, repeat=Repeat.REUSE, find=find_by_key("/emails"), key_lifetime_s=86_400)
def send_email(key: str, to: Address, subject: Line, body: Body) -> Request:
    """Send an e-mail.

    Args:
        to: One address.
        subject: The subject line.
        body: The text.
    """
    return post("/emails", {"to": to, "subject": subject, "body": body, "reference": key})
