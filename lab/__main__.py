"""`python -m lab`: the commands that the Makefile calls. `python -m lab --help` lists them."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from lab import campaign, compose, demo, pages, readme, signals, storm, up, window
from lab.bench import run as bench
from lab.errors import LabError
from lab.paths import SCRATCH
from lab.show import Show
from lab.signals import Interrupted

HELP = """Starts Pawl and what it depends on as real processes, kills, freezes and cuts them off, and counts what the
receiver has applied. Results go to lab-report."""
app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False, help=HELP)

Dir = Annotated[Path, typer.Option("--dir", help="where data, logs and the record of what runs are kept")]
Port = Annotated[int | None, typer.Option(help="kept or refused; without it the usual one, or a free one if taken")]


def _run(command: Callable[[Show], int]) -> None:
    """Run a command to its exit code: one sentence for what the lab knows, the shell's code for a signal."""
    signals.listen()
    show = Show()
    try:
        code = command(show)
    except LabError as error:
        show.error(str(error))
        code = error.exit_code
    except Interrupted as interrupted:
        show.error(f"{interrupted}; nothing is left running")
        code = interrupted.exit_code
    raise typer.Exit(code)


@app.command("demo")
def demo_command(folder: Dir = SCRATCH) -> None:
    """One run, its worker killed when the refund was applied and not answered; then the same without a key."""
    _run(lambda show: demo.demo(folder, show))


@app.command("up")
def up_command(
    ingress_port: Port = None,
    admin_port: Port = None,
    node_port: Port = None,
    worker_port: Port = None,
    receiver_port: Port = None,
    model_port: Port = None,
    folder: Dir = SCRATCH,
) -> None:
    """Start the whole stack and stay until Ctrl-C."""
    asked = {
        "ingress": ingress_port,
        "admin": admin_port,
        "node": node_port,
        "worker": worker_port,
        "receiver": receiver_port,
        "model": model_port,
    }
    _run(lambda show: up.up(asked, folder, show))


@app.command("down")
def down_command(folder: Dir = SCRATCH) -> None:
    """End what `up` started."""
    _run(lambda show: up.down(folder, show))


@app.command("matrix")
def matrix_command(  # noqa: PLR0913, PLR0917  the options of one command
    trials: Annotated[int, typer.Option(min=1, help="of each cell")] = 3,
    only: Annotated[str | None, typer.Option(help="ids, parts of them, or shell patterns; parted by commas")] = None,
    out: Annotated[Path, typer.Option(help="where report and histories go")] = Path("lab-report"),
    jobs: Annotated[int, typer.Option(min=1, help="trials at work at a time")] = os.cpu_count() or 2,
    seed: Annotated[int, typer.Option(help="decides what is left to chance")] = 1,
    target: Annotated[Path | None, typer.Option(help="a file that describes an agent of your own")] = None,
    keep: Annotated[bool, typer.Option("--keep", help="cells of the last report that are not played now stay")] = False,
    list_only: Annotated[bool, typer.Option("--list", help="print the cells and run nothing")] = False,
    folder: Dir = SCRATCH,
) -> None:
    """Every fault at every point, for every kind of tool: kill it, and count what the receiver saw."""
    asked = campaign.Asked(trials, only, out, jobs, seed, target, folder, keep)
    if list_only:
        _run(lambda show: campaign.list_cells(asked, show))
    _run(lambda show: pages.after(campaign.run(asked, show), out, show))


@app.command("storm")
def storm_command(
    runs: Annotated[int, typer.Option(min=1, help="at once, over two workers")] = 200,
    seed: Annotated[int, typer.Option(help="decides the schedule of strikes")] = 1,
    out: Annotated[Path, typer.Option(help="where storm.json goes")] = Path("lab-report"),
    folder: Dir = SCRATCH,
) -> None:
    """Many runs while everything they depend on is killed, frozen and cut off; then the count."""
    _run(lambda show: pages.after(storm.run(storm.Asked(runs, seed, out, folder), show), out, show))


@app.command("window")
def window_command(
    effects: Annotated[int, typer.Option(min=1, help="to measure, of each load")] = 200,
    kills: Annotated[int, typer.Option(min=0, help="at random moments, on steps without a key")] = 30,
    seed: Annotated[int, typer.Option(help="decides the moments")] = 1,
    out: Annotated[Path, typer.Option(help="where window.json and window.svg go")] = Path("lab-report"),
    folder: Dir = SCRATCH,
) -> None:
    """How long an effect is applied and not yet recorded, and how often a crash doubles one that has no key."""
    _run(lambda show: pages.after(window.run(window.Asked(effects, kills, seed, out, folder), show), out, show))


@app.command("bench")
def bench_command(
    quick: Annotated[bool, typer.Option("--quick", help="go through all of it without judging times")] = False,
    only: Annotated[str | None, typer.Option(help="parts or contestants; parted by commas")] = None,
    rounds: Annotated[int | None, typer.Option(min=1, help="of every contestant, in turn [5; quick: 1]")] = None,
    out: Annotated[Path, typer.Option(help="where bench.json and the pictures go")] = Path("lab-report"),
    folder: Dir = SCRATCH,
) -> None:
    """The same job on Pawl, on loops by hand and on peers: how fast, at what cost, and back from a kill."""
    asked = bench.Asked(only, rounds, quick, out, folder)
    _run(lambda show: pages.after(bench.run(asked, show), out, show))


@app.command("report")
def report_command(
    out: Annotated[Path, typer.Option(help="the folder with report.json")] = Path("lab-report"),
    cell: Annotated[str | None, typer.Option(help="id of the cell whose timeline is open at first")] = None,
) -> None:
    """Write report.html from what matrix, storm, window and bench left."""
    _run(lambda show: pages.run(out, cell, show))


@app.command("readme")
def readme_command(
    out: Annotated[Path, typer.Option(help="the folder with report.json and bench.json")] = Path("lab-report"),
    file: Annotated[Path, typer.Option(help="where the results go, between two marks")] = Path("README.md"),
    performance: Annotated[Path, typer.Option(help="where all of the benchmark goes")] = Path("docs/performance.md"),
) -> None:
    """Write the tables of results into the README and the page on performance."""
    _run(lambda show: readme.run(out, file, show, performance))


@app.command("compose-test")
def compose_command(
    only: Annotated[str | None, typer.Option(help="a part of the names of the faults; without the demo")] = None,
    folder: Dir = SCRATCH,
) -> None:
    """The demo's job and faults in containers, on one server and on a cluster, judged by the receiver's effects."""
    _run(lambda show: compose.compose_test(folder, show, only))


if __name__ == "__main__":
    sys.exit(app(prog_name="python -m lab"))
