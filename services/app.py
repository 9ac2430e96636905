"""The composition: the only place where settings become the things that a run works with.

Rule: no I/O here; what needs the network or a running loop is opened later.
Must not know: the environment, the server that carries the application.
"""

from urllib.parse import urlsplit

from pydantic import SecretStr
from restate import app
from restate.server_types import RestateAppT

from services.agent import agent_object
from services.busy import Busy
from services.decision import decision
from services.limits import Limits
from services.messages import Grant
from services.model import Model
from services.moves import Caps
from services.notice import BASE as WEBHOOK
from services.notice import notice_service
from services.outside import Outside, People
from services.provider import Provider
from services.session import session_objects
from services.settings import BadSettings, Settings
from services.version import mark
from services.watch import Counts, Watch
from tools import TOOLS, Tool, registry
from tools.wire import Base, Wire

LOCAL = ("http://127.0.0.1", "http://localhost", "http://[::1]", "http://model")


def outside(
    settings: Settings, busy: Busy, tools: tuple[Tool, ...] = TOOLS, counts: Counts | None = None
) -> Outside:
    """What all runs of this worker share. Raises BadSettings where the settings do not fit together."""
    provider = provider_of(settings)
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
        busy=busy,
        watch=Watch(counts),
    )


def bases_of(settings: Settings) -> dict[str, Base]:
    """Every address that something is sent to, by the name that tools use."""
    bases = {"receiver": Base(settings.receiver_url, secrets(settings.receiver_token))}
    if settings.webhook_url is not None:
        parts = urlsplit(settings.webhook_url)
        bases[WEBHOOK] = Base(f"{parts.scheme}://{parts.netloc}")
    return bases


def path_of(url: str) -> str:
    parts = urlsplit(url)
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def secrets(token: SecretStr | None) -> tuple[tuple[str, str], ...]:
    return () if token is None else (("authorization", f"Bearer {token.get_secret_value()}"),)


def provider_of(settings: Settings) -> Provider:
    key, reasons = settings.model_key, settings.model_cut_reasons
    if key is None and not settings.model_url.startswith(LOCAL):
        raise BadSettings(
            f"PAWL_MODEL_KEY is missing: {settings.model_url} is not a local address and will ask for a key."
        )
    provider = Provider(
        base_url=settings.model_url,
        key=key or SecretStr("none"),
        name=settings.model_name,
        echo_empty=settings.model_echo_empty,
        keep_unknown=settings.model_keep_unknown,
        parallel_calls=settings.model_parallel_calls,
        max_output_tokens=settings.model_max_output_tokens,
        extra=settings.model_fields_added,
        deadline_s=settings.model_deadline_s,
        attempts=settings.model_attempts,
        backoff_s=settings.model_backoff_s,
        price_in=settings.model_price_in,
        price_out=settings.model_price_out,
    )
    return provider if reasons is None else provider.model_copy(update={"cut_reasons": reasons})


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


def application(shared: Outside, settings: Settings) -> RestateAppT:
    """The ASGI application that Restate calls."""
    notices = notice_service(shared)
    agent = agent_object(shared, notices)
    return app([agent, decision, notices, *session_objects(agent)], identity_keys=list(settings.identity_keys) or None)
