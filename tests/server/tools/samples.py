"""Tools that authors might write and should not, and tools whose end a test decides."""

from tools import Tool

SAMPLES: tuple[Tool, ...] = ()
