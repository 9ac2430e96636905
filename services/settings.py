"""The settings of the worker and its commands: the only reader of the environment.

Rule: every setting has a name (`PAWL_` and the field in capitals), a default and a sentence. A wrong value is one
sentence that names the setting; secrets are never printed.
What a model of the service says of a field already (default, bounds, why) is taken from there.
Must not know: how any setting is used.
"""

import difflib
import json
import os
import re
from copy import copy
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, JsonValue, SecretStr, StringConstraints, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict, SettingsError

from services.addresses import address_fault
from services.limits import Limits
from services.provider import Provider
from services.vault import Vault

PREFIX = "PAWL_"
IDENTITY = r"^publickeyv1_[1-9A-HJ-NP-Za-km-z]{32,44}$"
HOST_PORT = r"^[^\s:/]+:\d{1,5}$"
RATE = r"^\d{1,6}(\.\d{1,6})?(,\d{1,6})?$"
CURRENCY = r"^[A-Z]{3}$"
RATE_WORDS = "must be requests per second, and after a comma how many at once"
OF_OTHERS = re.compile(
    r"PAWL_(RELEASE|OLD_RELEASE|WORKERS|PARTITIONS|ENV_FILE|RESTATE_\w+|CALLS_PER_CONNECTION)"
    r"|PAWL_\w*(SERVICE_HOST|PORT)(_\w+)?"
)
"""Names that the compose files read, and those that Kubernetes gives each container for a service named pawl."""
WORDS = {
    "listen": "must be HOST:PORT",
    "metrics": "must be HOST:PORT",
    "encryption_keys": "a key is 64 bytes in base64; `python -m services.vault` prints a new one",
    "identity_keys": "a key begins with publickeyv1_; `python -m services.identity make DIR` makes one",
    "grant_currency": "must be three capital letters, as in EUR",
    "model_rate": RATE_WORDS,
    "receiver_rate": RATE_WORDS,
}
"""In place of what pydantic says about a pattern."""


class BadSettings(Exception):
    """A setting is wrong; the text is the sentence for the person who set it."""


def like(model: type[BaseModel], name: str, more: str = "") -> Any:
    """A setting with the default, the bounds and the sentence of a model's field. `more`: how it is written."""
    field = copy(model.model_fields[name])
    field.description = f"{field.description} {more}".rstrip()
    return field


class Settings(BaseSettings):
    """Everything that can be set. Durations are seconds, money is in cents."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        extra="ignore",
        frozen=True,
        env_ignore_empty=True,
        protected_namespaces=(),
        allow_inf_nan=False,
    )

    # Where things are
    listen: str = Field("127.0.0.1:9080", pattern=HOST_PORT, description="Host and port the worker serves on.")
    ingress: str = Field("http://127.0.0.1:8080", description="Restate's ingress.")
    admin: str = Field("http://127.0.0.1:9070", description="Restate's admin API.")
    receiver_url: str = Field("http://127.0.0.1:7001", description="Base address of the tools' API.")
    receiver_token: SecretStr | None = Field(None, description="Sent to it as a bearer token.")
    receiver_rate: str | None = Field(
        None, pattern=RATE, description="Requests a second to it, of all workers together, as for the model."
    )

    # The model
    model_url: str = Field("http://127.0.0.1:7002/v1", description="OpenAI-compatible base address.")
    model_key: SecretStr | None = Field(None, description="Its API key. Needed for any address that is not local.")
    model_name: str = Field("mock", min_length=1, description="The model's name at that address.")
    model_deadline_s: float = like(Provider, "deadline_s")
    model_attempts: int = like(Provider, "attempts")
    model_backoff_s: float = like(Provider, "backoff_s")
    model_wait_budget_s: float = like(Provider, "wait_budget_s")
    model_rate: str | None = Field(
        None,
        pattern=RATE,
        description="Requests a second to the model, of all workers together; after a comma how many at once: 5,10.",
    )
    model_max_output_tokens: int | None = like(Provider, "max_output_tokens")
    model_max_output_field: Literal["max_tokens", "max_completion_tokens"] = like(Provider, "max_output_field")
    model_parallel_calls: bool | None = like(Provider, "parallel_calls")
    model_echo_empty: Literal["null", "empty", "omit"] = like(Provider, "echo_empty")
    model_keep_unknown: bool = like(Provider, "keep_unknown")
    model_cut_reasons: tuple[str, ...] = like(Provider, "cut_reasons", "A JSON list.")
    model_filter_reasons: tuple[str, ...] = like(Provider, "filter_reasons", "A JSON list.")
    model_price_in: float = like(Provider, "price_in")
    model_price_out: float = like(Provider, "price_out")
    model_fields_added: dict[str, JsonValue] = like(Provider, "extra", "A JSON object.")
    instructions: str = Field(
        "You carry out tasks with the tools you have. Say briefly what was done when you have finished.",
        description="The system message that each run begins with; empty for none.",
    )

    # Limits of a run
    max_turns: int = like(Limits, "turns")
    max_calls: int = like(Limits, "calls")
    max_tokens: int = like(Limits, "tokens")
    max_cost_cents: float | None = like(Limits, "cost_cents")
    max_wall_s: float = like(Limits, "wall_s")
    max_bad_turns: int = like(Limits, "bad_turns")
    result_bytes: int = like(Limits, "result_bytes")
    history_bytes: int = like(Limits, "history_bytes")
    on_limit: Literal["fail", "ask"] = like(Limits, "on_limit")

    # Effects and people
    unknown: Literal["park", "tell"] = Field("park", description="An Unknown waits for a person, or the model is told.")
    key_lifetime_s: float | None = Field(None, gt=0, description="Upper bound on every tool's declared key lifetime.")
    approve_above_cents: dict[str, int] = Field(
        default_factory=dict, description="Per tool, the amount above which a person must approve, -1 for always. JSON."
    )
    approval_expires_s: float | None = Field(86_400, gt=0, description="An approval not decided by then is denied.")
    grant_tools: tuple[str, ...] | None = Field(
        None, description="Tools that a run may use, all where absent; a request can only narrow this. A JSON list."
    )
    grant_each_cents: int | None = Field(
        None, ge=0, description="The most that one effect may move; a request can only lower it."
    )
    grant_total_cents: int | None = Field(
        None, ge=0, description="The most that a run may move, over all passes; a request can only lower it."
    )
    grant_currency: str | None = Field(
        None,
        pattern=CURRENCY,
        description="The only currency that may be moved. A tool that moves money and has none is then refused.",
    )
    webhook_url: str | None = Field(
        None,
        description="Is told when a run waits for a person, is in doubt, is stuck or has ended.",
    )
    webhook_secret: SecretStr | None = Field(None, description="Signs what is told there.")
    escalate_s: float | None = Field(
        None, gt=0, description="After so long without an answer, or stuck, it is told once more."
    )
    stuck_s: float = Field(60, ge=1, description="A run that has been stuck for so long is told of there.")
    actor_header: str = Field("x-pawl-actor", min_length=1, description="Header in which the gateway says who acts.")
    actor_required: bool = Field(False, description="Refuse decisions and cancels that do not say who acts.")

    # The worker
    retention_s: float = Field(30 * 86_400, gt=0, description="How long an ended run is kept before its tombstone.")
    effects_at_once: int = Field(
        3, ge=1, description="Effects that are out at once while the worker is behind; more only widen the window."
    )
    shutdown_s: float = Field(8, gt=0, description="How long steps in flight may take after SIGTERM.")
    inactivity_s: float = Field(
        45, ge=1, le=3600, description="A run that has done nothing for so long leaves the worker until it can go on."
    )
    abort_s: float = Field(
        135, ge=1, le=3600, description="After that so long until Restate cuts off an attempt that is in a step still."
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", description="Lines on standard error from this level on; debug shows arguments and texts."
    )
    metrics: str | None = Field(
        None, pattern=HOST_PORT, description="Host and port on which Prometheus reads the worker's metrics."
    )
    otel: str | None = Field(
        None,
        description="Base address of an OTLP/HTTP collector that gets a span for each step.",
    )
    encryption_keys: tuple[SecretStr, ...] = Field(
        (), description="Keys for what Restate keeps of a run, as a JSON list: the first encrypts, all decrypt."
    )
    identity_keys: tuple[Annotated[str, StringConstraints(pattern=IDENTITY)], ...] = Field(
        (), description="Public keys of Restate's request identity, as a JSON list; calls without it are refused."
    )

    def vault(self) -> Vault:
        """What encrypts and decrypts with the encryption keys."""
        return Vault([key.get_secret_value() for key in self.encryption_keys])

    @field_validator("ingress", "admin", "receiver_url", "model_url", "webhook_url", "otel")
    @classmethod
    def _somebody_can_be_there(cls, url: str | None) -> str | None:
        if url is not None and (fault := address_fault(url)) is not None:
            raise ValueError(fault)
        return url

    @field_validator("encryption_keys")
    @classmethod
    def _keys_fit(cls, keys: tuple[SecretStr, ...]) -> tuple[SecretStr, ...]:
        Vault([key.get_secret_value() for key in keys])
        return keys


def load() -> Settings:
    """The settings from the environment. Raises BadSettings with one sentence."""
    try:
        return Settings()
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = str(first["loc"][0])
        what = WORDS.get(field, first["msg"].removeprefix("Value error, ").rstrip("."))
        raise BadSettings(f"{PREFIX}{field.upper()}: {what}. {_sentence(field)}") from None
    except SettingsError as error:
        named = re.search(r'field "(\w+)"', str(error))
        name = PREFIX + named[1].upper() if named else "a setting"
        raise BadSettings(
            f"{name}: a list or an object must be written as JSON. {_sentence(named[1] if named else '')}"
        ) from None


def strangers() -> list[str]:
    """A sentence for each name in the environment that looks like a setting and is none, as one that is misspelt."""
    known = [PREFIX + name.upper() for name in Settings.model_fields]
    given = sorted(name for name in os.environ if name.upper().startswith(PREFIX))
    odd = [name for name in given if name.upper() not in known and not OF_OTHERS.fullmatch(name)]
    near = {name: difflib.get_close_matches(name.upper(), known, 1) for name in odd}
    return [f"{name} is set and is no setting" + "".join(f"; {each} is one" for each in near[name]) for name in odd]


def _sentence(field: str) -> str:
    known = Settings.model_fields.get(field)
    return f"({known.description})" if known is not None else ""


def table() -> list[tuple[str, str, str]]:
    """Name, default and sentence of every setting, for `--help`."""
    rows = []
    for name, field in Settings.model_fields.items():
        default = field.get_default(call_default_factory=True)
        rows.append((PREFIX + name.upper(), _shown(default), field.description or ""))
    return rows


def _shown(default: object) -> str:
    """A default as it would be set."""
    if default is None:
        return "none"
    if isinstance(default, dict | tuple):
        return json.dumps(default) if default else "empty"
    return str(default) or "empty"
