"""Sets fields of a customer's record.

The receiver keeps the key of the last write with the record, so that a doubtful write can be told from somebody else's.
"""

from typing import Annotated

from pydantic import Field, JsonValue

from tools.effect import Effect
from tools.fields import Identifier
from tools.lookup import Lookup
from tools.outcome import Done, Doubt, Found, NotFound, Unknown
from tools.reply import Reply
from tools.request import Request, get, part, put
from tools.tool import tool

Fields = Annotated[dict[str, JsonValue], Field(min_length=1, max_length=50)]
Version = Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,64}$")]


def _record(key: str, customer_id: str, **_: object) -> Request:
    return get(f"/customers/{part(customer_id)}")


def _last_write(reply: Reply) -> Found:
    match reply.body:
        case {"last_key": str(last)} if reply.status == 200 and last == reply.key:
            return Done(reply.body)
        case {"last_key": str() | None} if reply.status == 200:
            return NotFound("the last write to the record is not this one")
    if reply.status == 404:
        return NotFound("there is no such record")
    return Unknown(f"the record was answered with HTTP {reply.status} and does not say who wrote it", Doubt.JUDGED)


@tool(effect=Effect.SET, find=Lookup(_record, _last_write))
def update_crm(customer_id: Identifier, fields: Fields, version: Version | None = None) -> Request:
    """Set fields of a customer's record in the CRM. Other fields stay as they are.

    Args:
        customer_id: The customer's id.
        fields: The fields to set and their new values.
        version: The version of the record that was read; the update is refused if somebody has changed it since.
    """
    return put(f"/customers/{part(customer_id)}", fields, if_match=version)
