"""Forgets one ended run now: `python -m services.forget RUN`.

Rule: first the run's own record becomes a tombstone, which holds no more than that it ran and how it ended, so that its
id is not used again. Then Restate forgets the journals in which the run's task, calls and answers stood.
Must not know: what a run did.
"""

from typing import Annotated

import typer

from services import tables
from services.command import Seat, application
from services.desk import ANSWER_S
from services.exits import Exit
from services.restate_api import HandedOver
from services.session import SEPARATOR

RunId = Annotated[str, typer.Argument(metavar="RUN", help="The run id.")]


def forget(seat: Seat, run_id: RunId) -> Exit:
    """Forget an ended run before its retention is over; a tombstone stays."""
    desk = seat.desk
    answer = desk.ingress.call("Agent", run_id, "forget", None, ANSWER_S)
    if isinstance(answer, HandedOver):
        return seat.handed_over(answer, "the request")
    session, separator, _ = run_id.partition(SEPARATOR)
    calls = tables.ended_calls(desk.admin.query, run_id, session if separator else None)
    purged = sum(desk.admin.purge(each) for each in calls)
    lines = [f"run {run_id} is forgotten: a tombstone stays, and {purged} journals are gone."]
    if separator:
        lines.append(f"What was said stands in the session until POST /Session/{session}/delete.")
    lines.append("What receivers and the model's provider keep is theirs.")
    seat.terminal.answer({**answer, "journals": purged}, *lines)
    return Exit.OK


app = application((forget,))

if __name__ == "__main__":
    app()
