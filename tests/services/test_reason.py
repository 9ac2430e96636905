"""The names with which a run ends are all of them, and each is used."""

import re
from pathlib import Path

from services.reason import Reason

SERVICES = Path(__file__).parents[2] / "services"


def test_each_name_is_given_somewhere() -> None:
    used = {name for file in SERVICES.glob("*.py") for name in re.findall(r"\bReason\.([A-Z_]+)", file.read_text())}
    assert used == set(Reason.__members__)
