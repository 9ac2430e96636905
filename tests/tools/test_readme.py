"""The tool that the README shows is one."""

import re
from pathlib import Path
from typing import Any

from tools.effect import Effect
from tools.tool import Tool, registry

README = Path(__file__).parents[2] / "README.md"
LINES_MAX = 15


def example() -> str:
    (code,) = [each for each in re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL) if "@tool" in each]
    return str(code)


def test_the_tool_in_the_readme_is_short_and_works() -> None:
    code = example()
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
