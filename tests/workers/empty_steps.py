"""The product's worker with a model and a receiver that answer at once: what is left is the cost of durability and
keys.

`python -m tests.workers.empty_steps` is configured like the worker itself. A run makes three model calls and two keyed
effects.
"""

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from services import log, serve
from services.answer import ModelAnswer, ModelReply
from services.app import application, outside
from services.busy import Busy
from services.clock import wall_s
from services.model import Model
from services.settings import load
from services.transcript import Cut, Usage
from tools.outcome import Answer, Done
from tools.tool import Tool
from tools.wire import Wire

EFFECTS = 2


class EmptyModel(Model):
    """Asks for one charge in each of the first replies, then ends."""

    async def ask(self, messages: Sequence[Mapping[str, Any]], tools: Iterable[Tool] = ()) -> ModelAnswer:  # noqa: ARG002
        turn = sum(message["role"] == "assistant" for message in messages)
        if turn >= EFFECTS:
            return reply({"role": "assistant", "content": "done"}, "stop")
        function = {"name": "charge_card", "arguments": f'{{"customer_id":"c{turn}","amount_cents":100}}'}
        made = {"id": f"call_{turn}", "type": "function", "function": function}
        return reply({"role": "assistant", "content": None, "tool_calls": [made]}, "tool_calls")

    async def open(self) -> Any:
        return None


class EmptyWire(Wire):
    async def send(self, *_: Any, **__: Any) -> Answer:
        return Done({"id": "ch_1"}, "ch_1")


def reply(raw: dict[str, Any], finish: str) -> ModelReply:
    return ModelReply(raw, finish, Usage(10, 10), Cut.NO, wall_s())


def main() -> int:
    log.configure()
    settings, busy = load(), Busy()
    shared = outside(settings, busy)
    shared = replace(shared, model=EmptyModel(shared.provider), wire=EmptyWire({}))
    return serve.run(application(shared, settings), settings.listen, settings.shutdown_s, busy, shared.open)


if __name__ == "__main__":
    sys.exit(main())
