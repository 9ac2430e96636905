"""What waits for room in a rate, and what becomes of a move that had to wait."""

from dataclasses import replace

import pytest

from services.bucket import Rate
from services.calls import Call
from services.ledger import Go, Read
from services.messages import Intent, IntentState
from services.moves import Caps, LookUp, Move, Progress, Seal, Send, Settled, Wait
from services.pace import later, rate_of
from services.progress import begin
from services.rate import Room
from tests.services.test_deadlines import report
from tools import TOOLS, registry
from tools.tool import Tool

TOOLSET = registry(TOOLS)
READ, SET, KEYED = TOOLSET["look_up_order"], TOOLSET["update_crm"], TOOLSET["charge_card"]
RATE = Rate(name="receiver", per_s=2)
T0 = 1_000.0


def progress(tool: Tool) -> Progress:
    call = Call(1, 0, "id", tool.name, {}, None)
    if tool in (READ, report):
        return begin(call, Read(tool, {}), Caps(), T0)[0]
    intent = Intent(
        key="key", tool=tool.name, effect=tool.effect.value, identity={}, occurrence=1, arguments={}, pass_number=1,
        turn=1, index=0, state=IntentState.ARMED, digest="", size_bytes=0,
    )  # fmt: skip
    return replace(begin(call, Go(tool, intent), Caps(), T0)[0], sealed_at=T0)


@pytest.mark.parametrize(
    ("tool", "move", "limited"),
    [
        (READ, Send(), True),
        (KEYED, Seal(IntentState.ARMED), True),
        (KEYED, Send(), True),
        (KEYED, LookUp(), True),
        (KEYED, Seal(IntentState.WAITING), False),
        (KEYED, Settled(""), False),
        (KEYED, Wait(1, Send(), ""), False),
        (KEYED, None, False),
        (report, Send(), False),
    ],
)
def test_only_what_leaves_for_a_limited_receiver_needs_room(tool: Tool, move: Move | None, limited: bool) -> None:
    assert rate_of(progress(tool), move, {}) is None
    assert rate_of(progress(tool), move, {"other": RATE}) is None
    assert rate_of(progress(tool), move, {"receiver": RATE}) == (RATE if limited else None)


@pytest.mark.parametrize(
    ("tool", "move", "wait_s", "then"),
    [
        (READ, Send(), 0.0, None),
        (READ, Send(), 60.0, Send()),
        (KEYED, Seal(IntentState.ARMED), 60.0, Seal(IntentState.ARMED)),
        (KEYED, Send(), 2.0, Send()),
        (KEYED, Send(), 60.0, Seal(IntentState.ARMED)),
        # A write is not repeated after its send deadline; that it is over is said when it would leave.
        (SET, Send(), 60.0, Send()),
        (KEYED, LookUp(), 60.0, LookUp()),
    ],
)
def test_a_send_that_waited_longer_than_its_seal_holds_is_sealed_anew(
    tool: Tool, move: Seal | Send | LookUp, wait_s: float, then: Move | None
) -> None:
    after = later(progress(tool), move, Room(wait_s=wait_s, at=T0), RATE)
    if then is None:
        assert after == move
    else:
        assert isinstance(after, Wait)
        assert (after.seconds, after.then) == (wait_s, then)
        assert "no more than 2 requests a second may go to the receiver" in after.reason
