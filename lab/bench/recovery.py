"""Part `recovery`: the worker is killed when the charge is applied and its answer held; it is started again at once.

Rule: the clock runs from the signal to the answer that the caller waits for. The effect must be there once. A
contestant that does not go on by itself is posted again as soon as it serves, which is the best that can be done for
it.
"""

import time
from collections.abc import Callable
from typing import Any

import httpx

from lab import ports
from lab.background import Background
from lab.bench import audit
from lab.bench.field import Field, Standing
from lab.bench.jobs import SHORT
from lab.bench.sitting import Sitting
from lab.bench.sums import spread
from lab.errors import LabError
from lab.load import check
from lab.process import wait_until

HELD_S = 20.0
ANSWER_S = 120.0
POLL_S = 0.002
WHO = ("bare-lean", "bare", "pawl", "typescript", "openai-agents", "pydantic-ai", "dbos", "langgraph", "temporal")
"""The plain loop is left out: what it had not finished is lost."""


def measure(sitting: Sitting) -> dict[str, Any]:
    """See the module."""
    trials = sitting.pick(3, 1)
    with sitting.field() as ground:
        standing = [ground.add(each) for each in sitting.of(*WHO)]
        for on in standing:
            ground.batch(on, 8, 4)
        found: dict[str, list[dict[str, float]]] = {on.contestant.name: [] for on in standing}
        for number in range(trials):
            for on in standing:
                times = sitting.pick(4, 1) if on.contestant.name == "pawl" else 1
                name = on.contestant.name
                tags = [f"{name.replace('-', '')}k{number}n{each}x" for each in range(times)]
                found[name] += [kill(ground, on, tag) for tag in tags]
            sitting.say(f"{number + 1} of {trials} rounds of kills")
    return {
        "contestants": [
            {
                "name": on.contestant.name,
                "title": on.contestant.title,
                "by_itself": on.contestant.target.resumes,
                "kills": len(found[on.contestant.name]),
                "recovered_s": spread([each["recovered_s"] for each in found[on.contestant.name]]),
                "listens_s": spread([each["listens_s"] for each in found[on.contestant.name]]),
            }
            for on in standing
        ]
    }


def kill(ground: Field, on: Standing, tag: str) -> dict[str, float]:
    """One kill in the window. Raises LabError where the effect is not there once afterwards."""
    receiver = ground.stack.receiver
    receiver.json("POST", "/hold", {"what": "charge", "tag": tag, "turn": -1})
    asked = ground.request(on, tag)
    # A run that is reached at the worker loses its caller with it.
    waiting = Background(lambda: patient(asked.url, dict(asked.body), again=not on.contestant.target.on_restate))
    wait_until("the charge", lambda: receiver.json("GET", "/held")["held"] == 1, HELD_S)
    began = time.monotonic()
    on.worker.kill()
    on.worker.spawn()
    started = time.monotonic()
    receiver.json("POST", "/release")
    while ports.refuses(on.worker.command.port):
        if not on.worker.alive or time.monotonic() - started > HELD_S:
            raise LabError(f"the worker of {on.contestant.title} did not come back.{on.worker.log_tail()}")
        time.sleep(POLL_S)
    listens_s = time.monotonic() - started
    waiting.result(ANSWER_S)
    recovered_s = time.monotonic() - began
    audit.check(on.contestant.title, SHORT, [tag], ground.rows())
    return {"recovered_s": recovered_s, "listens_s": listens_s}


def patient(url: str, body: dict[str, str], *, again: bool) -> None:
    """Post until there is an answer; raises LabError where it is not that of a completed run."""
    end = time.monotonic() + ANSWER_S
    post: Callable[[], httpx.Response] = lambda: httpx.post(url, json=body, timeout=ANSWER_S, trust_env=False)  # noqa: E731
    while True:
        try:
            answer = post()
        except httpx.TransportError as error:
            if not again or time.monotonic() > end:
                raise LabError(f"a run was not answered: {error!r}") from error
            time.sleep(POLL_S)
            continue
        check(url, answer.status_code, answer.content)
        return
