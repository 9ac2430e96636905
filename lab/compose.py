"""x."""

from lab.show import Show


def compose_test(show: Show) -> int:
    return 1
