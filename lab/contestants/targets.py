"""Peers and loops by hand as targets of the lab: how each worker starts, and whether it can.

Rule: the lab reads this file without any peer's package; each worker runs in the interpreter of `make lab-peers`.
"""

import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from lab.paths import ROOT
from lab.targets import (
    Addresses,
    Helper,
    Promise,
    Target,
    look_at,
    register_at_admin,
    state_of_invocation,
    submit_to,
)

PYTHON = ROOT / ".venv-lab" / "bin" / "python"
TYPESCRIPT = Path(__file__).with_name("typescript")
INSTALL = "run `make lab-peers`"


def _python(module: str) -> Callable[[str, Addresses], tuple[str, ...]]:
    return lambda _listen, _at: (str(PYTHON), "-m", f"lab.contestants.{module}")


def _temporal(listen: str, folder: Path) -> tuple[str, ...]:
    """Temporal's development server, which keeps its runs in one SQLite file."""
    host, _, port = listen.rpartition(":")
    place = ("--ip", host, "--port", port, "--db-filename", str(folder / "temporal.sqlite"))
    return (str(PYTHON.with_name("temporal")), "server", "start-dev", "--headless", *place, "--log-level", "error")


def _on_restate(name: str, title: str, service: str, argv: Callable[[str, Addresses], tuple[str, ...]]) -> Target:
    return Target(
        name=name,
        title=title,
        argv=argv,
        register=register_at_admin,
        submit=submit_to(service),
        look=look_at(service),
        state=state_of_invocation,
        on_restate=True,
        service=service,
    )


PEERS = (
    Target(name="dbos", title="DBOS SQLite", argv=_python("dbos_loop")),
    Target(name="langgraph", title="LangGraph SQLite", argv=_python("langgraph_agent"), resumes=False),
    Target(name="temporal", title="Temporal", argv=_python("temporal_loop"), helper=Helper("temporal", _temporal)),
    _on_restate(
        "typescript",
        "Restate TypeScript",
        "TypeScript",
        lambda _listen, _at: ("node", str(TYPESCRIPT / "agent.mjs")),
    ),
    _on_restate("openai-agents", "openai-agents on Restate", "OpenAIAgents", _python("openai_agents_on_restate")),
    _on_restate("pydantic-ai", "pydantic-ai on Restate", "PydanticAI", _python("pydantic_ai_on_restate")),
)


def _env(*, keyed: bool) -> Callable[[str, Addresses], Mapping[str, str]]:
    return lambda listen, at: {
        "MODEL_URL": f"{at.model}/v1",
        "RECEIVER_URL": at.receiver,
        "WORKDIR": at.folder,
        "PORT": listen.rpartition(":")[2],
        "KEYED": "1" if keyed else "0",
        "ENGINE": at.helper,
    }


WITHOUT_KEY = tuple(
    replace(peer, title=f"{peer.title}, no key", env=_env(keyed=False), promise=Promise.RECORDED) for peer in PEERS
)
WITH_KEY = tuple(
    replace(
        peer,
        name=f"{peer.name}-keyed",
        title=f"{peer.title}, keyed",
        env=_env(keyed=True),
        promise=Promise.ONCE,
    )
    for peer in PEERS
)
TARGETS: tuple[Target, ...] = tuple(target for pair in zip(WITHOUT_KEY, WITH_KEY, strict=True) for target in pair)


def by_hand(name: str, title: str, module: str, service: str = "", clients: str = "") -> Target:
    """A loop without a framework, in the environment of the lab itself. With a service: on Restate."""
    made = Target(
        name=name,
        title=title,
        argv=lambda _listen, _at: (sys.executable, "-m", f"lab.contestants.{module}"),
        env=lambda listen, at: {**_env(keyed=bool(service))(listen, at), "CLIENTS": clients},
        resumes=bool(service),
        promise=Promise.ONCE if service else Promise.NOTHING,
        service=service,
    )
    return replace(made, register=register_at_admin, on_restate=True) if service else made


PLAIN_LOOP = by_hand("plain", "plain loop, nothing durable", "plain_loop")
BARE_LOOP = by_hand("bare", "Restate by hand, default clients", "bare_loop", "BareLoop", "default")
LEAN_LOOP = by_hand("bare-lean", "Restate by hand, aiohttp", "bare_loop", "LeanLoop", "lean")
"""For the benchmark; what a crash does to such loops the controls of the matrix show."""


def _cached() -> Target:
    shipped = next(target for target in WITH_KEY if target.service == "PydanticAI")
    return replace(
        shipped,
        name="pydantic-ai-cached",
        title="pydantic-ai on Restate, adapters kept",
        env=lambda listen, at: {**shipped.env(listen, at), "CACHED": "1"},
        service="PydanticAICached",
    )


PYDANTIC_AI_CACHED = _cached()
"""For the benchmark likewise: the integration as it ships spends most of its time on what could be kept."""


def why_not(target: Target) -> str | None:
    """Why one of the targets here cannot run on this machine; None where it can."""
    if target in (PLAIN_LOOP, BARE_LOOP, LEAN_LOOP):
        return None
    if target.service != "TypeScript":
        return None if PYTHON.exists() else f"the peers' Python packages are not installed: {INSTALL}"
    if shutil.which("node") is None:
        return "Node was not found"
    return None if (TYPESCRIPT / "node_modules").is_dir() else f"the peer's npm package is not installed: {INSTALL}"
