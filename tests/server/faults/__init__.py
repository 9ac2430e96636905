"""Every fault of these tests, in the order in which they are brought."""

from tests.server.faults import answers, around, freezes, kills
from tests.server.faults.known import FAULTS, Cells, Known

__all__ = ["FAULTS", "Cells", "Known", "answers", "around", "freezes", "kills"]
