"""JSON as the standard has it: Python's reader also takes NaN and Infinity, which real receivers refuse."""

import json
from typing import Any, NoReturn


def parse_object(raw: bytes | str) -> dict[str, Any] | None:
    """The JSON object in `raw`; None where it is anything else."""
    try:
        value = json.loads(raw, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
