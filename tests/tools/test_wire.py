"""One exchange to one answer, over real sockets."""

import asyncio
import gzip
import json
import socket
import time
from contextlib import closing

import pytest

from tests.tools import peer as peers
from tests.tools.peer import Act, answer, in_turn, peer, wire_to
from tools.outcome import Done, Doubt, NotSent, Rejected, Unknown
from tools.request import Request, get, post, put
from tools.wire import Base, Wire

POST = post("/charges", {"amount_cents": 5})
READS_AND_WRITES = pytest.mark.parametrize(
    "request_", [get("/orders/1"), put("/customers/1", {}), POST], ids=["GET", "PUT", "POST"]
)


def free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def test_an_answer_is_done_with_its_id() -> None:
    async with peer(answer(201, {"id": "ch_1", "amount_cents": 5})) as receiver, wire_to(receiver.url) as wire:
        got = await wire.send("receiver", POST, "key-1", 5)
        assert got == Done({"id": "ch_1", "amount_cents": 5}, "ch_1")
        [seen] = receiver.seen
        assert (seen.method, seen.path, seen.body) == ("POST", "/charges", b'{"amount_cents":5}')
        assert seen.headers["idempotency-key"] == "key-1"
        assert seen.headers["content-type"] == "application/json"
        assert seen.headers["authorization"] == "Bearer secret"


async def test_a_request_without_a_key_has_no_key_header() -> None:
    async with peer(answer()) as receiver, wire_to(receiver.url) as wire:
        await wire.send("receiver", get("/orders/1"), None, 5)
        assert "idempotency-key" not in receiver.seen[0].headers


async def test_the_base_url_may_have_a_path() -> None:
    async with peer(answer()) as receiver, wire_to(receiver.url + "/api/v1/") as wire:
        await wire.send("receiver", get("/orders/1"), None, 5)
        assert receiver.seen[0].path == "/api/v1/orders/1"


@READS_AND_WRITES
async def test_refused_never_left(request_: Request) -> None:
    async with wire_to(f"http://127.0.0.1:{free_port()}") as wire:
        got = await wire.send("receiver", request_, "k", 5)
    assert isinstance(got, NotSent), got
    assert not got.last


async def test_a_name_that_does_not_resolve_never_left() -> None:
    async with wire_to("http://nobody.invalid:80") as wire:
        got = await wire.send("receiver", POST, "k", 5)
    assert isinstance(got, NotSent), got


async def test_a_connection_that_does_not_come_about_never_left() -> None:
    with closing(socket.socket()) as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(0)
        # Fill the backlog, so that the kernel answers no further connection.
        fillers = [socket.socket() for _ in range(4)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(deaf.getsockname())
        try:
            async with wire_to(f"http://127.0.0.1:{deaf.getsockname()[1]}", connect_s=0.2) as wire:
                assert isinstance(await wire.send("receiver", POST, "k", 5), NotSent)
            async with wire_to(f"http://127.0.0.1:{deaf.getsockname()[1]}", connect_s=5) as wire:
                assert isinstance(await wire.send("receiver", POST, "k", 0.2), NotSent)
        finally:
            for filler in fillers:
                filler.close()


async def test_a_server_that_speaks_no_tls_never_got_the_request() -> None:
    async with peer(answer()) as receiver, wire_to(receiver.url.replace("http:", "https:"), connect_s=0.3) as wire:
        assert isinstance(await wire.send("receiver", POST, "k", 5), NotSent)
        assert receiver.seen == []


@READS_AND_WRITES
@pytest.mark.parametrize("act", [peers.hang_up, peers.reset, peers.half, peers.gibberish])
async def test_a_connection_that_breaks_later_may_have_arrived_and_nothing_is_repeated(
    act: Act, request_: Request
) -> None:
    async with peer(act) as receiver, wire_to(receiver.url) as wire:
        got = await wire.send("receiver", request_, "k", 5)
        await asyncio.sleep(0.05)
        assert isinstance(got, Unknown), got
        assert got.doubt is Doubt.NO_ANSWER
        assert len(receiver.seen) == 1


@READS_AND_WRITES
@pytest.mark.parametrize("act", [peers.hang_up, peers.reset])
async def test_a_kept_connection_that_breaks_may_have_arrived_and_nothing_is_repeated(
    act: Act, request_: Request
) -> None:
    """Left to itself, aiohttp repeats GET and PUT here."""
    async with peer(in_turn(answer(), act)) as receiver, wire_to(receiver.url) as wire:
        assert isinstance(await wire.send("receiver", request_, "k", 5), Done)
        got = await wire.send("receiver", request_, "k", 5)
        await asyncio.sleep(0.05)
        assert isinstance(got, Unknown), got
        assert [seen.connection for seen in receiver.seen] == [0, 0]


async def test_a_fresh_request_does_not_use_a_kept_connection() -> None:
    async with peer(answer()) as receiver, wire_to(receiver.url) as wire:
        for _ in range(2):
            await wire.send("receiver", POST, "k", 5)
        for _ in range(2):
            await wire.send("receiver", POST, "k", 5, fresh=True)
        assert [seen.connection for seen in receiver.seen] == [0, 0, 1, 2]


@pytest.mark.parametrize("act", [peers.hang, peers.trickle])
async def test_the_whole_exchange_has_a_deadline(act: Act) -> None:
    async with peer(act) as receiver, wire_to(receiver.url) as wire:
        begun = time.monotonic()
        got = await wire.send("receiver", POST, "k", 0.3)
        assert isinstance(got, Unknown), got
        assert time.monotonic() - begun < 2
        assert len(receiver.seen) == 1


async def test_waiting_for_a_free_connection_never_left() -> None:
    async with peer(peers.hang) as receiver, wire_to(receiver.url, connections=1, connect_s=0.2) as wire:
        first, second = await asyncio.gather(
            wire.send("receiver", POST, "k1", 0.6), wire.send("receiver", POST, "k2", 0.6)
        )
        assert isinstance(first, Unknown)
        assert isinstance(second, NotSent)
        assert len(receiver.seen) == 1


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_not_followed(status: int) -> None:
    async with (
        peer(answer(200)) as elsewhere,
        peer(answer(status, location=elsewhere.url)) as receiver,
        wire_to(receiver.url) as wire,
    ):
        got = await wire.send("receiver", POST, "k", 5)
    assert isinstance(got, Unknown)
    assert elsewhere.seen == []


async def test_cookies_are_not_kept() -> None:
    async with peer(answer(set_cookie="a=b")) as receiver, wire_to(receiver.url) as wire:
        for _ in range(2):
            await wire.send("receiver", POST, "k", 5)
        assert receiver.seen[0] == receiver.seen[1]


async def test_proxies_and_netrc_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{free_port()}")
    monkeypatch.setenv("ALL_PROXY", f"http://127.0.0.1:{free_port()}")
    async with peer(answer()) as receiver, wire_to(receiver.url) as wire:
        assert isinstance(await wire.send("receiver", POST, "k", 5), Done)


async def test_a_large_answer_is_cut_and_says_so() -> None:
    body = json.dumps({"id": "x", "text": "ä" * 2_500_000}).encode()
    async with peer(answer(raw=body)) as receiver, wire_to(receiver.url) as wire:
        got = await wire.send("receiver", get("/orders"), None, 5)
        assert isinstance(got, Done)
        assert isinstance(got.value, str)
        assert f"{len(body):,} bytes in all; ask for less" in got.value
        assert len(json.dumps(got.value, ensure_ascii=False).encode()) <= 32_000
        # The connection was not read to its end, so the next request has another one.
        await wire.send("receiver", get("/orders"), None, 5)
        assert receiver.connections == 2


@pytest.mark.parametrize(
    "encoding, raw",
    [("gzip, gzip", gzip.compress(gzip.compress(b"{}"))), ("br", b"{}"), ("gzip", b"{}")],
    ids=["twice", "br", "wrongly"],
)
@pytest.mark.parametrize("status, kind", [(201, Done), (422, Rejected), (500, Unknown)])
async def test_a_body_that_cannot_be_unpacked_leaves_what_the_status_says(
    encoding: str, raw: bytes, status: int, kind: type
) -> None:
    async with peer(answer(status, raw=raw, content_encoding=encoding)) as receiver, wire_to(receiver.url) as wire:
        got = await wire.send("receiver", POST, "k", 5)
    assert isinstance(got, kind)
    assert "could not be read: it came packed as" in str(got)


async def test_a_packed_body_is_unpacked_up_to_the_limit() -> None:
    packed = gzip.compress(json.dumps({"id": "ch_1", "text": "x" * 100}).encode())
    act = in_turn(
        answer(raw=packed, content_encoding="gzip"),
        answer(raw=gzip.compress(b"x" * 50_000_000), content_encoding="gzip"),
    )
    async with peer(act) as receiver, wire_to(receiver.url) as wire:
        got = await wire.send("receiver", POST, "k", 5)
        assert isinstance(got, Done) and got.receiver_id == "ch_1"
        large = await wire.send("receiver", POST, "k", 5)
    assert isinstance(large, Done) and isinstance(large.value, str)
    assert "more than 1,048,5" in large.value


async def test_an_answer_beyond_the_value_limit_keeps_its_id() -> None:
    async with peer(answer(body={"text": "x" * 50_000, "id": "ch_9"})) as receiver, wire_to(receiver.url) as wire:
        got = await wire.send("receiver", POST, "k", 5)
    assert isinstance(got, Done)
    assert got.receiver_id == "ch_9"
    assert isinstance(got.value, str)


async def test_bytes_that_are_not_utf8_are_cleaned() -> None:
    raw = b'{"a": "\xff\\u0000\\ud83d", "b": 1e400, "c": NaN}'
    async with peer(answer(raw=raw)) as receiver, wire_to(receiver.url) as wire:
        got = await wire.send("receiver", get("/x"), None, 5)
    assert got == Done({"a": "\ufffd\ufffd\ufffd", "b": "Infinity", "c": "NaN"})


async def test_an_unknown_receiver_is_final_and_nothing_left() -> None:
    async with wire_to("http://127.0.0.1:1") as wire:
        got = await wire.send("elsewhere", POST, "k", 5)
    assert got == NotSent("no address is configured for the receiver 'elsewhere'", last=True)


async def test_after_the_end_nothing_leaves() -> None:
    async with peer(answer()) as receiver:
        async with wire_to(receiver.url) as wire:
            pass
        assert isinstance(await wire.send("receiver", POST, "k", 5), NotSent)
        assert receiver.connections == 0


async def test_the_end_leaves_a_doubt_about_what_is_under_way() -> None:
    async with peer(peers.hang) as receiver, wire_to(receiver.url) as wire:
        sending = asyncio.ensure_future(wire.send("receiver", POST, "k", 5))
        await receiver.arrived(1)
        await wire.aclose()
        assert isinstance(await sending, Unknown)


async def test_a_cancelled_send_is_raised_to_the_caller() -> None:
    async with peer(peers.hang) as receiver, wire_to(receiver.url) as wire:
        sending = asyncio.ensure_future(wire.send("receiver", POST, "k", 5))
        await receiver.arrived(1)
        sending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sending


@pytest.mark.parametrize("key", ["", "a b", "a\nb", "ä", "x" * 256])
async def test_a_key_that_is_no_header_is_a_bug(key: str) -> None:
    async with wire_to("http://127.0.0.1:1") as wire:
        with pytest.raises(ValueError, match="1 to 255"):
            await wire.send("receiver", POST, key, 5)


async def test_a_receiver_may_override_the_wires_own_headers() -> None:
    async with peer(answer()) as receiver:
        wire = Wire({"receiver": Base(receiver.url, (("user-agent", "shop/1"),))})
        await wire.send("receiver", POST, "k", 5)
        await wire.aclose()
    assert receiver.seen[0].headers["user-agent"] == "shop/1"
    assert receiver.seen[0].headers["accept"] == "application/json"


async def test_a_host_that_cannot_be_written_never_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Base, "__post_init__", lambda _: None)
    for url in ("http://a..b", "http://127.0.0.1:70000", "gopher://a"):
        async with wire_to(url) as wire:
            assert isinstance(await wire.send("receiver", POST, "k", 2), NotSent)


async def test_load_imports_the_client() -> None:
    await asyncio.to_thread(Wire.load)
