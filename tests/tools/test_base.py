"""What cannot work is refused when it is made, with one sentence."""

import pytest

from tools.wire import Base, Sizes


@pytest.mark.parametrize(
    "url",
    [
        "127.0.0.1:80",
        "ftp://a",
        "http://",
        "http://u:p@a",
        "http://a?b=c",
        "http://a\n",
        "http://a..b",
        "http://" + "a" * 64,
        "http://a:70000",
        "http://a:0",
    ],
)
def test_an_address_that_cannot_work_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="address"):
        Base(url)


@pytest.mark.parametrize("header", [("Authorization", "x"), ("authorization", "x\n"), ("a b", "x"), ("", "x")])
def test_a_header_that_cannot_be_sent_is_refused_without_its_value(header: tuple[str, str]) -> None:
    with pytest.raises(ValueError, match="header") as caught:
        Base("http://a", (header,))
    assert repr(header[1]) not in str(caught.value)


def test_secrets_are_not_shown() -> None:
    assert "secret" not in repr(Base("http://a", (("authorization", "Bearer secret"),)))


@pytest.mark.parametrize("sizes", [{"connect_s": 0}, {"connections": -1}, {"value_bytes": 10}])
def test_limits_that_cannot_work_are_refused(sizes: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="must be"):
        Sizes(**sizes)
