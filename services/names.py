"""The name that a caller gives a run. Pure.

Rule: whoever takes a run id asks here, so that everybody refuses the same ones with the same sentence.
Must not know: who asks, how it is answered.
"""

RUN_ID_CHARS_MAX = 200
"""A message's run needs most of it: its id is the session's, a tilde and the message's, 181 at most."""


def run_id_fault(run_id: str) -> str | None:
    """Why this is no run id; None where it is one. A slash would end it in an address, and dots alone lead out of
    one."""
    if run_id in (".", ".."):
        return f"{run_id!r} is no run id: in an address it is a way, and no name."
    if not utf_8(run_id):
        return "a run id is text, and this is not UTF-8."
    if run_id.strip() and "/" not in run_id and len(run_id) <= RUN_ID_CHARS_MAX:
        return None
    return f"a run id has 1 to {RUN_ID_CHARS_MAX} characters and no slash."


def utf_8(text: str) -> bool:
    """False where bytes that are no text came in on a command line: Python carries them along as lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
