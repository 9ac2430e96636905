"""Runs that wait for a person's approval."""

from tests.server.stand import KEYED, Cell, Stand

ALWAYS = {"approve_above_cents": {"charge_card": -1}}


def parked(stand: Stand) -> tuple[Cell, str]:
    cell = stand.begin_one(KEYED, grant=ALWAYS)
    return cell, str(stand.until(cell.run_id, "waiting_approval")["questions"][0]["key"])


def waits_of(stand: Stand, invocation: str) -> None:
    """Until an invocation sleeps before its first reminder, behind which nothing of its own is under way."""

    def sleeps() -> bool:
        kinds = [entry["entry_type"] for entry in stand.journal(invocation)]
        return "Command: Sleep" in kinds and kinds.count("Command: Run") == kinds.count("Notification: Run")

    stand.wait(sleeps, "its wait")
