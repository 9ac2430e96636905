"""Structured logs on standard error: one JSON object a line.

Rule: nothing secret and no arguments of tools. Must not know: who logs what.
"""

import logging
import sys
from typing import Any

import structlog
from pydantic_core import to_json


def configure(level: str = "info") -> None:
    """From now on lines of `level` (debug, info, warning, error) and above are written. Once in a process."""
    number = logging.getLevelNamesMapping()[level.upper()]
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(number),
        cache_logger_on_first_use=True,
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(written),
        ],
        logger_factory=structlog.WriteLoggerFactory(file=sys.stderr),
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[structlog.stdlib.add_log_level, structlog.processors.TimeStamper(fmt="iso", utc=True)],
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.format_exc_info,
                structlog.processors.JSONRenderer(),
            ],
        )
    )
    logging.basicConfig(handlers=[handler], level=max(number, logging.WARNING), force=True)


def written(event: Any, **_: object) -> str:
    """A line is written for every step, so how long that takes counts."""
    return to_json(event, fallback=repr).decode()
