"""The control whose effects are plain calls in the handler, outside of any step: each replay makes them again.

Run: python -m lab.controls.bare --listen 127.0.0.1:9081 --model URL --receiver URL
"""

from typing import Any

import restate

from lab.controls.outside import Outside
from lab.controls.serving import main


async def act(
    _ctx: restate.ObjectContext, outside: Outside, _name: str, tool: str, arguments: dict[str, Any]
) -> dict[str, Any]:
    return await outside.use(tool, arguments)


if __name__ == "__main__":
    main("Bare", act, __doc__)
