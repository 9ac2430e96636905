"""What is known about the model's provider: the settings in which providers differ.

Rule: few settings, each with a name, a default and a sentence. The key is a secret: printed, dumped or logged it is
stars.
Must not know: how a request is made, what a reply means.
"""

import json
import re
from typing import Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, JsonValue, SecretStr, field_validator

# Fields of a request that are made here; a setting must not replace them.
MADE_HERE = ("messages", "model", "tools", "stream", "parallel_tool_calls")


class Provider(BaseModel):
    """One OpenAI-compatible server and model."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True, allow_inf_nan=False)

    base_url: str = Field(
        "http://127.0.0.1:7002/v1", pattern=r"^https?://[^\s/@]+(/[^\s@]*)?$", description="Address up to /v1."
    )
    key: SecretStr = Field(SecretStr("none"), description="The API key.")
    name: str = Field("mock", min_length=1, description="The model's name, as the provider spells it.")

    echo_empty: Literal["null", "empty", "omit"] = Field(
        "null",
        description="How content is sent back that was empty beside tool calls: as null, as empty text, or not at all."
        " Providers refuse one or the other.",
    )
    keep_unknown: bool = Field(
        True,
        description="Send fields of a reply back that this service does not know. Providers that reason want them back;"
        " some refuse them.",
    )
    parallel_calls: bool | None = Field(
        None, description="Ask for several tool calls in one reply, or for one at most; absent, the provider decides."
    )
    max_output_tokens: int | None = Field(
        None, ge=1, description="The most that one reply may have; absent, no limit asked."
    )
    max_output_field: Literal["max_tokens", "max_completion_tokens"] = Field(
        "max_tokens", description="The name under which the provider takes that limit."
    )
    extra: dict[str, JsonValue] = Field(
        default_factory=dict,
        description="Fields added to each request as they are: temperature, seed, reasoning_effort.",
    )

    cut_reasons: tuple[str, ...] = Field(
        ("length", "max_tokens", "max_output_tokens", "model_length", "token_limit"),
        description="Finish reasons, in any case, that mean that the reply was cut off.",
    )
    filter_reasons: tuple[str, ...] = Field(
        ("content_filter", "safety", "prohibited_content", "blocklist", "recitation", "spii", "refusal", "sensitive"),
        description="Finish reasons, in any case, that mean that the provider stopped the reply for what it says.",
    )
    error_reasons: tuple[str, ...] = Field(
        ("error", "network_error", "insufficient_system_resource"),
        description="Finish reasons, in any case, that mean that the server broke off; the request is made again.",
    )

    deadline_s: float = Field(
        120, gt=0, description="A whole exchange, from connecting to the last byte. Long replies take a minute or two."
    )
    attempts: int = Field(4, ge=0, description="Requests for one reply, the first included; 0 counts as 1.")
    backoff_s: float = Field(1, gt=0, description="Wait before the second request; doubles from there.")
    backoff_max_s: float = Field(30, gt=0, description="The longest wait that we choose ourselves.")
    wait_budget_s: float = Field(
        4 * 3600,
        ge=0,
        description="All waits for one reply together. Providers ask for up to a few hours; not for days.",
    )
    reply_bytes: int = Field(
        4_000_000,
        gt=0,
        description="The largest answer that is read. A long reply with its reasoning is well below 1 MB.",
    )

    price_in: float = Field(0, ge=0, description="Cents for a million tokens of input.")
    price_out: float = Field(0, ge=0, description="Cents for a million tokens of output.")

    @field_validator("key")
    @classmethod
    def _fits_a_header(cls, key: SecretStr) -> SecretStr:
        if not re.fullmatch(r"[\x21-\x7e]+", key.get_secret_value()):
            raise ValueError("the key must be printable ASCII without white space: it is sent in a header")
        return key

    @field_validator("extra")
    @classmethod
    def _adds_only(cls, extra: dict[str, JsonValue]) -> dict[str, JsonValue]:
        if taken := sorted(set(extra) & set(MADE_HERE)):
            raise ValueError(f"{', '.join(taken)} cannot be added to a request: it is made here")
        try:
            json.dumps(extra, allow_nan=False, ensure_ascii=False).encode()
        except ValueError as error:
            raise ValueError(f"this cannot be written as JSON: {error}") from None
        return extra

    @field_validator("base_url")
    @classmethod
    def _leads_somewhere(cls, url: str) -> str:
        if not urlsplit(url).hostname or urlsplit(url).port == 0:
            raise ValueError("the address names no host, or port 0")
        return url
