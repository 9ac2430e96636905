"""The product's worker with a mistake in it, to be served where a good one was.

`python -m tests.workers.broken bug` raises in every run, `… turn` behind every reply of the model that makes calls.
`… version` takes one step more at the start of a run than the worker that began it, as a careless new version would.
All other handlers are as they should be.
"""

import sys
from typing import Literal, NoReturn

from services import log, serve
from services.app import application, outside
from services.busy import Busy
from services.calls import Call
from services.run import Run
from services.settings import load
from services.transcript import Told
from services.turn import Turn


async def bug(_: Run) -> NoReturn:
    raise KeyError("turn")


async def version(run: Run) -> None:
    async def more() -> Told:
        return Told("more", at=0.0)

    await run.journal.run("more", (Told,), more)
    await BEGIN(run)


async def turn(_: Turn, __: int, ___: tuple[Call, ...]) -> NoReturn:
    raise KeyError("calls")


BEGIN = Run._begin


def main(mistake: Literal["bug", "version", "turn"]) -> int:
    match mistake:
        case "bug":
            Run._begin = bug  # type: ignore[method-assign,assignment]
        case "version":
            Run._begin = version  # type: ignore[method-assign,assignment]
        case "turn":
            Turn.perform = turn  # type: ignore[method-assign,assignment]
    log.configure()
    settings, busy = load(), Busy()
    shared = outside(settings, busy)
    return serve.run(application(shared, settings), settings.listen, settings.shutdown_s, busy, shared.model.open)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))  # type: ignore[arg-type]
