"""The settings of the worker and its commands: the only reader of the environment.

Rule: every setting has a name (`PAWL_` and the field in capitals), a default and a sentence. A wrong value is one
sentence that names the setting; secrets are never printed.
Must not know: how any setting is used.
"""

import re
from typing import Annotated, Any, Literal

from pydantic import Field, SecretStr, StringConstraints, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict, SettingsError

from services.vault import Vault

PREFIX = "PAWL_"
IDENTITY = r"^publickeyv1_[1-9A-HJ-NP-Za-km-z]{32,44}$"
HOST_PORT = r"^[^\s:/]+:\d{1,5}$"
RATE = r"^\d{1,6}(\.\d{1,6})?(,\d{1,6})?$"
RATE_WORDS = "must be requests per second, and after a comma how many at once"
WORDS = {
    "listen": "must be HOST:PORT",
    "metrics": "must be HOST:PORT",
    "encryption_keys": "a key is 64 bytes in base64; `python -m services.vault` prints a new one",
    "identity_keys": "a key begins with publickeyv1_; `python -m services.identity make DIR` makes one",
    "model_rate": RATE_WORDS,
    "receiver_rate": RATE_WORDS,
}
"""In place of what pydantic says about a pattern."""


class BadSettings(Exception):
    """A setting is wrong; the text is the sentence for the person who set it."""


class Settings(BaseSettings):
    """Everything that can be set. Durations are seconds, money is in cents."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, extra="ignore", frozen=True, env_ignore_empty=True, protected_namespaces=()
    )

    # Where things are
    listen: str = Field("127.0.0.1:9080", pattern=HOST_PORT, description="Host and port the worker serves on.")
    ingress: str = Field("http://127.0.0.1:8080", pattern=r"^https?://", description="Restate's ingress.")
    admin: str = Field("http://127.0.0.1:9070", pattern=r"^https?://", description="Restate's admin API.")
    receiver_url: str = Field(
        "http://127.0.0.1:7001", pattern=r"^https?://", description="Base address of the tools' API."
    )
    receiver_token: SecretStr | None = Field(None, description="Sent to it as a bearer token.")
    receiver_rate: str | None = Field(
        None, pattern=RATE, description="Requests a second to it, of all workers together, as for the model."
    )

    # The model
    model_url: str = Field(
        "http://127.0.0.1:7002/v1", pattern=r"^https?://", description="OpenAI-compatible base address."
    )
    model_key: SecretStr | None = Field(None, description="Its API key. Needed for any address that is not local.")
    model_name: str = Field("mock", min_length=1, description="The model's name at that address.")
    model_deadline_s: float = Field(120, gt=0, description="The longest one model call may take, all in all.")
    model_attempts: int = Field(4, ge=0, description="Requests for one reply, the first included; 0 counts as 1.")
    model_backoff_s: float = Field(
        1, gt=0, description="Wait before the second request for one reply; doubles from there."
    )
    model_wait_budget_s: float = Field(
        4 * 3600, ge=0, description="All waits for one reply together; a provider that asks for more fails the run."
    )
    model_rate: str | None = Field(
        None,
        pattern=RATE,
        description="Requests a second to the model, of all workers together; after a comma how many at once: 5,10.",
    )
    model_max_output_tokens: int | None = Field(None, ge=1, description="Limit on one reply that is sent to the model.")
    model_max_output_field: Literal["max_tokens", "max_completion_tokens"] = Field(
        "max_tokens", description="The name under which the provider takes that limit."
    )
    model_parallel_calls: bool | None = Field(
        None, description="Ask the model for several calls in one reply, or for one."
    )
    model_echo_empty: Literal["null", "empty", "omit"] = Field("null", description="How empty content is sent back.")
    model_keep_unknown: bool = Field(True, description="Send fields of a reply back that are not known here.")
    model_cut_reasons: tuple[str, ...] | None = Field(
        None, description="Finish reasons that mean cut off, as a JSON list, in place of the usual ones."
    )
    model_filter_reasons: tuple[str, ...] | None = Field(
        None, description="Finish reasons that mean stopped by a content filter, likewise."
    )
    model_price_in: float = Field(0, ge=0, description="Cents for a million tokens of input.")
    model_price_out: float = Field(0, ge=0, description="Cents for a million tokens of output.")
    model_fields_added: dict[str, Any] = Field(
        default_factory=dict, description="Fields added to each request, as a JSON object."
    )
    instructions: str = Field(
        "You carry out tasks with the tools you have. Say briefly what was done when you have finished.",
        description="The system message that each run begins with; empty for none.",
    )

    # Limits of a run
    max_turns: int = Field(50, ge=1, description="Replies of the model in one run.")
    max_calls: int = Field(200, ge=0, description="Tool calls in one run.")
    max_tokens: int = Field(2_000_000, ge=1, description="Tokens in one run, input and output.")
    max_cost_cents: float | None = Field(None, gt=0, description="Cost of one run, by the prices above.")
    max_wall_s: float = Field(6 * 3600, gt=0, description="Time of one run, without waits for people.")
    max_bad_turns: int = Field(3, ge=1, description="Replies in a row that cannot be used.")
    result_bytes: int = Field(32_000, ge=200, description="Size of one tool result that the model sees.")
    history_bytes: int = Field(1_000_000, ge=2_000, description="Size of the messages of one model request.")
    on_limit: Literal["fail", "ask"] = Field("fail", description="At a limit the run fails, or waits for a person.")

    # Effects and people
    unknown: Literal["park", "tell"] = Field("park", description="An Unknown waits for a person, or the model is told.")
    key_lifetime_s: float | None = Field(None, gt=0, description="Upper bound on every tool's declared key lifetime.")
    approve_above_cents: dict[str, int] = Field(
        default_factory=dict, description="Per tool, the amount above which a person must approve, -1 for always. JSON."
    )
    approval_expires_s: float | None = Field(86_400, gt=0, description="An approval not decided by then is denied.")
    grant_each_cents: int | None = Field(None, ge=0, description="Default grant: the most that one effect may move.")
    grant_total_cents: int | None = Field(None, ge=0, description="Default grant: the most that a run may move.")
    webhook_url: str | None = Field(
        None,
        pattern=r"^https?://",
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
        pattern=r"^https?://",
        description="Base address of an OTLP/HTTP collector that gets a span for each step.",
    )
    encryption_keys: tuple[SecretStr, ...] = Field(
        (), description="Keys for what Restate keeps of a run, as a JSON list: the first encrypts, all decrypt."
    )
    identity_keys: tuple[Annotated[str, StringConstraints(pattern=IDENTITY)], ...] = Field(
        (), description="Public keys of Restate's request identity, as a JSON list; calls without it are refused."
    )

    def vault(self) -> Vault:
        """What seals and opens with the encryption keys."""
        return Vault([key.get_secret_value() for key in self.encryption_keys])

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
        raise BadSettings(f"{PREFIX}{field.upper()}: {WORDS.get(field, first['msg'])}. {_sentence(field)}") from None
    except SettingsError as error:
        named = re.search(r'field "(\w+)"', str(error))
        name = PREFIX + named[1].upper() if named else "a setting"
        raise BadSettings(
            f"{name}: a list or an object must be written as JSON. {_sentence(named[1] if named else '')}"
        ) from None


def _sentence(field: str) -> str:
    known = Settings.model_fields.get(field)
    return f"({known.description})" if known is not None else ""


def table() -> list[tuple[str, str, str]]:
    """Name, default and sentence of every setting, for `--help` and the README."""
    rows = []
    for name, field in Settings.model_fields.items():
        default = field.get_default(call_default_factory=True)
        shown = "none" if default is None else str(default) if not isinstance(default, (dict, tuple)) else "empty"
        rows.append((PREFIX + name.upper(), shown or "empty", field.description or ""))
    return rows
