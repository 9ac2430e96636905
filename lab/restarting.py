"""What an operator does to invocations, through Restate's admin API.

Rule: each act is asserted: a killed invocation is no longer running before anything else is done with it.
Must not know: what an invocation is about.
"""

from lab.errors import LabError
from lab.process import wait_until
from lab.remotes import Admin
from lab.targets import Addresses

ACT_S = 10.0
NO_SUCH_CUT = "without respective Completions"
"""Restate's words where it refuses a prefix in which a step has begun and not ended."""


class Operator:
    """Speaks to one admin API."""

    def __init__(self, at: Addresses) -> None:
        self._at = at

    def kill(self, invocation: str) -> None:
        """Kill it, and wait until it is over."""
        with Admin("admin API", self._at.admin) as admin:
            reply = admin.call("PATCH", f"/invocations/{invocation}/kill")
            if not reply.is_success:
                raise LabError(f"the operator could not kill {invocation}: {reply.status_code} {reply.text[:300]}")
            status = f"SELECT status FROM sys_invocation WHERE id = '{invocation}'"  # noqa: S608 - the server's own id
            wait_until(
                f"the end of {invocation}",
                lambda: all(row["status"] == "completed" for row in admin.query(status)),
                ACT_S,
            )

    def restart(self, invocation: str, cut: int | None) -> str | None:
        """Restart as new, from scratch or with the first entries of the journal up to index `cut`; the new invocation.
        None where Restate refuses this prefix."""
        suffix = "" if cut is None else f"?from={cut}"
        with Admin("admin API", self._at.admin) as admin:
            reply = admin.call("PATCH", f"/invocations/{invocation}/restart-as-new{suffix}")
        if NO_SUCH_CUT in reply.text:
            return None
        if not reply.is_success:
            raise LabError(f"the operator could not restart {invocation}: {reply.status_code} {reply.text[:300]}")
        return str(reply.json()["new_invocation_id"])

    def journal_length(self, invocation: str) -> int:
        with Admin("admin API", self._at.admin) as admin:
            counted = f"SELECT count(1) AS entries FROM sys_journal WHERE id = '{invocation}'"  # noqa: S608
            return int(admin.query(counted)[0]["entries"])

    def wait_over(self, invocations: list[str], within_s: float) -> None:
        """Wait until all of them have completed."""
        listed = ", ".join(f"'{each}'" for each in invocations)
        left = f"SELECT id FROM sys_invocation WHERE status != 'completed' AND id IN ({listed})"  # noqa: S608
        with Admin("admin API", self._at.admin) as admin:
            wait_until("the end of the restarted invocations", lambda: not admin.query(left), within_s, 0.1)
