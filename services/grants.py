"""What a run may do: the operator's grant, narrowed by what the request asks for. Pure.

Rule: the operator's grant is authority. A request takes away from it, field by field, and never adds to it; what the
request leaves out is as the operator has set it. A name that no tool has is an error, because a bound on it would bind
nothing.
Must not know: where a grant comes from, what becomes of an effect that it does not cover.
"""

from collections.abc import Collection

from services.messages import Grant

NAME_CHARS_SHOWN = 64
"""A tool's name is no longer; of what somebody has written in its place no more is said back."""


def narrowed(grant: Grant, asked: Grant | None) -> Grant:
    """The operator's grant, or the request's where that is stricter. Two currencies leave nothing that may be moved."""
    if asked is None:
        return grant
    two = grant.currency is not None and asked.currency is not None and grant.currency != asked.currency
    nothing = 0 if two else None
    above = (*grant.approve_above_cents.items(), *asked.approve_above_cents.items())
    bounds: dict[str, int] = {}
    for name, cents in above:
        bounds[name] = min(cents, bounds.get(name, cents))
    return Grant(
        tools=in_both(grant.tools, asked.tools),
        each_cents=least(grant.each_cents, asked.each_cents, nothing),
        total_cents=least(grant.total_cents, asked.total_cents, nothing),
        currency=asked.currency if grant.currency is None else grant.currency,
        approve_above_cents=bounds,
    )


def in_both(one: tuple[str, ...] | None, other: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """The names that are in both; None stands for all."""
    if one is None or other is None:
        return other if one is None else one
    return tuple(name for name in one if name in other)


def least(*bounds: int | None) -> int | None:
    """The lowest bound; None where there is none."""
    return min((bound for bound in bounds if bound is not None), default=None)


def closed(grant: Grant, tools: Collection[str]) -> Grant:
    """The grant for the tools that there are. A bound on a tool that is gone holds for every tool that has none of its
    own: it may be the same one by another name, in a pass that begins after a new version."""
    lost = [cents for name, cents in grant.approve_above_cents.items() if name not in tools]
    if not lost:
        return grant
    bounds = {**dict.fromkeys(tools, min(lost)), **grant.approve_above_cents}
    return grant.model_copy(update={"approve_above_cents": bounds})


def misnamed(grant: Grant | None, tools: Collection[str]) -> str:
    """What a grant names that is not there, as a sentence that begins with the field; empty where all is there."""
    if grant is None:
        return ""
    fields = {"grant.tools": grant.tools or (), "grant.approve_above_cents": grant.approve_above_cents}
    said = {field: no_such_tool(names, tools) for field, names in fields.items()}
    return "; ".join(f"{field}: {sentence}" for field, sentence in said.items() if sentence)


def no_such_tool(names: Collection[str], tools: Collection[str]) -> str:
    """Says the first name that no tool has, and which tools there are; empty where each name is a tool's."""
    strange = next((name for name in names if name not in tools), None)
    if strange is None:
        return ""
    return f"there is no tool {strange[:NAME_CHARS_SHOWN]!r}; there are {', '.join(tools) or 'none'}"
