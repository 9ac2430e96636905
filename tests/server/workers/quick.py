"""A worker like the real one, with the product's tools in a hurry and the tests' own tools beside them.

Run: python -m tests.server.workers.quick, with the settings of `python -m services`.
"""

import sys
from dataclasses import replace

from services import log, serve
from services.app import application, outside
from services.busy import Busy
from services.settings import load
from tests.server.tools.samples import SAMPLES
from tools import TOOLS, Tool
from tools.effect import Effect

DEADLINE_S = 3.0
SETTLE_S = 0.5
SET_DEADLINE_S = 30.0
"""A write is repeated within its deadline only, and a worker on a busy machine needs some seconds to be back."""


def hurried(tool: Tool) -> Tool:
    """Its times cut, so that "not found" is believed while a test still waits."""
    deadline_s = SET_DEADLINE_S if tool.effect is Effect.SET else DEADLINE_S
    return replace(tool, send_deadline_s=deadline_s, settle_s=SETTLE_S)


def main() -> int:
    log.configure()
    settings, busy = load(), Busy()
    shared = outside(settings, busy, tools=(*map(hurried, TOOLS), *SAMPLES))
    return serve.run(application(shared, settings), settings.listen, settings.shutdown_s, busy, shared.model.open)


if __name__ == "__main__":
    sys.exit(main())
