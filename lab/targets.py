"""What is put to the test: how its worker starts, how a run is submitted to it, and how one sees that the run is over.

Rule: a target is known by its command line, its environment and its HTTP interface only. In the strings of a `Call`,
`{worker}`, `{ingress}`, `{admin}`, `{helper}`, `{run_id}` and `{task}` are filled in, and nothing else.

A target in a language of its own needs no line here: `lab.own` reads one from a file.
"""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from lab.errors import LabError
from lab.process import environment, run_to_end
from lab.remotes import Admin

_REGISTER_S = 30.0


@dataclass(frozen=True, slots=True)
class Addresses:
    """Base URLs, without a slash at the end. `folder` is the target's own: what it keeps there survives its worker.
    `helper` is host:port of its helper, where it has one."""

    ingress: str
    admin: str
    receiver: str
    model: str
    folder: str = ""
    helper: str = ""


class Promise(StrEnum):
    """What a target promises of an effect whose worker dies, and so what must be seen of it."""

    BY_CLASS = "by class"
    """What the tool's effect class says: Pawl."""
    ONCE = "once"
    """Applied once, wherever the worker died."""
    RECORDED = "recorded"
    """What was recorded is not done again; what was applied and not recorded is."""
    NOTHING = "nothing"
    """What was applied is done again, recorded or not."""


@dataclass(frozen=True, slots=True)
class Call:
    """One HTTP exchange. The strings in `body`, at any depth, are filled in like the URL."""

    method: str
    url: str
    body: Any = None


def _told_state(answer: Any) -> str:
    return str(answer["state"])


@dataclass(frozen=True, slots=True)
class Helper:
    """A process that the target needs beside its worker, a server of its own kind for instance: started before the
    worker, never hurt, ready when its port accepts connections. `argv` gets host:port and the target's folder."""

    name: str
    argv: Callable[[str, Path], tuple[str, ...]]


def _nothing(_listen: str, _at: Addresses) -> Mapping[str, str]:
    return {}


def _unregistered(_at: Addresses, _worker: str) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Target:
    """A kind of worker, which answers `GET /health` with 200 once it serves.

    `argv` and `env` get the address to listen on (host:port) and the addresses of the rest. `submit` must return as
    soon as the run is accepted. `look` asks where it stands: `state` takes the answer's JSON to one word, of which
    `completed`, `failed`, `refused` and `cancelled` are ends, `outcome_unknown` and `waiting_approval` wait for a
    person, `absent` (as a 404) and `interrupted` say that nobody works on it, and all others go on.
    """

    name: str
    """As it stands in the id of a cell."""
    argv: Callable[[str, Addresses], tuple[str, ...]]
    title: str = ""
    process: str = "worker"
    """What its process is called where something is said about it, and its log."""
    env: Callable[[str, Addresses], Mapping[str, str]] = _nothing
    register: Callable[[Addresses, str], None] = _unregistered
    """Makes a worker known where it must be; gets the addresses and the worker's own."""
    submit: Call = field(default=Call("POST", "{worker}/runs/{run_id}", {"task": "{task}"}))
    look: Call = field(default=Call("GET", "{worker}/runs/{run_id}"))
    state: Callable[[Any], str] = _told_state
    resumes: bool = True
    """A run goes on by itself once a worker is back. Otherwise it is submitted again under the same id."""
    promise: Promise = Promise.ONCE
    on_restate: bool = False
    """Its runs live in a restate-server, which is started for it and may be hurt."""
    effect_is_step: bool = True
    """On Restate: the effect is a step of its own, so that the server is told of its result."""
    acks_before: int = 0
    """On Restate: how many further steps are acknowledged between the model's reply and the effect."""
    decide: Call | None = None
    """How a person decides on what waits for one: `{key}` and `{decision}` are filled in as well."""
    helper: Helper | None = None
    service: str = ""
    """On Restate: the name of the object or service."""


def submit_to(service: str, handler: str = "run") -> Call:
    """Restate: one-way call of a handler of a virtual object; answers with the invocation's id at once."""
    return Call("POST", f"{{ingress}}/{service}/{{run_id}}/{handler}/send", {"task": "{task}"})


def look_at(service: str, handler: str = "run") -> Call:
    """Restate: where the newest invocation of an object's handler stands, as the server's own table says it."""
    return Call(
        "POST",
        "{admin}/query",
        {
            "query": "SELECT status, completion_result FROM sys_invocation "  # noqa: S608 - names of our own
            f"WHERE target_service_name = '{service}' AND target_handler_name = '{handler}' "
            "AND target_service_key = '{run_id}' ORDER BY created_at DESC LIMIT 1"
        },
    )


def state_of_invocation(answer: Any) -> str:
    """Takes a row of `look_at` to the state's word."""
    rows = answer["rows"]
    if not rows:
        return "absent"
    if rows[0]["status"] != "completed":
        return str(rows[0]["status"])
    return "completed" if rows[0].get("completion_result") == "success" else "failed"


def register_at_admin(at: Addresses, worker: str) -> None:
    """Restate: makes the worker known, by the admin API."""
    with Admin("admin API", at.admin) as admin:
        admin.register(worker)


def _pawl_env(listen: str, at: Addresses) -> Mapping[str, str]:
    return {
        "PAWL_LISTEN": listen,
        "PAWL_MODEL_URL": f"{at.model}/v1",
        "PAWL_MODEL_KEY": "mock-key",
        "PAWL_MODEL_NAME": "mock",
        "PAWL_RECEIVER_URL": at.receiver,
        "PAWL_INGRESS": at.ingress,
        "PAWL_ADMIN": at.admin,
    }


def _register_pawl(at: Addresses, worker: str) -> None:
    # A folder that is used again knows this address from before, and the code may have changed since: whoever edits it
    # wants to go on, and is told which runs that may leave stuck. New calls go to this worker, also where another was
    # registered since.
    allowed = ("--force", "--yes", "--breaking", "--newest")
    command = (sys.executable, "-m", "services.register", "--worker", worker, *allowed)
    done = run_to_end(command, environment({"PAWL_ADMIN": at.admin}), _REGISTER_S)
    if done.returncode:
        said = (done.stderr or done.stdout).strip()
        raise LabError(f"registering the worker {worker} ended with exit code {done.returncode}: {said}")
    if "endangered" in done.stdout:
        sys.stderr.write(done.stdout)


PAWL = Target(
    name="pawl",
    title="Pawl",
    argv=lambda _listen, _at: (sys.executable, "-m", "services"),
    env=_pawl_env,
    register=_register_pawl,
    submit=Call("POST", "{ingress}/Agent/{run_id}/submit", {"task": "{task}"}),
    look=Call("POST", "{ingress}/Agent/{run_id}/status"),
    decide=Call("POST", "{ingress}/Agent/{run_id}/decide", {"key": "{key}", "decision": "{decision}"}),
    promise=Promise.BY_CLASS,
    on_restate=True,
    acks_before=1,
    service="Agent",
)


def control_argv(module: str) -> Callable[[str, Addresses], tuple[str, ...]]:
    """The command line that the lab's own Python workers share."""
    return lambda listen, at: (
        sys.executable,
        "-m",
        module,
        f"--listen={listen}",
        f"--model={at.model}",
        f"--receiver={at.receiver}",
    )


def _control(name: str, title: str, service: str, promise: Promise, *, effect_is_step: bool = True) -> Target:
    return Target(
        name=name,
        title=title,
        process="control",
        argv=control_argv(f"lab.controls.{name.replace('-', '_')}"),
        register=register_at_admin,
        submit=submit_to(service),
        look=look_at(service),
        state=state_of_invocation,
        promise=promise,
        on_restate=True,
        effect_is_step=effect_is_step,
        service=service,
    )


JOURNALED = _control("journaled", "journalled step, no key", "Journaled", Promise.RECORDED)
BARE = _control("bare", "effect outside ctx.run", "Bare", Promise.NOTHING, effect_is_step=False)
FRESH_KEY = _control("fresh-key", "key made inside the step", "FreshKey", Promise.RECORDED)
KEYED = _control("keyed", "journalled step, key from ctx.uuid()", "Keyed", Promise.ONCE)
PLAIN = Target(
    name="plain",
    title="plain loop, no engine",
    process="control",
    argv=control_argv("lab.controls.plain"),
    resumes=False,
    promise=Promise.NOTHING,
)
CONTROLS = (PLAIN, BARE, JOURNALED, FRESH_KEY, KEYED)
