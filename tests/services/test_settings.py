"""What the environment sets, and the sentence for a wrong value."""

import re
from pathlib import Path

import pytest

from services.app import limits_of, provider_of
from services.settings import BadSettings, Settings, load, table

README = Path(__file__).parent.parent.parent / "README.md"


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("PAWL_LISTEN", "9080", "HOST:PORT"),
        ("PAWL_METRICS", "9464", "HOST:PORT"),
        ("PAWL_LOG_LEVEL", "loud", "'debug'"),
        ("PAWL_IDENTITY_KEYS", '["publickeyv1_0"]', "services.identity make"),
        ("PAWL_MAX_TURNS", "many", "integer"),
        ("PAWL_MAX_TURNS", "0", "greater than or equal to 1"),
        ("PAWL_UNKNOWN", "retry", "'park' or 'tell'"),
        ("PAWL_ADMIN", "localhost:9070", "pattern"),
        ("PAWL_APPROVE_ABOVE_CENTS", "{a", "JSON"),
        ("PAWL_APPROVE_ABOVE_CENTS", '{"charge_card": "much"}', "integer"),
    ],
)
def test_a_wrong_value_is_one_sentence_that_names_the_setting(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, says: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(BadSettings) as caught:
        load()
    sentence = str(caught.value)
    assert sentence.startswith(name) and says in sentence and "\n" not in sentence


def test_a_secret_is_not_in_any_sentence_or_printout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAWL_MODEL_KEY", "sk-very-secret")
    monkeypatch.setenv("PAWL_RECEIVER_TOKEN", "tok-very-secret")
    assert "very-secret" not in f"{load()!r} {load()} {load().model_dump_json()}"


def test_a_provider_elsewhere_needs_a_key_and_a_local_one_does_not() -> None:
    with pytest.raises(BadSettings, match="PAWL_MODEL_KEY is missing"):
        provider_of(Settings(model_url="https://api.example.test/v1"))
    assert provider_of(Settings(model_url="http://127.0.0.1:1/v1")).key.get_secret_value() == "none"


def test_every_setting_has_a_sentence_and_a_default_that_fits() -> None:
    assert all(sentence.endswith((".", ". JSON")) and len(sentence) > 10 for _, _, sentence in table())
    assert limits_of(Settings()).turns == 50


def test_the_readme_names_only_settings_that_exist() -> None:
    named = set(re.findall(r"PAWL_[A-Z_]+[A-Z]", README.read_text()))
    assert named and named <= {name for name, _, _ in table()}
