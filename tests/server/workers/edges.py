"""A worker like the real one, with the product's tools in a hurry and those of the tests of edges beside them.

Run: python -m tests.server.workers.edges [WITHOUT...], with the settings of `python -m services`; the tools that are
named are left out, as after a deployment that removed them.
"""

import sys
from dataclasses import replace

from services import log, serve
from services.app import application, outside
from services.busy import Busy
from services.settings import BadSettings, load
from tests.server.tools.edges import EDGES
from tools import TOOLS, Tool

DEADLINE_S = 3.0
SETTLE_S = 0.5


def hurried(tool: Tool) -> Tool:
    return replace(tool, send_deadline_s=min(DEADLINE_S, tool.send_deadline_s), settle_s=SETTLE_S)


def main(without: list[str]) -> int:
    log.configure()
    tools = tuple(hurried(tool) for tool in (*TOOLS, *EDGES) if tool.name not in without)
    try:
        settings, busy = load(), Busy()
        shared = outside(settings, busy, tools=tools)
    except BadSettings as error:
        sys.stderr.write(f"pawl: {error}\n")
        return 2
    return serve.run(application(shared, settings), settings.listen, settings.shutdown_s, busy, shared.model.open)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
