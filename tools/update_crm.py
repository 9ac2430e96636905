"""Writes a customer's record.

The receiver keeps the key of the last write with the record, so that our own write can be told from somebody else's.
With a version the write is refused once anybody, we ourselves included, has written since.
"""

from typing import Annotated, Any

from pydantic import Field

from tools.effect import Effect
from tools.fields import Identifier
from tools.lookup import Lookup
from tools.outcome import Done, Doubt, Found, NotFound, Unknown
from tools.reply import Reply
from tools.request import Request, get, part, put
from tools.tool import Repeat, tool

Fields = Annotated[dict[str, Any], Field(min_length=1, max_length=50)]
Version = Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,64}$")]


def _record(_key: str, customer_id: str, **_: object) -> Request:
    return get(f"/customers/{part(customer_id)}")


def _last_write(reply: Reply) -> Found:
    match reply.status, reply.body:
        case 200, {"last_key": last} if last == reply.key:
            return Done(reply.body)
        case 200, {"last_key": _}:
            return NotFound("the last write to the record was another one")
        case 404, _:
            return NotFound("there is no such record")
        case _:
            return Unknown("the record does not say who wrote it last", Doubt.JUDGED)


@tool(effect=Effect.SET, repeat=Repeat.ALLOW, find=Lookup(_record, _last_write))
def update_crm(customer_id: Identifier, fields: Fields, version: Version | None = None) -> Request:
    """Write a customer's record in the CRM. The fields given replace the whole record.

    Args:
        customer_id: The customer's id.
        fields: The record's fields and their values.
        version: The version that was read; the write is refused if the record has changed since.
    """
    return put(f"/customers/{part(customer_id)}", fields, if_match=version)
