"""Sends a text message through an API that promises nothing and cannot be asked afterwards."""

from typing import Annotated

from pydantic import Field

from tools.effect import Effect
from tools.request import Request, post
from tools.tool import tool

Phone = Annotated[str, Field(pattern=r"^\+?[0-9]{3,20}$")]
Text = Annotated[str, Field(min_length=1, max_length=1_600)]


@tool(effect=Effect.ONCE)
def send_sms(to: Phone, text: Text) -> Request:
    """Send a text message.

    Args:
        to: The phone number.
        text: The message.
    """
    return post("/sms", {"to": to, "text": text})
