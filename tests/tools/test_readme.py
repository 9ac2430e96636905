"""The tool that the README shows is one, and so is its test."""

import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tools.effect import Effect
from tools.tool import Tool, registry
from tools.wire import Wire

README = Path(__file__).parents[2] / "README.md"
LINES_MAX = 15


def example(holds: str) -> str:
    (code,) = [each for each in re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL) if holds in each]
    return str(code)


def test_the_tool_in_the_readme_is_short_and_works() -> None:
    code = example("@tool")
    assert len(code.splitlines()) <= LINES_MAX
    found: dict[str, Any] = {"__name__": "example"}
    exec(compile(code, str(README), "exec"), found)
    made = found["pay_out"]
    assert isinstance(made, Tool) and registry((made,)) == {"pay_out": made}
    assert (made.effect, made.amount, made.find is not None) == (Effect.KEYED, "amount_cents", True)
    arguments = made.check({"account": "acc_1", "amount_cents": 4900})
    assert isinstance(arguments, dict)
    request = made.prepare("k1", arguments)
    assert (request.method, request.path) == ("POST", "/payouts")
    assert b'"reference":"k1"' in request.body


async def test_the_test_in_the_readme_passes(monkeypatch: pytest.MonkeyPatch, wire: Wire) -> None:
    module = ModuleType("tools.pay_out")
    exec(compile(example("@tool"), str(README), "exec"), vars(module))
    monkeypatch.setitem(sys.modules, "tools.pay_out", module)
    given: dict[str, Any] = {}
    exec(compile(example("def test_"), str(README), "exec"), given)
    await given["test_the_same_payout_twice_is_one"](wire)
