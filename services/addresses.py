"""Addresses that people write: in the settings, on a command line. Pure.

Rule: whoever takes an address asks here, so that a bad one is refused in one sentence before anything starts.
Must not know: what answers at an address.
"""

import httpx

PORT_MAX = 65_535


def address_fault(url: str) -> str | None:
    """Why nobody can be called there; None where somebody may be."""
    if not url.startswith(("http://", "https://")):
        return f"an address begins with http:// or https://, {url!r} does not."
    try:
        parsed = httpx.URL(url)
    except (httpx.InvalidURL, UnicodeError) as error:
        return f"{url!r} is no address: {error}."
    if not parsed.host or any(letter.isspace() for letter in url):
        return f"{url!r} names no host."
    if parsed.port is not None and not 1 <= parsed.port <= PORT_MAX:
        return f"{url!r} names no port: it is 1 to {PORT_MAX}."
    return None
