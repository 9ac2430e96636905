"""What the lab says when it cannot go on: one sentence for the person in front of it, and an exit code."""


class LabError(Exception):
    """The message is a whole sentence that says what is wrong and, where there is one, the way out."""

    exit_code = 1


class UsageError(LabError):
    """What was asked for cannot be done as asked; nothing was started."""

    exit_code = 2
