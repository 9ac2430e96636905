"""What every command of the command line shares: its options, what it works with, and how it ends.

Rule: an expected failure is one sentence on standard error and one of few exit codes.
Must not know: any single command.
"""

import inspect
import os
import pwd
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from services import vault
from services.addresses import address_fault
from services.desk import ANSWER_S, Conflict, Desk, Unknown
from services.exits import MEANINGS, Exit, of_run, of_status
from services.follow import done, follow
from services.names import run_id_fault, utf_8
from services.overview import Overview
from services.report import Commands
from services.restate_api import Admin, HandedOver, Ingress, Refused, Unanswered
from services.settings import BadSettings, Settings, load
from services.terminal import Terminal

LOOK_S = 0.3
"""Between two looks at a run that is followed: quick enough for an eye, and a look costs Restate a few milliseconds."""
NO_WORKER = f"no worker has answered within {ANSWER_S:g} s."
INTERRUPTED = 130
"""As a shell says it of a program that Ctrl-C ended."""
EPILOG = "\n\n".join(("Exit codes:", *(f"{code.value}  {meaning}" for code, meaning in MEANINGS.items())))


class Misused(Exception):
    """The command line is wrong; the text says what."""


@dataclass(frozen=True, slots=True)
class Seat:
    """What a command works with."""

    desk: Desk
    terminal: Terminal

    def show(self, seen: Overview) -> Exit:
        self.terminal.run(seen)
        return of_run(seen)

    def follow(self, run_id: str, within_s: float | None, pass_number: int = 1) -> Exit:
        looks = follow(
            partial(self.desk.look, run_id),
            time.monotonic,
            partial(time.sleep, LOOK_S),
            pass_number=pass_number,
            within_s=within_s,
        )
        last = self.terminal.follow(looks)
        if last is not None and within_s is not None and not done(last, pass_number):
            self.terminal.error(f"not over after {within_s:g} s: the run goes on.", {})
            return Exit.STUCK
        return Exit.OK if last is None else of_run(last)

    def handed_over(self, call: HandedOver, what: str) -> Exit:
        sentence = f"{NO_WORKER} Restate has {what} ({call.invocation}) and hands it on as soon as one does."
        self.terminal.error(sentence, {"handed_over": True, "invocation_id": call.invocation})
        return Exit.STUCK


class Plain(TyperCommand):
    """A command whose usage names its words as one types them, without braces around those that are required."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return [piece.strip("{}") for piece in super().collect_usage_pieces(ctx)]


COMMON: dict[str, tuple[Any, Any]] = {
    "as_json": (Annotated[bool, typer.Option("--json", help="JSON on standard output.")], False),
    "who": (Annotated[str | None, typer.Option(help="Who acts, for the record; else the user here.")], None),
    "ingress": (Annotated[str | None, typer.Option(metavar="URL", help="Restate's ingress; else PAWL_INGRESS.")], None),
    "admin": (Annotated[str | None, typer.Option(metavar="URL", help="Restate's admin API; else PAWL_ADMIN.")], None),
}


def application(acts: Sequence[Callable[..., Exit]]) -> typer.Typer:
    """The program of these commands. Each is `act(seat, …)`: the other parameters are its words, its docstring its
    help."""
    app = typer.Typer(
        add_completion=False,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        help="Runs of the agent, for people: begin, watch, decide, cancel.",
        epilog=EPILOG,
    )
    for act in acts:
        app.command(act.__name__, help=act.__doc__, epilog=EPILOG, cls=Plain)(command(act))
    return app


def command(act: Callable[..., Exit]) -> Callable[..., None]:
    """`act` with the options that every command has, and with the ending that every command has."""

    def run(**given: Any) -> None:
        as_json, who, ingress, admin = (given.pop(name) for name in COMMON)
        flags = [f"--{name}={url}" for name, url in (("ingress", ingress), ("admin", admin)) if url is not None]
        terminal = Terminal(Commands(tuple(flags)), as_json=as_json)
        with ending(terminal):
            fault = run_id_fault(given["run_id"]) if "run_id" in given else None
            if fault is not None:
                raise Misused(fault)
            for name, value in given.items():
                if isinstance(value, str) and not utf_8(value):
                    raise Misused(f"{name}: this is not UTF-8.")
            with closing(desk_of(load(), ingress, admin, who)) as desk:
                raise typer.Exit(act(Seat(desk, terminal), **given))

    own = list(inspect.signature(act).parameters.values())[1:]
    common = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
        for name, (kind, default) in COMMON.items()
    ]
    words = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in own] + common
    # typer reads a command's words from these two.
    run.__signature__ = inspect.Signature(words)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in words}
    return run


def desk_of(settings: Settings, ingress: str | None, admin: str | None, who: str | None) -> Desk:
    vault.use(settings.vault())
    name = (who if who is not None else user()).strip()
    if not name or not name.isascii() or not name.isprintable():
        raise Misused(f"--who must be a name in plain letters, {name!r} is not.")
    for url in (ingress, admin):
        if url is not None and (fault := address_fault(url)) is not None:
            raise Misused(fault)
    return Desk(Ingress(ingress or settings.ingress, {settings.actor_header: name}), Admin(admin or settings.admin))


def user() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"uid {os.getuid()}"


@contextmanager
def ending(terminal: Terminal) -> Iterator[None]:
    """Every expected failure becomes one sentence and an exit code."""
    try:
        yield
    except (BadSettings, Misused, Unknown) as error:
        sentence, code = str(error), int(Exit.USAGE)
    except Conflict as error:
        sentence, code = str(error), int(Exit.CONFLICT)
    except Refused as error:
        sentence, code = str(error), int(of_status(error.status))
    except Unanswered as error:
        sentence, code = str(error), int(Exit.STUCK)
    except KeyboardInterrupt:
        sentence, code = "stopped watching; what runs goes on.", INTERRUPTED
    else:
        return
    terminal.error(sentence, {"error": sentence, "exit_code": code})
    raise typer.Exit(code)
