"""What happens at the receiver and the model, as it happens: one line for each request, once it is clear what it did.

Rule: it only reads. A request is told once: when it was answered, or when it was applied and its answer is still out.
"""

from collections.abc import Iterator

from lab.remotes import Model, Receiver
from lab.show import Show, Step
from mocks.rows import EffectRow, ModelRow, RequestRow


def of_request(row: RequestRow) -> Step | None:
    """What a request at the receiver did; None while that is open."""
    status = row["status"]
    if row["applied"]:
        answer = "not answered yet" if status is None else f"answered {status}"
        return Step(row["effect"], f"applied, {answer}", row["key"], "bold", row["at"])
    if status is None:
        return None
    if status >= 400:
        return Step(row["effect"], f"nothing applied, answered {status}", row["key"], "yellow", row["at"])
    if row["method"] == "GET":
        return Step(row["effect"], f"read, answered {status}", None, "dim", row["at"])
    return Step(row["effect"], f"known: the first answer again, {status}", row["key"], "green", row["at"])


def of_call(row: ModelRow) -> Step | None:
    """What a call of the model was; None while it is open."""
    if row["status"] is None:
        return None
    turn = "no turn" if row["turn"] is None else f"turn {row['turn'] + 1}"
    return Step("model", f"{turn}, history of {row['messages']}, answered {row['status']}", None, "dim", row["at"])


class Follower:
    """Shows the rows that come after the ones that were there when it was made."""

    def __init__(self, receiver: Receiver, model: Model, show: Show) -> None:
        self._receiver = receiver
        self._model = model
        self._show = show
        self._requests_before = len(receiver.requests())
        self._effects_before = len(receiver.effects())
        self._calls_before = len(model.requests())
        self._told: set[tuple[str, int]] = set()
        self._open: set[int] = set()

    def requests(self) -> list[RequestRow]:
        """What the receiver received since."""
        return self._receiver.requests()[self._requests_before :]

    def effects(self) -> list[EffectRow]:
        """What it applied since."""
        return self._receiver.effects()[self._effects_before :]

    def calls(self) -> list[ModelRow]:
        """What the model was asked since."""
        return self._model.requests()[self._calls_before :]

    def poll(self) -> None:
        """Show what is new, in the order in which it arrived."""
        for step in sorted(self._news(), key=lambda step: step.at or 0.0):
            self._show.step(step)

    def _news(self) -> Iterator[Step]:
        for call in self.calls():
            yield from self._once("model", call["n"], of_call(call))
        for request in self.requests():
            if not self._is_settling(request):
                yield from self._once("receiver", request["n"], of_request(request))

    def _is_settling(self, request: RequestRow) -> bool:
        """Applied a moment ago, its answer on the way: told at the next look, by then answered or held back."""
        n = request["n"]
        if not request["applied"] or request["status"] is not None or n in self._open:
            return False
        self._open.add(n)
        return True

    def _once(self, where: str, n: int, step: Step | None) -> Iterator[Step]:
        if step is not None and (where, n) not in self._told:
            self._told.add((where, n))
            yield step
