"""A cancel of a run, and what must hold afterwards."""

import time
from typing import Any

from tests.server.stand import Cell

SOON_S = 5.0


def cancel(cell: Cell, **body: Any) -> None:
    reply = cell.world.post(cell.run_id, "cancel", body)
    assert reply.status_code == 200 and reply.json()["cancelling"] is True, reply.text


def ends(cell: Cell, wait_s: float = SOON_S) -> dict[str, Any]:
    return cell.world.until(cell.run_id, "cancelled", "completed", "failed", wait_s=wait_s)


def quiet(cell: Cell, model_requests: int, **more: Any) -> None:
    """Nothing is asked of the model or the receiver any more, and the run's key is free."""
    before = len(cell.requests())
    time.sleep(0.7)
    assert cell.world.model_requests(cell.run_id) == model_requests
    assert len(cell.requests()) == before
    task = f"task {cell.world.tag} {cell.run_id}."
    again = cell.world.run(cell.run_id, task, timeout_s=SOON_S, **more)
    assert (again["state"], again["replayed"]) == ("cancelled", True)
