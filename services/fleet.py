"""The deployments that Restate knows, over its admin API: read, try, register, remove.

Rule: what an address serves is asked through Restate, because it is Restate that must reach it, with its identity.
Waits are bounded, and their last word names address and cause.
Must not know: what is made of it.
"""

import re
import time
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlsplit

import httpx

from services import tables
from services.messages import RunState
from services.overview import Overview
from services.restate_api import Admin, Unanswered
from services.version import CODE
from services.versions import Deployment, Offer, Open

POLL_S = 0.2
CALL_S = 30.0
"""Restate asks a worker several times before it says that it does not answer."""
NAMES_IT = "PAWL_ADMIN names the address."
DOUBLED = re.compile(r"(\[META\d+\]) \1")
"""Restate writes the code of an error before a cause that begins with it."""
LOCAL_NAMES = ("localhost", "127.0.0.1", "::1")


class Unreachable(Exception):
    """Something did not answer in time; the text says what, where and why."""


class Refused(Exception):
    """Restate does not take it; the text is its reason."""


class Fleet:
    def __init__(self, admin: str) -> None:
        self.url = admin.rstrip("/")
        self._client = httpx.Client(base_url=self.url, timeout=CALL_S, trust_env=False)
        self._tables = Admin(admin)

    def close(self) -> None:
        self._client.close()
        self._tables.close()

    def await_restate(self, end: float) -> None:
        """Until it answers, at most until `end` (monotonic seconds). Raises Unreachable."""
        await_answer(lambda: self._client.get("/health", timeout=2.0), f"Restate's admin API at {self.url}", end)

    def served(self, worker: str, end: float) -> Offer:
        """What the address serves now. Raises Unreachable and Refused."""
        while True:
            answer = self._post({"uri": worker, "dry_run": True, "force": True})
            if answer.is_success:
                return offer_of(answer.json()["services"])
            cause = message_of(answer)
            if answer.status_code < 500 or "META0014" in cause:
                raise Refused(f"Restate at {self.url} cannot use {worker}: {cause}")
            if time.monotonic() > end:
                raise Unreachable(f"Restate at {self.url} does not reach the worker at {worker}: {cause}{hint(worker)}")
            time.sleep(POLL_S)

    def deployments(self) -> tuple[Deployment, ...]:
        """Oldest first."""
        listed = self._get("/deployments")["deployments"]
        newest: dict[str, list[str]] = {}
        for service in self._get("/services")["services"]:
            newest.setdefault(service["deployment_id"], []).append(service["name"])
        found = [
            Deployment(
                each["id"],
                each.get("uri", ""),
                offer_of(self._get(f"/deployments/{each['id']}")["services"]),
                each["created_at"],
                tuple(sorted(newest.get(each["id"], ()))),
            )
            for each in listed
        ]
        return tuple(sorted(found, key=lambda each: each.created_at))

    def services(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._get("/services")["services"]
        return found

    def version(self) -> str:
        return str(self._get("/version")["version"])

    def open_calls(self) -> tuple[Open, ...]:
        """Calls that have not ended. Raises Unreachable."""
        return tables.open_calls(self._query)

    def stuck(self) -> list[Overview]:
        """Runs that are stuck. Raises Unreachable."""
        seen = tables.look(self._query, tables.doubtful_runs(self._query), whole=False)
        return [run for run in seen if run.state is RunState.STUCK]

    def runs_on(self, deployment: str, most: int) -> list[Overview]:
        """The oldest open runs that are bound to it, at most so many. Raises Unreachable."""
        return tables.look(self._query, tables.runs_on(self._query, deployment, most), whole=False)

    def register(self, worker: str, *, replace: bool, breaking: bool) -> str:
        """The deployment's id. Raises Refused."""
        answer = self._post({"uri": worker, "force": replace, "breaking": breaking})
        if not answer.is_success:
            raise Refused(f"Restate at {self.url} refused {worker}: {message_of(answer)}")
        return str(answer.json()["id"])

    def remove(self, deployment: str) -> None:
        """Raises Refused."""
        answer = self._try(lambda: self._client.delete(f"/deployments/{deployment}", params={"force": "true"}))
        if not answer.is_success:
            raise Refused(f"Restate at {self.url} did not remove {deployment}: {message_of(answer)}")

    def _query(self, sql: str) -> Sequence[dict[str, Any]]:
        try:
            return self._tables.query(sql)
        except Unanswered as error:
            raise Unreachable(str(error)) from error

    def _get(self, path: str) -> Any:
        answer = self._try(lambda: self._client.get(path, headers={"accept": "application/json"}))
        if not answer.is_success:
            raise Refused(f"Restate at {self.url} did not answer {path}: {message_of(answer)}")
        return answer.json()

    def _post(self, body: dict[str, Any]) -> httpx.Response:
        return self._try(lambda: self._client.post("/deployments", json=body))

    def _try(self, ask: Callable[[], httpx.Response]) -> httpx.Response:
        try:
            return ask()
        except httpx.HTTPError as error:
            sentence = f"Restate's admin API at {self.url} does not answer: {cause_of(error)}. {NAMES_IT}"
            raise Unreachable(sentence) from error


def offer_of(services: list[dict[str, Any]]) -> Offer:
    codes = {(service.get("metadata") or {}).get(CODE) for service in services}
    kinds = {
        f"{service['name']}/{handler['name']}": str(handler.get("ty") or service.get("ty") or "Service")
        for service in services
        for handler in service["handlers"]
    }
    timeouts = {
        service["name"]: f"{service['inactivity_timeout']} and {service['abort_timeout']}"
        for service in services
        if service.get("inactivity_timeout") and service.get("abort_timeout")
    }
    return Offer(next(iter(codes)) if len(codes) == 1 else None, kinds, timeouts)


def await_answer(ask: Callable[[], httpx.Response], what: str, end: float) -> None:
    """Raises Unreachable where there was no good answer by `end` (monotonic seconds)."""
    began = time.monotonic()
    while True:
        try:
            answer = ask()
            if answer.is_success:
                return
            problem = f"status {answer.status_code}"
        except httpx.HTTPError as error:
            problem = cause_of(error)
        if time.monotonic() > end:
            waited_s = time.monotonic() - began
            within = f" within {waited_s:.0f} s" if waited_s >= 1 else ""
            raise Unreachable(f"{what} did not answer{within}: {problem}")
        time.sleep(POLL_S)


def hint(worker: str) -> str:
    """Why an address that works here may not work for Restate."""
    host = urlsplit(worker).hostname
    if host in LOCAL_NAMES:
        return (
            f". Restate looks for {host} on its own machine: where it runs in a container, that is the container. Give"
            " the address by which it reaches the worker (the service's name in Compose, host.docker.internal for a"
            " worker on the host)"
        )
    return ""


def message_of(answer: httpx.Response) -> str:
    try:
        return DOUBLED.sub(r"\1", str(answer.json()["message"]))[:500]
    except (ValueError, KeyError, TypeError):
        return f"status {answer.status_code}, {answer.text[:300]}"


def cause_of(error: httpx.HTTPError) -> str:
    return str(error) or type(error).__name__
