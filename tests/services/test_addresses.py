"""Addresses that are none are refused in one sentence by every command that takes one."""

import pytest
import typer
from typer.testing import CliRunner

from services import cli, doctor, drain, forget, register
from services.addresses import address_fault

BAD = ("nowhere", "http://", "http://[::1", "http://h:abc", "http://h:70000", "http://h:0", "http://a b", "ftp://h", "")
REGISTER = typer.Typer()
REGISTER.command()(register.main)


@pytest.mark.parametrize("url", BAD)
def test_what_is_no_address_has_a_fault(url: str) -> None:
    fault = address_fault(url)
    assert fault is not None and "\n" not in fault and repr(url) in fault


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:8080", "https://pay.example.com/v1", "http://[::1]:9070", "http://h"]
)
def test_an_address_has_none(url: str) -> None:
    assert address_fault(url) is None


@pytest.mark.parametrize("url", BAD)
@pytest.mark.parametrize(
    ("program", "command"),
    [
        (cli.app, ("pending", "--admin")),
        (cli.app, ("submit", "run-1", "a task", "--ingress")),
        (forget.app, ("run-1", "--ingress")),
        (REGISTER, ("--worker",)),
        (REGISTER, ("--admin",)),
        (drain.app(), ("--admin",)),
        (doctor.app(), ("--worker",)),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, tuple) else "",
)
def test_every_command_refuses_it(program: typer.Typer, command: tuple[str, ...], url: str) -> None:
    ended = CliRunner().invoke(program, [*command, url])
    assert ended.exit_code == 2, (ended.output, ended.exception)
    assert ended.stderr.startswith("pawl: ") and ended.stderr.count("\n") == 1, ended.stderr
