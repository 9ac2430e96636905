"""The bytes that leave are fixed by their arguments alone."""

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tools.peer import answer, peer, wire_to
from tools.request import Request, canonical, get, part, post, put

WRITABLE = st.characters(exclude_categories=["Cs"])
SEGMENT = st.text(WRITABLE, min_size=1, max_size=20).filter(lambda s: s not in (".", ".."))


def test_equal_bodies_have_equal_bytes() -> None:
    assert post("/a", {"b": 1, "a": [1.5, "ä"]}).body == '{"a":[1.5,"ä"],"b":1}'.encode()
    assert post("/a", {"b": 1, "a": 2}) == post("/a", {"a": 2, "b": 1})


def test_the_digest_covers_everything_that_leaves() -> None:
    requests = [
        post("/a", {}),
        post("/b", {}),
        post("/a", {"x": 1}),
        put("/a", {}),
        put("/a", {}, "1"),
        put("/a", {}, "2"),
        get("/a"),
        get("/a", b=1),
        Request("POST", "/a", b"{}"),
    ]
    assert len({request.digest() for request in requests}) == len(requests)
    assert post("/a", {}).digest() == post("/a", {}).digest()


def test_the_digest_is_the_same_in_every_process() -> None:
    code = "from tools.request import post; print(post('/a', {'b': 1, 'a': 'ä'}).digest())"
    digests = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, check=True, capture_output=True, text=True
        ).stdout.strip()
        for seed in ("1", "2")
    }
    assert digests == {post("/a", {"b": 1, "a": "ä"}).digest()}


@settings(deadline=None)
@given(st.dictionaries(st.text(WRITABLE), st.text(WRITABLE)))
def test_a_request_comes_back_from_the_ledger_byte_for_byte(body: dict[str, str]) -> None:
    request = put("/a", dict(body), "7")
    assert Request.from_json(request.to_json()) == request
    assert Request.from_json(request.to_json()).digest() == request.digest()


@pytest.mark.parametrize(
    "data", [{}, {"method": "GET"}, {"method": "GET", "path": "/a", "body": "", "headers": [["a"]]}, {"method": 1}]
)
def test_anything_else_in_the_ledger_is_refused(data: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"written by to_json|pair of texts"):
        Request.from_json(data)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", ["", ".", ".."])
def test_a_part_that_would_name_another_path_is_refused(value: str) -> None:
    with pytest.raises(ValueError, match="part of an address"):
        part(value)


@pytest.mark.parametrize(
    "path", ["a", "", "/a b", "/ä", "/a#b", "/..", "/a/../b", "/a/%2E%2e", "/a/.", "/a/..?b", "/%zz", "/a\n"]
)
def test_a_path_that_a_client_would_rewrite_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="path"):
        Request("GET", path)


@pytest.mark.parametrize(
    "name", ["Idempotency-Key", "idempotency-key", "authorization", "host", "cookie", "content-length"]
)
def test_the_wires_headers_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r"wire's to set|lower-case"):
        Request("GET", "/a", headers=((name, "x"),))


@pytest.mark.parametrize("value", ["a\nb", "a\r\nx: y", "ä", "\x00"])
def test_a_header_that_would_start_another_is_refused(value: str) -> None:
    with pytest.raises(ValueError, match="printable"):
        put("/a", {}, value)


def test_a_version_with_a_quotation_mark_is_refused() -> None:
    with pytest.raises(ValueError, match="quotation"):
        put("/a", {}, 'a"b')


@pytest.mark.parametrize(
    "value, words", [(float("nan"), "JSON compliant"), (float("inf"), "JSON compliant"), ("\ud83d", "surrogates")]
)
def test_what_cannot_be_written_is_refused(value: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        canonical([value])  # type: ignore[list-item]


def test_a_method_is_one_of_https() -> None:
    with pytest.raises(ValueError, match="method"):
        Request("get it", "/a")


async def test_the_path_arrives_as_it_was_fixed() -> None:
    """The digest that was approved is of these bytes, so no client may touch them."""
    odd = "/a/!$&()*+,;=:@~-._/%C3%A4%2F%25%27?x=/?:@!$&()*+,;=~-._%20%2B%23&y"
    async with peer(answer()) as receiver, wire_to(receiver.url) as wire:
        await wire.send("receiver", Request("GET", odd), None, 5)
        assert receiver.seen[0].path == odd

        @settings(max_examples=100, deadline=None)
        @given(SEGMENT, st.text(WRITABLE))
        def paths(segment: str, query: str) -> None:
            request = get(f"/orders/{part(segment)}", q=query)
            assert str(wire_path(request)) == request.path

        paths()


def wire_path(request: Request) -> str:
    """The path as the transport writes it: httpx's URL, taken over by yarl as it is."""
    import httpx
    from yarl import URL

    return URL(str(httpx.Request("GET", f"http://127.0.0.1:1{request.path}").url), encoded=True).raw_path_qs


def test_the_query_is_sorted() -> None:
    assert get("/a", b=1, a="x y&").path == "/a?a=x%20y%26&b=1"
