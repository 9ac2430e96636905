"""The only reader of the wall clock.

Rule: called inside a step or outside a run, never in handler code, where a replay would read another time.
"""

import time


def wall_s() -> float:
    """Unix seconds."""
    return time.time()
