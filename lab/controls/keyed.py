"""The control that does what Restate's documentation advises: a key from the run's own random, drawn outside the step.

A repeat after a crash carries the same key, so it is applied once. An operator's restart as new draws another key.

Run: python -m lab.controls.keyed --listen 127.0.0.1:9081 --model URL --receiver URL
"""

from typing import Any

import restate

from lab.controls.outside import Outside
from lab.controls.serving import main


async def act(
    ctx: restate.ObjectContext, outside: Outside, name: str, tool: str, arguments: dict[str, Any]
) -> dict[str, Any]:
    key = str(ctx.uuid())
    return await ctx.run_typed(name, outside.use, tool=tool, arguments=arguments, key=key)


if __name__ == "__main__":
    main("Keyed", act, __doc__)
