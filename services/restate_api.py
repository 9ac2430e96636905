"""Restate's two HTTP interfaces as the command line uses them: the ingress and the admin API.

Rule: nothing is retried, every call has a time limit, and a call that a worker did not answer in time is told apart
from one that was refused: it stays with Restate and is done when a worker is back.
Must not know: runs, what is asked, what is shown.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import httpx

CALL_S = 10.0
"""Restate answers these within milliseconds; a busy server may take seconds, never this."""
ENDED = ("was already completed", "not found")


class Unanswered(Exception):
    """Nothing answered at the address, or Restate itself is not in order; the text says which and what to do."""


class Refused(Exception):
    """An answer with a status of 400 or more; the text is its message."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class HandedOver:
    """Restate has the call and no worker answered in time: it is done when one is back."""

    invocation: str


class Ingress:
    """Calls of handlers. `headers` go with each call."""

    def __init__(self, url: str, headers: dict[str, str]) -> None:
        self.url = url.rstrip("/")
        self._client = httpx.Client(base_url=self.url, headers=headers, timeout=CALL_S, trust_env=False)

    def close(self) -> None:
        self._client.close()

    def call(self, service: str, key: str, handler: str, body: Any, wait_s: float) -> Any | HandedOver:
        """The handler's answer as JSON, waited for at most `wait_s`. Raises Refused and Unanswered.

        The call is sent first and attached to afterwards: so there is a name for it when nothing answers.
        """
        path = f"/{quote(service)}/{quote(key, safe='')}/{handler}/send"
        try:
            sent = self._client.post(path, json=body)
        except httpx.HTTPError as error:
            raise Unanswered(unreachable("ingress", self.url, "PAWL_INGRESS", error)) from error
        invocation = str(answered(sent)["invocationId"])
        try:
            attached = self._client.get(f"/restate/invocation/{quote(invocation)}/attach", timeout=wait_s)
        except httpx.HTTPError:
            return HandedOver(invocation)
        return answered(attached)


class Admin:
    """What needs no worker."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        self._client = httpx.Client(
            base_url=self.url, headers={"accept": "application/json"}, timeout=CALL_S, trust_env=False
        )

    def close(self) -> None:
        self._client.close()

    def query(self, sql: str) -> Sequence[dict[str, Any]]:
        """Rows of one SELECT over Restate's tables. Raises Unanswered."""
        answer = self._request("POST", "/query", {"query": sql})
        if not answer.is_success:
            raise Unanswered(f"Restate at {self.url} did not answer a query of its tables: {message_of(answer)}")
        rows: list[dict[str, Any]] = answer.json()["rows"]
        return rows

    def cancel(self, invocation: str) -> bool:
        """Tells an invocation to end; False where it had ended already."""
        return self._act(invocation, "cancel")

    def kill(self, invocation: str) -> bool:
        """Ends an invocation where it stands, so that nothing of its own can be recorded any more."""
        return self._act(invocation, "kill")

    def pause(self, invocation: str) -> bool:
        return self._act(invocation, "pause")

    def purge(self, invocation: str) -> bool:
        """Forgets an ended invocation and its journal; False where that has been done."""
        return self._act(invocation, "purge")

    def resume(self, invocation: str, deployment: str | None = None) -> None:
        """Goes on now, on another deployment where one is named (`latest`, or an id)."""
        suffix = f"?deployment={quote(deployment)}" if deployment else ""
        answered(self._request("PATCH", f"/invocations/{quote(invocation)}/resume{suffix}"))

    def restart(self, invocation: str) -> str:
        """Begins an ended invocation again with the same request on the newest deployment; the new one's id."""
        return str(
            answered(self._request("PATCH", f"/invocations/{quote(invocation)}/restart-as-new"))["new_invocation_id"]
        )

    def _act(self, invocation: str, verb: str) -> bool:
        answer = self._request("PATCH", f"/invocations/{quote(invocation)}/{verb}")
        if answer.status_code in (404, 409) and any(words in message_of(answer) for words in ENDED):
            return False
        answered(answer)
        return True

    def _request(self, method: str, path: str, body: Any = None) -> httpx.Response:
        try:
            return self._client.request(method, path, **({} if body is None else {"json": body}))
        except httpx.HTTPError as error:
            raise Unanswered(unreachable("admin API", self.url, "PAWL_ADMIN", error)) from error


def answered(answer: httpx.Response) -> Any:
    """The answer's JSON. Raises Refused with its message, Unanswered where the server has no such service or fails."""
    if answer.is_success:
        return answer.json() if answer.content else None
    message = message_of(answer)
    from_ingress = answer.headers.get("x-restate-error-source") == "ingress"
    if answer.status_code == 404 and from_ingress and "register" in message:
        raise Unanswered(f"Restate knows no agent yet: {message} `python -m services.register` does it.")
    if answer.status_code >= 500:
        raise Unanswered(f"Restate answered with {answer.status_code}: {message}")
    raise Refused(answer.status_code, message)


def message_of(answer: httpx.Response) -> str:
    try:
        body = answer.json()
    except json.JSONDecodeError:
        return answer.text[:500] or f"status {answer.status_code}"
    return str(body["message"]) if isinstance(body, dict) and "message" in body else answer.text[:500]


def unreachable(what: str, url: str, setting: str, error: httpx.HTTPError) -> str:
    cause = str(error) or type(error).__name__
    return f"Restate's {what} does not answer at {url}: {cause}. {setting} names the address."
