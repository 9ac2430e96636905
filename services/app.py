"""The composition: the only place where settings become the things that a run works with.

Rule: no I/O here; what needs the network or a running loop is opened later.
Must not know: the environment, the server that carries the application.
"""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from pydantic import BaseModel, SecretStr, ValidationError
from restate import Service, VirtualObject, app
from restate.server_types import RestateAppT

from services import vault
from services.agent import agent_object
from services.bucket import Rate, read_rate
from services.busy import Busy
from services.deadlines import Timeouts, fault
from services.decision import decision
from services.doorway import Doorway
from services.grants import no_such_tool
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
from services.settings import PREFIX, BadSettings, Settings
from services.version import mark
from services.watch import Watch
from tools import TOOLS, Tool, registry
from tools.wire import Base, Wire

SETTINGS_OF = {"base_url": "model_url", "extra": "model_fields_added"}
"""The settings of the provider whose names are not made from its field's."""
UNPREFIXED = ("result_bytes", "history_bytes", "on_limit")
"""The limits whose settings are named as they are; the others are called the most of something."""
LOCAL = ("http://127.0.0.1", "http://localhost", "http://[::1]", "http://model")


def outside(settings: Settings, busy: Busy, tools: tuple[Tool, ...] = TOOLS, watch: Watch | None = None) -> Outside:
    """What all runs of this worker share. Raises BadSettings where the settings do not fit together."""
    vault.use(settings.vault())
    provider, timeouts = provider_of(settings), Timeouts(settings.inactivity_s, settings.abort_s)
    sentence = fault(timeouts, provider.deadline_s, tools)
    if sentence is not None:
        raise BadSettings(sentence)
    named = registry(tools)
    for setting, names in (
        ("GRANT_TOOLS", settings.grant_tools),
        ("APPROVE_ABOVE_CENTS", settings.approve_above_cents),
    ):
        if wrong := no_such_tool(names or (), named):
            raise BadSettings(f"{PREFIX}{setting}: {wrong}.")
    return Outside(
        tools=named,
        wire=Wire(bases_of(settings)),
        model=Model(provider),
        provider=provider,
        limits=limits_of(settings),
        grant=Grant(
            tools=settings.grant_tools,
            each_cents=settings.grant_each_cents,
            total_cents=settings.grant_total_cents,
            currency=settings.grant_currency,
        ),
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
    given = given_for(Provider, settings, lambda field: SETTINGS_OF.get(field, f"model_{field}"))
    try:
        return Provider(**{**given, "key": key or SecretStr("none")})
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = str(first["loc"][0])
        setting = SETTINGS_OF.get(field, f"model_{field}")
        raise BadSettings(f"{PREFIX}{setting.upper()}: {first['msg'].removeprefix('Value error, ')}.") from None


def limits_of(settings: Settings) -> Limits:
    return Limits(**given_for(Limits, settings, lambda field: field if field in UNPREFIXED else f"max_{field}"))


def given_for(model: type[BaseModel], settings: Settings, named: Callable[[str], str]) -> dict[str, Any]:
    """What is set for a model's fields. A field that has no setting keeps its own default."""
    names = {field: named(field) for field in model.model_fields}
    return {field: getattr(settings, name) for field, name in names.items() if name in Settings.model_fields}


def application(shared: Outside, settings: Settings, code: str = "") -> RestateAppT:
    """The ASGI application that Restate calls. `code`: which version it says that it is."""
    notices = notice_service(shared)
    agent = agent_object(shared, notices)
    lookout = lookout_object(shared, notices, settings.admin, settings.stuck_s)
    services: list[Service | VirtualObject] = [agent, decision, limiter, notices, lookout, *session_objects(agent)]
    if code:
        mark(services, code)
    return app(services, identity_keys=list(settings.identity_keys) or None)
