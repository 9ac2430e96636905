"""A target from a file: an agent that the lab does not know, in whatever language, described in a few lines of TOML.

Rule: a wrong file is one sentence that names the field and says what to write. What may be left out is what
`lab.targets` says it is.

    name = "mine"
    command = ["node", "agent.js", "{port}", "{model}", "{receiver}"]
    resumes = false                       # a run that was cut off must be submitted again
    promise = "nothing"                   # once, recorded or nothing
    env = { RETRIES = "0" }
    submit = { method = "POST", url = "{worker}/runs/{run_id}", body = { task = "{task}" } }
    look = { method = "GET", url = "{worker}/runs/{run_id}" }
    service = "Mine"                      # on Restate: the object's name, in place of submit and look

    [call]                                # what the model asks it for, and what the receiver calls the effect
    tool = "charge_card"
    arguments = { customer_id = "cus_{tag}", amount_cents = 4900, currency = "EUR" }
    effect = "charge"
"""

import re
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

import httpx
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from lab.errors import UsageError
from lab.ground import fill
from lab.jobs import DONE, JOBS, Class, Job, calls
from lab.targets import (
    Addresses,
    Call,
    Promise,
    Target,
    look_at,
    register_at_admin,
    state_of_invocation,
    submit_to,
)

Told = Literal[Promise.ONCE, Promise.RECORDED, Promise.NOTHING]
"""What a file may promise: effect classes are Pawl's own."""
SAID = {
    "tuple_type": 'must be a list of strings, one for each word: ["python3", "./agent.py", "{port}"]',
    "too_short": "must name a program",
    "literal_error": 'must be "once", "recorded" or "nothing"',
}
"""By pydantic's name of the error: what to write, where its own words do not say it to whoever writes TOML."""
STARTED_WITH = ("port", "listen", "host", "model", "receiver", "ingress", "admin", "folder")
ASKED_WITH = ("worker", "ingress", "admin", "run_id", "task")
"""What is filled in: in the command and its environment, and in the addresses of submit and look."""


class Exchange(BaseModel):
    model_config = ConfigDict(extra="forbid")

    method: str
    url: str
    body: Any = None


class Asked(BaseModel):
    """The tool call of the model. The tag marks a trial: it must be in the arguments, and so in the effect."""

    model_config = ConfigDict(extra="forbid")

    tool: str
    arguments: dict[str, Any]
    effect: str


class Described(BaseModel):
    """The file."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
    command: tuple[str, ...] = Field(min_length=1)
    title: str = ""
    env: dict[str, str] = Field(default_factory=dict)
    resumes: bool = True
    promise: Told = Promise.ONCE
    submit: Exchange | None = None
    look: Exchange | None = None
    service: str = ""
    call: Asked | None = None


def load(file: Path) -> tuple[Target, Job]:
    """The target and its job. Raises UsageError with one sentence."""
    try:
        told = Described.model_validate(tomllib.loads(file.read_text(encoding="utf-8")))
    except OSError as error:
        raise UsageError(f"the target's file {file} cannot be read: {error.strerror}") from error
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"the target's file {file} is not TOML: {error}") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise UsageError(f"the target's file {file}: {where}: {SAID.get(first['type'], first['msg'])}") from error
    _check_names(file, told)
    _check_addresses(file, told)
    return target(told, file.parent), job(told)


def _check_names(file: Path, told: Described) -> None:
    """A name that nobody fills in would reach the agent as it stands. `${name}` is a shell's, and stays."""
    exchanges = {"submit": told.submit, "look": told.look}
    places: list[tuple[str, Iterable[str], tuple[str, ...]]] = [
        ("command", told.command, STARTED_WITH),
        ("env", told.env.values(), STARTED_WITH),
        *((name, [each.url], ASKED_WITH) for name, each in exchanges.items() if each is not None),
    ]
    for where, texts, known in places:
        for name in re.findall(r"(?<!\$)\{([a-z_]+)\}", " ".join(texts)):
            if name not in known:
                there = ", ".join(f"{{{each}}}" for each in known)
                raise UsageError(f"the target's file {file}: {where}: there is no {{{name}}}; there are {there}")


def _check_addresses(file: Path, told: Described) -> None:
    """What nobody can be called at would end the first trial."""
    example = {**dict.fromkeys(ASKED_WITH, "name"), **dict.fromkeys(("worker", "ingress", "admin"), "http://host:1")}
    for where, exchange in (("submit", told.submit), ("look", told.look)):
        if exchange is None:
            continue
        try:
            url = httpx.URL(fill(exchange.url, example))
        except (httpx.InvalidURL, UnicodeError) as error:
            raise UsageError(f"the target's file {file}: {where}: {exchange.url!r} is no address: {error}") from error
        if url.scheme not in ("http", "https") or not url.host:
            sentence = f"{exchange.url!r} is no address; begin it with {{worker}}, {{ingress}}, {{admin}} or http://"
            raise UsageError(f"the target's file {file}: {where}: {sentence}")


def target(told: Described, folder: Path) -> Target:
    """As the lab knows it. A path that begins with `./` is meant from the file's folder."""

    def names(listen: str, at: Addresses) -> dict[str, str]:
        host, _, port = listen.rpartition(":")
        known = {"listen": listen, "host": host, "port": port, "model": at.model, "receiver": at.receiver}
        return {**known, "ingress": at.ingress, "admin": at.admin, "folder": at.folder}

    command = tuple(str(folder.resolve() / part) if part.startswith("./") else part for part in told.command)
    plain = Target(name=told.name, argv=lambda listen, at: tuple(fill(list(command), names(listen, at))))
    on_restate = bool(told.service)
    return Target(
        name=told.name,
        title=told.title or told.name,
        argv=plain.argv,
        env=lambda listen, at: fill(told.env, names(listen, at)),
        register=register_at_admin if on_restate else plain.register,
        submit=_call(told.submit) or (submit_to(told.service) if on_restate else plain.submit),
        look=_call(told.look) or (look_at(told.service) if on_restate else plain.look),
        state=state_of_invocation if on_restate and told.look is None else plain.state,
        resumes=told.resumes,
        promise=told.promise,
        on_restate=on_restate,
        service=told.service,
    )


def job(told: Described) -> Job:
    """The charge of the other targets, or the call that the file describes."""
    asked = told.call
    if asked is None:
        return JOBS["charge"]
    if "{tag}" not in str(asked.arguments):
        raise UsageError(
            "the target's call: some argument must hold {tag}, so that its effects can be told from others"
        )
    replies = (calls(asked.tool, asked.arguments), DONE)
    return Job(f"{told.name}-call", asked.effect, Class.KEYED, asked.tool, replies)


def _call(exchange: Exchange | None) -> Call | None:
    return None if exchange is None else Call(exchange.method, exchange.url, exchange.body)
