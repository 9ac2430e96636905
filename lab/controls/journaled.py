"""The control whose every step is journalled and whose effects carry no key.

It is what many durable agents look like: the loop survives a crash, and the step that was under way runs again. Where
the receiver had applied it already, it is applied twice.

Run: python -m lab.controls.journaled --listen 127.0.0.1:9081 --model URL --receiver URL
"""

from typing import Any

import restate

from lab.controls.outside import Outside
from lab.controls.serving import main


async def act(
    ctx: restate.ObjectContext, outside: Outside, name: str, tool: str, arguments: dict[str, Any]
) -> dict[str, Any]:
    return await ctx.run_typed(name, outside.use, tool=tool, arguments=arguments)


if __name__ == "__main__":
    main("Journaled", act, __doc__)
