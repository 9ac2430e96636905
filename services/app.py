"""The composition: the only place where settings become the things that a run works with.

Rule: no I/O here; what needs the network or a running loop is opened later.
Must not know: the environment, the server that carries the application.
"""

from typing import Any
from urllib.parse import urlsplit

from pydantic import SecretStr, ValidationError
from restate import Service, VirtualObject, app
from restate.server_types import RestateAppT

from services import vault
from services.agent import agent_object
from services.bucket import Rate, read_rate
from services.busy import Busy
from services.deadlines import Timeouts, fault
from services.decision import decision
from services.doorway import Doorway
from services.limits import Limits
from services.lookout import lookout_object
from services.messages import Grant
from services.model import Model
from services.moves import Caps
from services.notice import BASE as WEBHOOK
from services.notice import notice_service
from services.outside import MODEL, RECEIVER, Outside, People
from services.provider import Provider
from services.rate import limiter
from services.session import session_objects
from services.settings import BadSettings, Settings
from services.version import mark
from services.watch import Watch
from tools import TOOLS, Tool, registry
from tools.wire import Base, Wire

SETTINGS_OF = {
    "base_url": "PAWL_MODEL_URL",
    "key": "PAWL_MODEL_KEY",
    "name": "PAWL_MODEL_NAME",
    "extra": "PAWL_MODEL_FIELDS_ADDED",
}
"""The settings whose names are not made from the provider's field."""
LOCAL = ("http://127.0.0.1", "http://localhost", "http://[::1]", "http://model")


def outside(settings: Settings, busy: Busy, tools: tuple[Tool, ...] = TOOLS, watch: Watch | None = None) -> Outside:
    """What all runs of this worker share. Raises BadSettings where the settings do not fit together."""
    vault.use(settings.vault())
    provider, timeouts = provider_of(settings), Timeouts(settings.inactivity_s, settings.abort_s)
    sentence = fault(timeouts, provider.deadline_s, tools)
    if sentence is not None:
        raise BadSettings(sentence)
    return Outside(
        tools=registry(tools),
        wire=Wire(bases_of(settings)),
        model=Model(provider),
        provider=provider,
        limits=limits_of(settings),
        grant=Grant(each_cents=settings.grant_each_cents, total_cents=settings.grant_total_cents),
        caps=Caps(settings.unknown, settings.key_lifetime_s),
        people=People(
            approve_above_cents=settings.approve_above_cents,
            approval_expires_s=settings.approval_expires_s,
            actor_header=settings.actor_header,
            actor_required=settings.actor_required,
            webhook_path=path_of(settings.webhook_url) if settings.webhook_url else None,
            webhook_secret=settings.webhook_secret,
            escalate_s=settings.escalate_s,
        ),
        retention_s=settings.retention_s,
        instructions=settings.instructions,
        timeouts=timeouts,
        rates=rates_of(settings),
        busy=busy,
        doorway=Doorway(settings.effects_at_once),
        watch=watch or Watch(),
    )


def bases_of(settings: Settings) -> dict[str, Base]:
    """Every address that something is sent to, by the name that tools use."""
    bases = {RECEIVER: base("PAWL_RECEIVER_URL", settings.receiver_url)}
    if settings.receiver_token is not None:
        bases[RECEIVER] = base("PAWL_RECEIVER_TOKEN", settings.receiver_url, bearer(settings.receiver_token))
    if settings.webhook_url is not None:
        parts = urlsplit(settings.webhook_url)
        bases[WEBHOOK] = base("PAWL_WEBHOOK_URL", f"{parts.scheme}://{parts.netloc}")
    return bases


def base(name: str, url: str, headers: tuple[tuple[str, str], ...] = ()) -> Base:
    try:
        return Base(url, headers)
    except ValueError as error:
        raise BadSettings(f"{name}: {error}.") from None


def rates_of(settings: Settings) -> dict[str, Rate]:
    """The rates that are set, by what they limit. All workers that name the same thing share one."""
    wanted = {
        MODEL: ("PAWL_MODEL_RATE", f"model {settings.model_name}", settings.model_rate),
        RECEIVER: ("PAWL_RECEIVER_RATE", RECEIVER, settings.receiver_rate),
    }
    found = {}
    for what, (setting, name, words) in wanted.items():
        try:
            made = read_rate(name, words)
        except ValueError as error:
            raise BadSettings(f"{setting}: {error}.") from None
        if made is not None:
            found[what] = made
    return found


def path_of(url: str) -> str:
    parts = urlsplit(url)
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def bearer(token: SecretStr) -> tuple[tuple[str, str], ...]:
    return (("authorization", f"Bearer {token.get_secret_value()}"),)


def provider_of(settings: Settings) -> Provider:
    key = settings.model_key
    if key is None and not settings.model_url.startswith(LOCAL):
        raise BadSettings(
            f"PAWL_MODEL_KEY is missing: {settings.model_url} is not a local address and will ask for a key."
        )
    given: dict[str, Any] = {
        "base_url": settings.model_url,
        "key": key or SecretStr("none"),
        "name": settings.model_name,
        "echo_empty": settings.model_echo_empty,
        "keep_unknown": settings.model_keep_unknown,
        "parallel_calls": settings.model_parallel_calls,
        "max_output_tokens": settings.model_max_output_tokens,
        "max_output_field": settings.model_max_output_field,
        "cut_reasons": settings.model_cut_reasons,
        "filter_reasons": settings.model_filter_reasons,
        "extra": settings.model_fields_added,
        "deadline_s": settings.model_deadline_s,
        "attempts": settings.model_attempts,
        "backoff_s": settings.model_backoff_s,
        "wait_budget_s": settings.model_wait_budget_s,
        "price_in": settings.model_price_in,
        "price_out": settings.model_price_out,
    }
    try:
        # What is not set is left to the provider's own default.
        return Provider(**{name: value for name, value in given.items() if value is not None})
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = str(first["loc"][0])
        setting = SETTINGS_OF.get(field, f"PAWL_MODEL_{field.upper()}")
        raise BadSettings(f"{setting}: {first['msg'].removeprefix('Value error, ')}.") from None


def limits_of(settings: Settings) -> Limits:
    return Limits(
        turns=settings.max_turns,
        calls=settings.max_calls,
        tokens=settings.max_tokens,
        cost_cents=settings.max_cost_cents,
        wall_s=settings.max_wall_s,
        bad_turns=settings.max_bad_turns,
        result_bytes=settings.result_bytes,
        history_bytes=settings.history_bytes,
        on_limit=settings.on_limit,
    )


def application(shared: Outside, settings: Settings, code: str = "") -> RestateAppT:
    """The ASGI application that Restate calls. `code`: which version it says that it is."""
    notices = notice_service(shared)
    agent = agent_object(shared, notices)
    lookout = lookout_object(shared, notices, settings.admin, settings.stuck_s)
    services: list[Service | VirtualObject] = [agent, decision, limiter, notices, lookout, *session_objects(agent)]
    if code:
        mark(services, code)
    return app(services, identity_keys=list(settings.identity_keys) or None)
