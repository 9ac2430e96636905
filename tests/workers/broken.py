"""The product's worker with a mistake in it, to be served where a good one was.

`python -m tests.workers.broken bug` raises in every run. `python -m tests.workers.broken version` takes one step more
at the start of a run than the worker that began it, as a careless new version would. All other handlers are as they
should be.
"""

import sys
from typing import Literal, NoReturn

from services import log, serve
from services.app import application, outside
from services.busy import Busy
from services.run import Run
from services.settings import load
from services.transcript import Told


async def bug(_: Run) -> NoReturn:
    raise KeyError("turn")


async def version(run: Run) -> None:
    async def more() -> Told:
        return Told("more", at=0.0)

    await run.journal.run("more", (Told,), more)
    await BEGIN(run)


BEGIN = Run._begin
MISTAKES = {"bug": bug, "version": version}


def main(mistake: Literal["bug", "version"]) -> int:
    Run._begin = MISTAKES[mistake]  # type: ignore[method-assign,assignment]
    log.configure()
    settings, busy = load(), Busy()
    shared = outside(settings, busy)
    return serve.run(application(shared, settings), settings.listen, settings.shutdown_s, busy, shared.model.open)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))  # type: ignore[arg-type]
