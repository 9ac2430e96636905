"""Makes a worker known to Restate: `python -m services.register`.

Rule: waits a bounded time for both sides, says what it did, and never replaces a deployment that runs may depend on.
Must not know: what the worker does.
"""

import sys
import time
from typing import Annotated

import httpx
import typer

from services.settings import BadSettings, load

RETRY_S = 0.1


class NotRegistered(Exception):
    """The text says which address did not answer, or what Restate refused."""


def register(admin: str, worker: str, wait_s: float) -> str:
    """Registers `worker` at the admin API; the sentence says what was done. Raises NotRegistered."""
    end = time.monotonic() + wait_s
    with httpx.Client(timeout=10, trust_env=False) as client:
        await_answer(client, f"{admin}/health", "Restate's admin API", end)
        await_answer(client, f"{worker}/health", "the worker", end)
        while True:
            answer = client.post(f"{admin}/deployments", json={"uri": worker})
            if answer.is_success or time.monotonic() > end or answer.status_code in (400, 409):
                break
            time.sleep(RETRY_S)
    if not answer.is_success:
        raise NotRegistered(f"Restate at {admin} refused {worker}: status {answer.status_code}, {answer.text[:500]}")
    body = answer.json()
    services = ", ".join(sorted(service["name"] for service in body.get("services", [])))
    done = "registered" if answer.status_code == 201 else "already registered"
    return f"{worker} is {done} at {admin} as {body.get('id')}: {services}"


def await_answer(client: httpx.Client, url: str, what: str, end: float) -> None:
    problem = ""
    while time.monotonic() < end:
        try:
            answer = client.get(url)
        except httpx.HTTPError as error:
            problem = str(error) or type(error).__name__
        else:
            if answer.is_success:
                return
            problem = f"status {answer.status_code}"
        time.sleep(RETRY_S)
    raise NotRegistered(f"{what} does not answer at {url}: {problem or 'no time was left'}")


def main(
    worker: Annotated[str | None, typer.Option(help="The worker's address as Restate reaches it.")] = None,
    admin: Annotated[str | None, typer.Option(help="Restate's admin API; PAWL_ADMIN where absent.")] = None,
    wait: Annotated[float, typer.Option(help="Seconds to wait for both to answer.")] = 30.0,
) -> None:
    """Register a worker with Restate."""
    try:
        settings = load()
        print(register(admin or settings.admin, worker or f"http://{settings.listen}", wait))
    except (BadSettings, NotRegistered) as error:
        print(f"pawl: {error}", file=sys.stderr)
        raise typer.Exit(2 if isinstance(error, BadSettings) else 1) from None


if __name__ == "__main__":
    typer.run(main)
