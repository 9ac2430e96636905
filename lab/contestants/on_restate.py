"""How the Python workers on Restate listen."""

import asyncio
import os
from functools import partial

import restate
from restate.server import install_shutdown_hook

from lab.contestants.serving import listen


async def serve(name: str, port: int, service: restate.VirtualObject) -> None:
    """Serve Restate's protocol until killed. The SDK answers /health itself."""
    # The SDK takes SIGTERM over with its first request, only to tell its invocations; a hook of ours stays beside it.
    install_shutdown_hook(asyncio.get_running_loop(), partial(os._exit, 0))
    await listen(name, port, restate.app([service]))
