"""The benchmark's model and receiver: bytes in, bytes out; the script; each key once; what is held."""

import asyncio
import json
from typing import Any

import pytest

from lab.bench import jobs
from lab.bench.mock import Mock
from lab.bench.wire import Answer, Connection, Incoming
from lab.bench.world import World

CHARGE = b'{"customer_id": "cus_a1x", "amount_cents": 4900}'


def chat(*messages: dict[str, Any]) -> Incoming:
    return Incoming("POST", "/v1/chat/completions", "", json.dumps({"messages": messages}).encode())


def user(task: str) -> dict[str, Any]:
    return {"role": "user", "content": task}


def message_of(answer: Answer) -> dict[str, Any]:
    return dict(json.loads(answer.body)["choices"][0]["message"])


def test_a_task_names_its_job_and_its_tag() -> None:
    for job in (jobs.SHORT, jobs.long(200)):
        assert jobs.asked(job.task("a1x")) == (job, "a1x")
    assert jobs.asked("bench something else") is None
    assert jobs.SHORT.steps == 5 and jobs.long(200).effects == ("email",) * 200


@pytest.mark.parametrize("job", [jobs.SHORT, jobs.long(3)])
def test_the_model_asks_for_what_the_ledger_must_show(job: jobs.Job) -> None:
    world, messages, applied = World(), [user(job.task("a1x"))], []
    for turn in range(job.turns + 1):
        message = message_of(world.serve(chat(*messages))[0])
        messages.append(message)
        for call in message.get("tool_calls", ()):
            path = {"charge_card": "/charges", "send_email": "/emails"}[call["function"]["name"]]
            body = call["function"]["arguments"].encode()
            assert jobs.tag_in(body) == "a1x"
            _, made = world.serve(Incoming("POST", path, f"key-{turn}", body))
            assert made is not None
            applied.append(made.what)
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": "{}"})
    assert tuple(applied) == job.effects
    assert "tool_calls" not in messages[-1]
    if job.kind == "long":
        assert len(messages[1]["content"]) == jobs.REPLY_BYTES


def test_a_key_is_applied_once_and_answered_again() -> None:
    world = World()
    first, again = (world.serve(Incoming("POST", "/charges", "k", CHARGE)) for _ in range(2))
    assert first[0].status == 201 and not first[0].replayed
    assert again[0].body == first[0].body and again[0].replayed
    assert [row["applied"] for row in json.loads(world.serve(Incoming("GET", "/rows?after=0", "", b""))[0].body)] == [
        True,
        False,
    ]
    assert world.serve(Incoming("POST", "/charges", "k", CHARGE.replace(b"4900", b"5900")))[0].status == 422


def test_without_a_key_everything_is_applied() -> None:
    world = World()
    rows = [world.serve(Incoming("POST", "/charges", "", CHARGE))[1] for _ in range(2)]
    assert all(row is not None and row.applied for row in rows)


def test_what_it_does_not_know_is_refused() -> None:
    assert World().serve(chat(user("hello")))[0].status == 400
    assert World().serve(chat())[0].status == 400
    assert World().serve(Incoming("GET", "/nothing", "", b""))[0].status == 404


class Client:
    """A connection to a served protocol, over a real socket."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def answer(self) -> tuple[int, bytes]:
        head = await self.reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].split(b"\r")[0])
        return int(head.split()[1]), await self.reader.readexactly(length)


async def served(mock: Mock) -> tuple[asyncio.Server, Client]:
    server = await asyncio.get_running_loop().create_server(lambda: Connection(mock.serve), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    return server, Client(*await asyncio.open_connection("127.0.0.1", port))


def raw(method: str, path: str, body: bytes = b"", *headers: str) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: x", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


async def test_requests_come_whole_in_pieces_and_several_at_once() -> None:
    server, client = await served(Mock(World()))
    sent = raw("POST", "/charges", CHARGE, "Idempotency-Key: k") + raw("GET", "/health")
    for at in range(len(sent)):
        client.writer.write(sent[at : at + 1])
        await client.writer.drain()
    assert (await client.answer())[0] == 201
    assert await client.answer() == (200, b"{}")
    client.writer.write(sent + sent)
    assert [(await client.answer())[0] for _ in range(4)] == [201, 200, 201, 200]
    client.writer.close()
    server.close()


async def test_a_body_of_unknown_length_is_refused_and_the_connection_closed() -> None:
    server, client = await served(Mock(World()))
    client.writer.write(b"POST /charges HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
    assert (await client.answer())[0] == 411
    assert await client.reader.read() == b""
    client.writer.close()
    server.close()


async def test_an_answer_is_held_once_its_effect_is_applied() -> None:
    world = World()
    server, client = await served(Mock(world))
    other = Client(*await asyncio.open_connection("127.0.0.1", server.sockets[0].getsockname()[1]))
    hold = json.dumps({"what": "charge", "tag": "a1x"}).encode()
    other.writer.write(raw("POST", "/hold", hold))
    assert (await other.answer())[0] == 200
    client.writer.write(raw("POST", "/charges", CHARGE))
    while True:
        other.writer.write(raw("GET", "/held"))
        if json.loads((await other.answer())[1])["held"] == 1:
            break
    assert len(json.loads(world.serve(Incoming("GET", "/rows?after=0", "", b""))[0].body)) == 1
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(client.reader.read(1), 0.05)
    other.writer.write(raw("POST", "/charges", CHARGE))
    assert (await other.answer())[0] == 201, "only one was to be held"
    other.writer.write(raw("POST", "/release"))
    assert (await other.answer())[0] == 200
    assert (await client.answer())[0] == 201
    for each in (client, other):
        each.writer.close()
    server.close()


async def test_a_client_that_has_gone_is_not_answered() -> None:
    mock = Mock(World())
    server, client = await served(mock)
    mock.serve(Incoming("POST", "/hold", "", json.dumps({"what": "charge", "tag": "a1x"}).encode()))
    client.writer.write(raw("POST", "/charges", CHARGE))
    while True:
        await asyncio.sleep(0.01)
        held = mock.serve(Incoming("GET", "/held", "", b""))
        assert isinstance(held, Answer)
        if json.loads(held.body)["held"] == 1:
            break
    client.writer.close()
    await asyncio.sleep(0.05)
    released = mock.serve(Incoming("POST", "/release", "", b""))
    assert isinstance(released, Answer) and released.status == 200
    server.close()
