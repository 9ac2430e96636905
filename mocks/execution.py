"""One business request at the receiver, from the claim of its key to the answer that is meant to leave.

Rule: between `apply` and `keep_answer` there is no `await`. It must not know aiohttp: a request comes in as an Arrival.
"""

import asyncio
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, assert_never

from mocks import endpoints
from mocks.answer import Answer, Hang, Reaction, error_answer, json_answer
from mocks.behaviour import Behaviour, after_commit, before_commit, instead_of_executing, to_store
from mocks.endpoints import Endpoint, Promise
from mocks.gates import Gates
from mocks.idempotency import Fresh, InFlight, Replay, Reused, decide
from mocks.store import Store

REPLAYED = ("Idempotency-Replayed", "true")


@dataclass(frozen=True, slots=True)
class Arrival:
    """A request as it arrived: `n` its row, `subject` the path's id, `if_match` the header, `query` of a look-up."""

    n: int
    endpoint: Endpoint
    key: str | None
    digest: str
    body: dict[str, Any] | None
    subject: str = ""
    if_match: str | None = None
    query: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Served:
    """The answer meant to leave.

    `done` where the request was executed, with or without an effect, now or (replayed) earlier; false where it was
    turned away: unreadable, key in flight, key of another request.
    """

    answer: Answer
    done: bool


def digest_of(raw: bytes) -> str:
    """sha256 in hex."""
    return hashlib.sha256(raw).hexdigest()


class Execution:
    """Carries requests out on a store, with gates and behaviours. `clock` gives unix seconds."""

    def __init__(self, store: Store, gates: Gates, clock: Callable[[], float]) -> None:
        self._store = store
        self._gates = gates
        self._clock = clock

    async def react(self, arrival: Arrival, behaviour: Behaviour) -> Reaction:
        """What to do to this request; the caller sends it only after the store has settled, which it has here."""
        if behaviour.hang:
            return Hang()
        early = before_commit(behaviour)
        if early is not None and behaviour.slow_ms == 0:
            return early
        served = await self._serve(arrival, behaviour, early is not None)
        await self._store.database.settled()
        if early is not None:
            return early
        if not served.done:
            return served.answer
        await self._gates.pass_through(arrival.endpoint.effect, "applied")
        if behaviour.slow_after_ms:
            await asyncio.sleep(behaviour.slow_after_ms / 1000)
        return after_commit(behaviour, served.answer)

    async def _serve(self, arrival: Arrival, behaviour: Behaviour, in_vain: bool) -> Served:
        if arrival.endpoint.promise is not Promise.READ:
            wrong = endpoints.what_is_wrong(arrival.endpoint, arrival.body, arrival.key)
            if wrong is not None:
                return Served(error_answer(400, "invalid_request", wrong), done=False)
        if arrival.key is None or behaviour.ignore_keys or arrival.endpoint.promise is not Promise.KEYED:
            await _pause(behaviour.slow_ms)
            return self._execute(arrival, behaviour, None) if not in_vain else NOTHING_DONE
        return await self._serve_keyed(arrival, behaviour, arrival.key, in_vain)

    async def _serve_keyed(self, arrival: Arrival, behaviour: Behaviour, key: str, in_vain: bool) -> Served:
        fingerprint = f"{arrival.endpoint.effect}:{arrival.digest}"
        record = self._store.key_record(key)
        match decide(record, fingerprint, self._clock(), behaviour.key_lifetime_s, behaviour.claim_limit_s):
            case Replay(answer):
                await _pause(behaviour.slow_ms)
                return Served(answer.with_header(*REPLAYED), done=True)
            case InFlight():
                return IN_FLIGHT
            case Reused():
                return REUSED
            case Fresh():
                pass
            case other:
                assert_never(other)
        self._store.claim(key, fingerprint, arrival.n, self._clock())
        try:
            await _pause(behaviour.slow_ms)
            owner = self._store.key_record(key)
            if owner is None or owner.owner != arrival.n:
                return IN_FLIGHT  # the claim grew older than its limit and another request took it over
            return self._execute(arrival, behaviour, key) if not in_vain else NOTHING_DONE
        finally:
            self._store.release(key, arrival.n)

    def _execute(self, arrival: Arrival, behaviour: Behaviour, kept_key: str | None) -> Served:
        instead = instead_of_executing(behaviour)
        if instead is not None:
            answer, keep = instead
            if keep and kept_key is not None:
                self._store.keep_answer(kept_key, arrival.n, answer)
            return Served(answer, done=True)
        match arrival.endpoint.promise:
            case Promise.READ:
                return Served(self._read(arrival), done=True)
            case Promise.SET:
                return self._set_customer(arrival)
            case Promise.KEYED | Promise.NOTHING:
                return self._create(arrival, behaviour, kept_key)
            case other:
                assert_never(other)

    def _create(self, arrival: Arrival, behaviour: Behaviour, kept_key: str | None) -> Served:
        made = self._store.next_id(arrival.endpoint.prefix)
        success = json_answer(201, {"id": made, **(arrival.body or {})})
        self._apply(arrival, made)
        answer = to_store(behaviour, success)
        if kept_key is not None:
            self._store.keep_answer(kept_key, arrival.n, answer)
        return Served(answer, done=True)

    def _set_customer(self, arrival: Arrival) -> Served:
        known = self._store.customer(arrival.subject)
        version = known[0] if known else 0
        if not _matches(arrival.if_match, version):
            message = f"the version is {version}" if version else "there is no such customer yet"
            return Served(error_answer(412, "precondition_failed", message), done=True)
        self._store.put_customer(arrival.subject, version + 1, arrival.key, arrival.body)
        self._apply(arrival, arrival.subject)
        return Served(self._customer(arrival.subject), done=True)

    def _apply(self, arrival: Arrival, made: str) -> None:
        reference = endpoints.reference_of(arrival.body)
        self._store.apply(arrival.n, arrival.endpoint.effect, made, arrival.key, reference, arrival.body, self._clock())

    def _read(self, arrival: Arrival) -> Answer:
        if arrival.endpoint is endpoints.ORDER:
            order = endpoints.order(arrival.subject)
            return json_answer(200, order) if order else error_answer(404, "not_found", "no such order")
        if arrival.endpoint is endpoints.READ_CUSTOMER:
            return self._customer(arrival.subject)
        return self._find(arrival)

    def _customer(self, customer_id: str) -> Answer:
        known = self._store.customer(customer_id)
        if known is None:
            return error_answer(404, "not_found", "no such customer")
        version, record = known
        return json_answer(200, record, (("ETag", f'"{version}"'),))

    def _find(self, arrival: Arrival) -> Answer:
        if not arrival.endpoint.found_by:
            return error_answer(404, "not_found", "this API has no look-up")
        if arrival.query is None:
            asked = " or ".join(f"?{name}=" for name in arrival.endpoint.found_by)
            return error_answer(400, "invalid_request", f"ask with {asked}")
        by, value = arrival.query
        effect = arrival.endpoint.effect.removeprefix("find_")
        return json_answer(200, {"data": self._store.find(effect, by, value)})


IN_FLIGHT = Served(
    error_answer(
        409, "idempotency_in_flight", "the first request with this key is in progress", (("Retry-After", "1"),)
    ),
    done=False,
)
REUSED = Served(error_answer(422, "idempotency_key_reused", "this key belongs to another request"), done=False)
# What a request comes to whose end is fixed before the commit: the caller sends that end instead.
NOTHING_DONE = Served(error_answer(500, "internal_error", "nothing was done"), done=False)


async def _pause(milliseconds: int) -> None:
    if milliseconds:
        await asyncio.sleep(milliseconds / 1000)


def _matches(if_match: str | None, version: int) -> bool:
    if if_match is None:
        return True
    if if_match.strip() == "*":
        return version > 0
    return f'"{version}"' in [tag.strip().removeprefix("W/") for tag in if_match.split(",")]
