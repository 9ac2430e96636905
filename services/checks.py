"""The checks of `doctor`: what is looked at, what was seen, and what to do about it.

Rule: every check ends, in a time of its own, and says what it saw; one that cannot be made says why. Nothing is
changed, and nothing that costs money is done unless it was asked for.
Must not know: the terminal.
"""

import asyncio
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib import metadata
from typing import Any

import httpx

from services.answer import ModelReply
from services.app import provider_of
from services.deadlines import Timeouts, longest_s
from services.deadlines import fault as timeout_fault
from services.fleet import Fleet, Refused, Unreachable, cause_of
from services.model import Model
from services.moves import Caps
from services.retention import Kept, faults, lifetimes
from services.settings import BadSettings, Settings, strangers
from services.versions import bound_to, change, counts, same_address, total
from tools import TOOLS

LOOK_S = 3.0
"""A neighbour that is well answers in milliseconds."""
PYTHON, SERVER, SDK = (3, 11), "1.7", "1.3"
"""What Pawl is tested with."""
TINY = ({"role": "user", "content": "Say ok."},)
CLI = "python -m services.cli pending says for each what helps"
DURATION = re.compile(r"(\d+)\s*(ms|[dhms])")
UNITS = {"d": 86_400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}


class State(StrEnum):
    OK = "ok"
    NOTE = "note"
    """Works, and should be known."""
    WRONG = "wrong"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Check:
    name: str
    state: State
    seen: str
    remedy: str = ""


def checks(settings: Settings, worker: str, *, ask_model: bool = False, inside: bool = False) -> Iterator[Check]:
    """All of them, in the order in which one depends on the other. `inside`: not those of what others run."""
    yield python()
    if strange := strangers():
        yield Check("settings", State.NOTE, "; ".join(strange), "python -m services --help lists all settings")
    yield serving(worker, own=same_address(worker, f"http://{settings.listen}"))
    fleet = Fleet(settings.admin)
    try:
        reachable = restate(fleet)
        yield reachable
        yield ingress(settings.ingress)
        if reachable.state in (State.OK, State.NOTE):
            yield from registration(fleet, worker)
            yield runs(fleet)
        else:
            yield Check("registration", State.SKIPPED, "Restate does not answer")
        yield timeouts(settings, fleet if reachable.state in (State.OK, State.NOTE) else None)
        yield leaving(settings.shutdown_s)
        yield retentions(settings, fleet if reachable.state in (State.OK, State.NOTE) else None)
    finally:
        fleet.close()
    if inside:
        return
    yield receiver(settings.receiver_url)
    yield model(settings) if ask_model else Check("model", State.SKIPPED, "not asked; --model asks it one tiny thing")


def python() -> Check:
    sdk = metadata.version("restate-sdk")
    seen = f"Python {sys.version.split()[0]}, restate-sdk {sdk}, hypercorn {metadata.version('hypercorn')}"
    if sys.version_info < PYTHON:
        return Check("versions", State.WRONG, seen, f"use Python {PYTHON[0]}.{PYTHON[1]} or newer")
    if not sdk.startswith(f"{SDK}."):
        return Check("versions", State.NOTE, seen, f"Pawl is tested with restate-sdk {SDK}: install requirements.lock")
    return Check("versions", State.OK, seen)


def serving(worker: str, *, own: bool) -> Check:
    """Who is at the worker's address. `own`: it is that of PAWL_LISTEN, where a worker of this machine is to be; any
    other need be reached by Restate alone, and `registration` says whether it is."""
    url = worker.rstrip("/").replace("//0.0.0.0:", "//127.0.0.1:")
    try:
        answer = httpx.get(f"{url}/health", timeout=LOOK_S, trust_env=False)
    except httpx.ConnectError as error:
        seen = f"nothing listens at {worker}: {cause_of(error)}"
        if own:
            return Check("worker", State.WRONG, seen, "start it: python -m services")
        return Check("worker", State.NOTE, f"seen from here, {seen}", "see `registration`: Restate must reach it")
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        return taken(worker, str(error) or type(error).__name__, own=own)
    if answer.status_code == 503:
        return Check("worker", State.NOTE, f"the worker at {worker} is leaving", "start it again when it has left")
    if answer.is_success and "restate-sdk" in answer.headers.get("x-restate-server", ""):
        return Check("worker", State.OK, f"serves at {worker}")
    return taken(worker, f"status {answer.status_code}", own=own)


def taken(worker: str, answer: str, *, own: bool) -> Check:
    seen = f"{worker} is taken by something that is no worker ({answer})"
    remedy = "set PAWL_LISTEN to a free address, or end what is there" if own else "give --worker the worker's address"
    return Check("worker", State.WRONG, seen, remedy)


def restate(fleet: Fleet) -> Check:
    try:
        fleet.await_restate(time.monotonic())
        version = fleet.version()
    except (Unreachable, Refused) as error:
        return Check("server", State.WRONG, str(error), "start Restate, or set PAWL_ADMIN to where it is")
    if not version.startswith(f"{SERVER}."):
        return Check("server", State.NOTE, f"restate-server {version}", f"Pawl is tested with {SERVER}")
    return Check("server", State.OK, f"restate-server {version} at {fleet.url}")


def ingress(url: str) -> Check:
    return answers(
        "ingress",
        f"{url.rstrip('/')}/restate/health",
        lambda status: status == 200,
        "set PAWL_INGRESS to where Restate takes calls; its logs say whether it has",
    )


def receiver(url: str) -> Check:
    # Which paths it has is its own affair: any answer shows that it is there.
    return answers("receiver", url, lambda _: True, "start it, or set PAWL_RECEIVER_URL to where it is")


def answers(name: str, url: str, good: Callable[[int], bool], remedy: str) -> Check:
    try:
        status = httpx.get(url, timeout=LOOK_S, trust_env=False).status_code
    except httpx.HTTPError as error:
        return Check(name, State.WRONG, f"nothing answers at {url}: {cause_of(error)}", remedy)
    if not good(status):
        return Check(name, State.WRONG, f"{url} answers with {status}", remedy)
    return Check(name, State.OK, f"answers at {url}")


def registration(fleet: Fleet, worker: str) -> Iterator[Check]:
    """Whether each registered address still serves what was registered, where anything depends on it."""
    command = f"python -m services.register --worker {worker}"
    try:
        known, calls = fleet.deployments(), fleet.open_calls()
        if not any(same_address(each.uri, worker) for each in known):
            yield Check("registration", State.WRONG, f"{worker} is not registered", command)
        for each in known:
            bound = bound_to(calls, each.id)
            if not bound and not each.newest_of and not same_address(each.uri, worker):
                continue
            needs = f"{total(bound)} open calls depend on it ({counts(bound)})" if bound else "no open call depends"
            try:
                difference = change(each.offer, fleet.served(each.uri, time.monotonic()))
            except (Unreachable, Refused) as error:
                yield Check("registration", State.WRONG, f"{each.id}: {error}; {needs}", f"start it at {each.uri}")
                continue
            if difference.same:
                yield Check("registration", State.OK, f"{each.uri} serves what is registered as {each.id}; {needs}")
                continue
            yield Check(
                "registration",
                State.WRONG,
                f"{each.uri} serves something else than {each.id}: {difference.sentence()}; {needs}",
                f"serve the registered code there again, and the new code at an address of its own; or {command}",
            )
    except (Unreachable, Refused) as error:
        yield Check("registration", State.WRONG, str(error), "look at Restate's log")


def runs(fleet: Fleet) -> Check:
    """How many are stuck, and why."""
    try:
        stuck = fleet.stuck()
    except (Unreachable, Refused) as error:
        return Check("runs", State.WRONG, str(error), "look at Restate's log")
    if not stuck:
        return Check("runs", State.OK, "none is stuck")
    causes = Counter(run.trouble.cause.value for run in stuck if run.trouble is not None)
    seen = ", ".join(f"{count} {cause}" for cause, count in causes.most_common())
    # The deployment itself may be in order, so it is no failure of it.
    return Check("runs", State.NOTE, f"{len(stuck)} stuck: {seen}; the first: {stuck[0].reason}", CLI)


def timeouts(settings: Settings, fleet: Fleet | None) -> Check:
    limits = Timeouts(settings.inactivity_s, settings.abort_s)
    sentence = timeout_fault(limits, settings.model_deadline_s, TOOLS)
    if sentence is not None:
        return Check("time-outs", State.WRONG, sentence, "as it says")
    row = agent_of(fleet)
    known = (
        Timeouts(duration_s(row["inactivity_timeout"]) or 0, duration_s(row["abort_timeout"]) or 0) if row else limits
    )
    if known != limits:
        seen = f"Restate was told {known.inactivity_s:g} s and {known.abort_s:g} s when the worker was registered"
        wanted = f"PAWL_INACTIVITY_S and PAWL_ABORT_S are {limits.inactivity_s:g} and {limits.abort_s:g}"
        return Check("time-outs", State.WRONG, f"{seen}; {wanted}", "python -m services.register")
    tool_s = max(map(longest_s, TOOLS))
    return Check(
        "time-outs",
        State.OK,
        f"a tool call at most {tool_s:g} s < inactivity {limits.inactivity_s:g} s; a model call at most"
        f" {settings.model_deadline_s:g} s < inactivity and abort {limits.inactivity_s + limits.abort_s:g} s",
    )


def leaving(shutdown_s: float) -> Check:
    longest = max(TOOLS, key=lambda tool: tool.send_deadline_s)
    if longest.send_deadline_s >= shutdown_s:
        return Check(
            "shut-down",
            State.NOTE,
            f"leaves {shutdown_s:g} s after SIGTERM; an effect that takes longer is repeated under its key, or is"
            " Unknown where it may leave only once",
            f"PAWL_SHUTDOWN_S above {longest.send_deadline_s:g} ends each, if the container engine waits that long",
        )
    return Check("shut-down", State.OK, f"leaves {shutdown_s:g} s after SIGTERM; every effect ends before")


def retentions(settings: Settings, fleet: Fleet | None) -> Check:
    caps = Caps(settings.unknown, settings.key_lifetime_s)
    kept = kept_of(fleet)
    wrong = faults(TOOLS, caps, settings.retention_s, kept)
    rows = lifetimes(TOOLS, caps, settings.retention_s, kept)
    seen = "; ".join(f"{row.what} {row.length()}" for row in rows)
    if wrong:
        return Check("retentions", State.WRONG, seen, " ".join(wrong))
    return Check("retentions", State.OK, seen)


def kept_of(fleet: Fleet | None) -> Kept | None:
    """What Restate keeps of calls of the agent; None where it cannot be asked."""
    row = agent_of(fleet)
    if row is None:
        return None
    return Kept(duration_s(row.get("idempotency_retention")), duration_s(row.get("journal_retention")))


def agent_of(fleet: Fleet | None) -> dict[str, Any] | None:
    """What Restate knows of the agent; None where it cannot be asked, or does not know it."""
    try:
        rows: Sequence[dict[str, Any]] = [] if fleet is None else fleet.services()
    except (Unreachable, Refused):
        return None
    return next((row for row in rows if row["name"] == "Agent"), None)


def duration_s(text: str | None) -> float | None:
    """Seconds of a duration as Restate writes it (`1d`, `2m 30s`); None for none."""
    parts = DURATION.findall(text or "")
    return sum(int(number) * UNITS[unit] for number, unit in parts) if parts else None


def model(settings: Settings) -> Check:
    """One tiny request, which costs a few tokens."""
    try:
        provider = provider_of(settings)
    except BadSettings as error:
        return Check("model", State.WRONG, str(error), "as it says")
    client = Model(provider)

    async def ask() -> Check:
        try:
            answer = await client.ask(TINY)
        finally:
            await client.close()
        if isinstance(answer, ModelReply):
            return Check("model", State.OK, f"{settings.model_name} answers at {settings.model_url}")
        return Check(
            "model",
            State.WRONG,
            f"{settings.model_name} at {settings.model_url}: {answer.reason.value}, {answer.detail}",
            "set PAWL_MODEL_URL, PAWL_MODEL_KEY and PAWL_MODEL_NAME",
        )

    return asyncio.run(ask())
