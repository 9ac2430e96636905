"""A worker that leaves: nothing begins, and what only this attempt can know is recorded."""

import asyncio
from dataclasses import replace

import pytest

from services.busy import Busy
from services.clock import wall_s
from services.moves import Wait
from services.progress import advance
from services.send import LEAVING, gate
from services.serve import while_staying
from tests.services.test_progress import BLIND, KEYED, ONCE, SET, answered, go, sealed, start
from tools.outcome import NotSent
from tools.tool import Tool


async def test_steps_begin_until_the_worker_leaves() -> None:
    busy = Busy()
    await busy.may_begin()
    busy.leave()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(busy.may_begin(), 0.05)


async def test_it_is_idle_when_the_last_step_has_ended_and_not_before() -> None:
    busy = Busy()
    with busy:
        assert not await busy.idle(0.01)
        with busy:
            assert busy.steps == 2
    assert await busy.idle(0.01)


@pytest.mark.parametrize(("tool", "says"), [(ONCE, LEAVING), (BLIND, LEAVING), (KEYED, None), (SET, None)])
def test_what_the_next_worker_could_not_repeat_does_not_leave(tool: Tool, says: str | None) -> None:
    busy, now = Busy(), wall_s()
    progress, _ = go(start(tool)[0], sealed(now))
    may_leave = gate(progress, now, busy)
    assert may_leave() is None
    busy.leave()
    assert may_leave() == says


def test_what_did_not_leave_is_sealed_and_sent_anew() -> None:
    progress, _ = go(start(ONCE)[0], sealed())
    progress, move = advance(replace(progress, sends=1), answered(NotSent(LEAVING)))
    assert isinstance(move, Wait)
    assert progress.doubt is None


async def test_a_leaving_worker_answers_503_to_whatever_comes() -> None:
    busy, asked, sent = Busy(), [], []

    async def application(scope: dict[str, str], receive: object, send: object) -> None:
        asked.append(scope["path"])

    async def send(message: dict[str, object]) -> None:
        sent.append(message)

    guarded = while_staying(application, busy)
    await guarded({"type": "http", "path": "/one"}, None, send)
    busy.leave()
    await guarded({"type": "http", "path": "/two"}, None, send)
    assert asked == ["/one"]
    assert sent[0]["status"] == 503
