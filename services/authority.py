"""Whether an effect may leave: the grant covers it, and a person need not approve it first. Pure.

Rule: decided in code, before each effect and before each repeat in a further pass; the model has no say. Of several
bounds the strictest counts.
Must not know: where a grant comes from, which effects there have been.
"""

from collections.abc import Mapping

from services.messages import Grant, Intent
from tools.tool import Tool

ALWAYS = -1
"""An approval limit that every amount is above."""


def beyond(grant: Grant, tool: Tool, intent: Intent, moved_cents: int) -> str | None:
    """The sentence that refuses an intent, or None where the grant covers it. `moved_cents`: what the run's other
    effects have moved or may have moved."""
    if intent.amount_cents is None:
        return None
    # A tool may take an amount below zero. It moves money too, and makes no room for more.
    amount = abs(intent.amount_cents)
    if grant.currency is not None and intent.currency is None:
        return (
            f"{tool.name} was not run: this run may move {grant.currency} only, and {tool.name} does not say in which"
            " currency it moves money."
        )
    if grant.currency is not None and intent.currency != grant.currency:
        return f"{tool.name} was not run: this run may move {grant.currency} only, not {intent.currency}."
    if grant.each_cents is not None and amount > grant.each_cents:
        return f"{tool.name} was not run: {amount} cents is above the {grant.each_cents} that one effect may move."
    if grant.total_cents is not None and moved_cents + amount > grant.total_cents:
        left = max(0, grant.total_cents - moved_cents)
        return f"{tool.name} was not run: {amount} cents is above the {left} that this run may still move."
    return None


def approval_needed(tool: Tool, intent: Intent, grant: Grant, limits: Mapping[str, int]) -> str | None:
    """Why a person must approve, or None. `limits`: by the settings, per tool, the amount above which one must. The
    strictest of the tool's declaration, the settings and the grant counts."""
    amount = None if intent.amount_cents is None else abs(intent.amount_cents)
    bounds = [(amount, above[tool.name]) for above in (limits, grant.approve_above_cents) if tool.name in above]
    if tool.approval is not None:
        value = intent.arguments.get(tool.approval.argument) if tool.approval.argument else None
        above = tool.approval.above if tool.approval.above is not None and not tool.approval.always else ALWAYS
        bounds.append((value if isinstance(value, int) else None, above))
    for value, above in bounds:
        if above <= ALWAYS or value is None:
            return f"{tool.name} needs an approval each time"
        if value > above:
            return f"{value} is above the {above} that {tool.name} may move unasked"
    return None
