"""The control whose key is made inside the step: each attempt at the step makes another one.

It looks as if it were safe, and the receiver's log shows a key with every request.

Run: python -m lab.controls.fresh_key --listen 127.0.0.1:9081 --model URL --receiver URL
"""

import uuid
from typing import Any

import restate

from lab.controls.outside import Outside
from lab.controls.serving import main


async def act(
    ctx: restate.ObjectContext, outside: Outside, name: str, tool: str, arguments: dict[str, Any]
) -> dict[str, Any]:
    async def step() -> dict[str, Any]:
        return await outside.use(tool, arguments, key=str(uuid.uuid4()))

    return await ctx.run_typed(name, step)


if __name__ == "__main__":
    main("FreshKey", act, __doc__)
