"""A look-up counts only where it is about this very key."""

from collections.abc import Callable

import pytest
from pydantic import JsonValue

from tests.tools import peer as peers
from tests.tools.peer import Act, answer, peer, wire_to
from tools.charge_card import charge_card
from tools.lookup import Lookup, find_by_key, find_by_reference
from tools.outcome import Done, Doubt, Found, NotFound, NotSent, Rejected, Unknown
from tools.reply import Reply
from tools.request import get
from tools.send_sms import send_sms
from tools.update_crm import update_crm

ARGUMENTS: dict[str, JsonValue] = {"customer_id": "cus_1", "amount_cents": 5, "currency": "EUR", "memo": ""}


async def found(act: Act, key: str = "k1") -> Found:
    async with peer(act) as receiver, wire_to(receiver.url) as wire:
        return await charge_card.look_up(wire, key, ARGUMENTS)


async def test_it_asks_with_the_key_in_the_query_and_no_key_of_its_own() -> None:
    async with peer(answer(body={"data": []})) as receiver, wire_to(receiver.url) as wire:
        await charge_card.look_up(wire, "k 1", ARGUMENTS)
        assert receiver.seen[0].path == "/charges?key=k%201"
        assert "idempotency-key" not in receiver.seen[0].headers
    assert find_by_reference("/transfers").build("k1", to_account="x") == get("/transfers", reference="k1")


async def test_found_is_done_with_its_object() -> None:
    row: dict[str, JsonValue] = {"id": "ch_1", "reference": "k1"}
    assert await found(answer(body={"data": [row]})) == Done(row, "ch_1")


async def test_an_empty_list_is_not_found() -> None:
    assert isinstance(await found(answer(body={"data": []})), NotFound)


OTHERS: list[JsonValue] = [{"id": "ch_1", "reference": "other"}, {"id": "ch_2", "key": "other"}, "ch_3"]
NAMELESS: list[JsonValue] = [{"id": "ch_5"}, {"id": "ch_6", "reference": None}, {"id": "ch_7", "key": ""}]


async def test_ours_is_found_among_objects_of_others() -> None:
    row: JsonValue = {"id": "ch_4", "key": "k1"}
    assert await found(answer(body={"data": [*OTHERS, *NAMELESS, row], "has_more": True})) == Done(row, "ch_4")
    both: JsonValue = {"id": "ch_8", "key": "other", "reference": "k1"}
    assert await found(answer(body={"data": [both]})) == Done(both, "ch_8")


@pytest.mark.parametrize("row", [*OTHERS, *NAMELESS, {"id": "ch_9", "reference": ["k1"]}, {"id": "k1"}])
async def test_what_does_not_name_the_key_is_neither_ours_nor_shows_that_ours_is_not_there(row: JsonValue) -> None:
    """An API that does not know the parameter lists everything, and rarely all of it."""
    got = await found(answer(body={"data": [row]}))
    assert isinstance(got, Unknown)
    assert got.doubt is Doubt.JUDGED


@pytest.mark.parametrize(
    "beside", [{"has_more": True}, {"next": "/charges?after=1"}, {"next_cursor": "c"}, {"nextPageToken": "t"}]
)
async def test_a_list_that_goes_on_does_not_show_that_ours_is_not_there(beside: dict[str, object]) -> None:
    assert isinstance(await found(answer(body={"data": [], **beside})), Unknown)
    link = answer(body={"data": []}, link='</charges?page=2>; rel="next"')
    assert isinstance(await found(link), Unknown)
    ended = {"has_more": False, "next": None, "next_cursor": ""}
    assert isinstance(await found(answer(body={"data": [], **ended})), NotFound)


def listed(lookup: Lookup, *rows: JsonValue) -> Found:
    return lookup.judge(Reply(200, body={"data": list(rows)}, key="k1"))


@pytest.mark.parametrize("find", [find_by_key, find_by_reference])
def test_a_filter_is_trusted_where_the_tool_says_so_and_nothing_speaks_against_it(
    find: Callable[..., Lookup],
) -> None:
    trusting = find("/x", trusts_filter=True)
    assert listed(trusting, {"id": "ch_5"}) == Done({"id": "ch_5"}, "ch_5")
    assert listed(trusting, {"id": "ch_5"}, {"id": "ch_6", "key": "k1"}) == Done({"id": "ch_6", "key": "k1"}, "ch_6")
    assert isinstance(listed(trusting), NotFound)
    assert isinstance(listed(trusting, {"id": "ch_5"}, {"id": "ch_1", "key": "other"}), Unknown)
    assert isinstance(listed(trusting, "ch_3"), Unknown)


@pytest.mark.parametrize("find", [find_by_key, find_by_reference])
def test_a_tool_may_say_which_fields_name_the_key(find: Callable[..., Lookup]) -> None:
    row: JsonValue = {"id": "ch_1", "client_ref": "k1", "reference": "an order of theirs"}
    assert isinstance(listed(find("/x"), row), Unknown)
    assert listed(find("/x", named_by=("client_ref",)), row) == Done(row, "ch_1")


@pytest.mark.parametrize("find", [find_by_key, find_by_reference])
def test_a_tool_may_read_what_became_of_its_object(find: Callable[..., Lookup]) -> None:
    def failed(row: JsonValue) -> Found:
        return Rejected("it failed", value=row)

    row: JsonValue = {"id": "ch_1", "key": "k1", "status": "failed"}
    assert listed(find("/x"), row) == Done(row, "ch_1")
    assert listed(find("/x", read=failed), row) == Rejected("it failed", value=row)
    assert isinstance(listed(find("/x", read=failed), {"id": "ch_2", "key": "other"}), Unknown)


@pytest.mark.parametrize("body", [None, [], {}, {"data": {}}, "text", {"data": None}])
async def test_an_answer_of_another_shape_says_nothing(body: object) -> None:
    got = await found(answer(body=body))
    assert isinstance(got, Unknown)
    assert got.doubt is Doubt.JUDGED


@pytest.mark.parametrize("status", [400, 401, 404, 405, 409, 410, 412, 500, 503, 301])
async def test_another_status_says_nothing(status: int) -> None:
    """A route that does not exist must not mean that the effect does not."""
    assert isinstance(await found(answer(status, {"error": {"code": "x", "message": "m"}})), Unknown)


async def test_a_look_up_that_is_turned_away_may_ask_again() -> None:
    assert await found(answer(429, retry_after="3")) == NotSent("the receiver gave no reason (HTTP 429)", 3)


@pytest.mark.parametrize("act", [peers.hang_up, peers.half])
async def test_a_look_up_that_breaks_says_nothing(act: Act) -> None:
    assert isinstance(await found(act), Unknown)


async def test_a_look_up_that_did_not_leave_says_so() -> None:
    async with wire_to("http://127.0.0.1:1") as wire:
        assert isinstance(await charge_card.look_up(wire, "k", ARGUMENTS), NotSent)


async def test_a_judge_or_a_builder_that_fails_says_nothing() -> None:
    def broken(*_: object, **__: object) -> Found:
        raise KeyError("data")

    async with peer(answer()) as receiver, wire_to(receiver.url) as wire:
        got = await wire.look_up("receiver", get("/x"), "k", 5, broken)
        assert isinstance(got, Unknown)
        assert got.doubt is Doubt.JUDGED
        bad: dict[str, JsonValue] = {"customer_id": ".."}
        assert isinstance(await update_crm.look_up(wire, "k", bad), Unknown)
        assert len(receiver.seen) == 1


async def test_a_tool_without_a_look_up_says_nothing() -> None:
    async with wire_to("http://127.0.0.1:1") as wire:
        assert isinstance(await send_sms.look_up(wire, "k", {}), Unknown)


@pytest.mark.parametrize(
    "reply, kind",
    [
        (Reply(200, body={"last_key": "k1"}, key="k1"), Done),
        (Reply(200, body={"last_key": "k0"}, key="k1"), NotFound),
        (Reply(200, body={"last_key": None}, key="k1"), NotFound),
        (Reply(404, body={}, key="k1"), NotFound),
        (Reply(200, body={}, key="k1"), Unknown),
        (Reply(200, body="text", key="k1"), Unknown),
        (Reply(204, key="k1"), Unknown),
    ],
)
def test_the_records_last_key_tells_whose_write_it_was(reply: Reply, kind: type) -> None:
    assert isinstance(update_crm.find, Lookup)
    assert isinstance(update_crm.find.judge(reply), kind)


async def test_a_judge_may_say_that_it_was_refused() -> None:
    async with peer(answer()) as receiver, wire_to(receiver.url) as wire:
        got = await wire.look_up("receiver", get("/x"), "k", 5, lambda _: Rejected("declined"))
    assert got == Rejected("declined")
