"""What the environment sets, and the sentence for a wrong value."""

import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from services.app import limits_of, outside, provider_of
from services.bucket import Rate
from services.busy import Busy
from services.limits import Limits
from services.messages import Grant
from services.provider import Provider
from services.settings import BadSettings, Settings, load, strangers, table

ROOT = Path(__file__).parent.parent.parent
TEXTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


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
        ("PAWL_ADMIN", "localhost:9070", "begins with http:// or https://, 'localhost:9070' does not. ("),
        ("PAWL_INGRESS", "http://[::1", "'http://[::1' is no address: "),
        ("PAWL_MODEL_URL", "http://", "'http://' names no host. ("),
        ("PAWL_WEBHOOK_URL", "https:///hook", "names no host"),
        ("PAWL_OTEL", "http://a b", "names no host"),
        ("PAWL_RECEIVER_URL", "http://payments:70000", "names no port"),
        ("PAWL_APPROVE_ABOVE_CENTS", "{a", "JSON"),
        ("PAWL_APPROVE_ABOVE_CENTS", '{"charge_card": "much"}', "integer"),
        ("PAWL_GRANT_TOOLS", "charge_card", "JSON"),
        ("PAWL_GRANT_TOOLS", '"charge_card"', "tuple"),
        ("PAWL_GRANT_CURRENCY", "eur", "three capital letters"),
        ("PAWL_GRANT_TOTAL_CENTS", "-1", "greater than or equal to 0"),
        ("PAWL_MODEL_RATE", "fast", "requests per second"),
        ("PAWL_RECEIVER_RATE", "-1", "requests per second"),
        ("PAWL_MODEL_DEADLINE_S", "nan", "finite"),
        ("PAWL_MAX_WALL_S", "inf", "finite"),
        ("PAWL_RETENTION_S", "inf", "finite"),
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


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PAWL_MODEL_KEY", "two words"),
        ("PAWL_MODEL_URL", "http://user:word@127.0.0.1/v1"),
        ("PAWL_MODEL_FIELDS_ADDED", '{"messages": []}'),
        ("PAWL_MODEL_FIELDS_ADDED", '{"temperature": NaN}'),
        ("PAWL_MODEL_FIELDS_ADDED", '{"stop": "\\ud800"}'),
        ("PAWL_MODEL_URL", "http://127.0.0.1:abc/v1"),
        ("PAWL_RECEIVER_URL", "http://"),
        ("PAWL_RECEIVER_TOKEN", "t\u00f6ken"),
        ("PAWL_MODEL_RATE", "0"),
        ("PAWL_RECEIVER_RATE", "5,0"),
        ("PAWL_WEBHOOK_URL", "http://:1/x"),
        ("PAWL_GRANT_TOOLS", '["chargecard"]'),
        ("PAWL_APPROVE_ABOVE_CENTS", '{"chargecard": 1}'),
    ],
)
def test_what_only_the_composition_sees_is_wrong_is_a_sentence_too(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv("PAWL_MODEL_KEY", "sk-1")
    monkeypatch.setenv(name, value)
    with pytest.raises(BadSettings) as caught:
        outside(load(), Busy())
    sentence = str(caught.value)
    assert sentence.startswith(name) and "\n" not in sentence and "word" not in sentence.removeprefix(name)


def test_what_is_set_for_the_provider_reaches_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert provider_of(Settings()) == Provider()
    monkeypatch.setenv("PAWL_MODEL_CUT_REASONS", '["full"]')
    monkeypatch.setenv("PAWL_MODEL_FILTER_REASONS", '["nope"]')
    monkeypatch.setenv("PAWL_MODEL_WAIT_BUDGET_S", "60")
    monkeypatch.setenv("PAWL_MODEL_MAX_OUTPUT_FIELD", "max_completion_tokens")
    monkeypatch.setenv("PAWL_MODEL_RATE", "0.5,3")
    shared = outside(load(), Busy())
    provider = shared.provider
    assert (provider.cut_reasons, provider.filter_reasons) == (("full",), ("nope",))
    assert (provider.wait_budget_s, provider.max_output_field) == (60, "max_completion_tokens")
    assert shared.rates == {"model": Rate(name="model mock", per_s=0.5, burst=3)}


def test_a_tool_that_is_not_there_is_named_with_those_that_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAWL_APPROVE_ABOVE_CENTS", '{"charge_card": 1, "chargecard": 1}')
    with pytest.raises(BadSettings, match="no tool 'chargecard'; there are look_up_order, update_crm, charge_card"):
        outside(load(), Busy())


def test_the_grant_that_is_set_is_every_run_s(monkeypatch: pytest.MonkeyPatch) -> None:
    assert outside(load(), Busy()).grant == Grant()
    monkeypatch.setenv("PAWL_GRANT_TOOLS", '["charge_card"]')
    monkeypatch.setenv("PAWL_GRANT_EACH_CENTS", "500")
    monkeypatch.setenv("PAWL_GRANT_TOTAL_CENTS", "900")
    monkeypatch.setenv("PAWL_GRANT_CURRENCY", "EUR")
    granted = Grant(tools=("charge_card",), each_cents=500, total_cents=900, currency="EUR")
    assert outside(load(), Busy()).grant == granted
    monkeypatch.setenv("PAWL_GRANT_TOOLS", "[]")
    assert outside(load(), Busy()).grant.tools == ()


SET_TO: dict[str, Any] = {
    "model_url": "http://127.0.0.1:1/v1",
    "model_key": SecretStr("sk-1"),
    "model_name": "other",
    "model_parallel_calls": True,
    "model_keep_unknown": False,
    "model_echo_empty": "omit",
    "model_max_output_field": "max_completion_tokens",
    "model_cut_reasons": ("full",),
    "model_filter_reasons": ("nope",),
    "model_fields_added": {"seed": 7},
    "on_limit": "ask",
}
"""Values that are nobody's default; every other setting gets a number."""
OWN = {"model_rate"}


@pytest.mark.parametrize("model", [Provider, Limits], ids=["provider", "limits"])
def test_each_setting_of_the_model_and_the_limits_reaches_it(model: type[Provider | Limits]) -> None:
    beginnings = ("model_",) if model is Provider else ("max_", "result_", "history_", "on_limit")
    names = {name for name in Settings.model_fields if name.startswith(beginnings)} - OWN
    values = {name: SET_TO.get(name, 4_321) for name in names}
    settings = Settings.model_validate(values)
    made = provider_of(settings) if model is Provider else limits_of(settings)
    default = model()
    changed = {name for name in model.model_fields if getattr(made, name) != getattr(default, name)}
    assert len(changed) == len(names) >= 9


def test_help_says_of_a_limit_what_the_model_of_the_limits_says() -> None:
    sentences = {name: sentence for name, _, sentence in table()}
    assert sentences["PAWL_MAX_TURNS"] == Limits.model_fields["turns"].description
    assert sentences["PAWL_HISTORY_BYTES"] == Limits.model_fields["history_bytes"].description
    assert sentences["PAWL_MODEL_DEADLINE_S"] == Provider.model_fields["deadline_s"].description
    assert sentences["PAWL_MODEL_CUT_REASONS"] == f"{Provider.model_fields['cut_reasons'].description} A JSON list."
    assert provider_of(Settings()) == Provider() and limits_of(Settings()) == Limits()


def test_every_setting_has_a_sentence_and_a_default_that_fits() -> None:
    assert all(sentence.endswith((".", ". JSON")) and len(sentence) > 10 for _, _, sentence in table())


def test_a_name_that_is_misspelt_is_told_with_the_one_that_was_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PAWL_MODL_URL", "PAWL_ZZZ", "PAWL_MODEL_URL", *OTHER_NAMES):
        monkeypatch.setenv(name, "http://secret")
    for name in ("PAWL_SERVICE_HOST", "PAWL_SERVICE_PORT_HTTP", "PAWL_PORT_9080_TCP_ADDR", "PAWL_WORKER_PORT"):
        monkeypatch.setenv(name, "10.0.0.1")
    assert strangers() == [
        "PAWL_MODL_URL is set and is no setting; PAWL_MODEL_URL is one",
        "PAWL_ZZZ is set and is no setting",
    ]


# Of the containers, not of the worker.
OTHER_NAMES = {
    name
    for compose in ROOT.glob("docker-compose*.yml")
    for name in re.findall(r"\$\{(PAWL_[A-Z_]+[A-Z])", compose.read_text())
}


@pytest.mark.parametrize("text", TEXTS, ids=lambda path: path.name)
def test_texts_name_only_settings_that_exist(text: Path) -> None:
    named = set(re.findall(r"PAWL_[A-Z_]+[A-Z]", text.read_text()))
    assert named <= {name for name, _, _ in table()} | OTHER_NAMES


def test_the_readme_names_settings() -> None:
    assert "PAWL_MODEL_URL" in TEXTS[0].read_text()
