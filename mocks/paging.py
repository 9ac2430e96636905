"""Reading on in a list of rows: `?after=N` asks for the rows behind number N."""

from aiohttp import web

# What fits into the integers of the database.
DIGITS_MAX = 18


def after(request: web.Request) -> int:
    """The row number in `?after=`, 0 where there is none. Raises the HTTP 400 where it is no number."""
    number = request.query.get("after", "0")
    if not number.isdecimal() or len(number) > DIGITS_MAX:
        raise web.HTTPBadRequest(text="after is a row number")
    return int(number)
