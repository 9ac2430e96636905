"""Orders (read) and customers (set, with versions), and the control list's own edges."""

import httpx

from tests.mocks.process import MockProcess
from tests.mocks.sending import code


def put(mock: MockProcess, customer: str, body: object, **headers: str) -> httpx.Response:
    return mock.client.put(
        f"/customers/{customer}", json=body, headers={k.replace("_", "-"): v for k, v in headers.items()}
    )


def test_every_order_exists_except_the_missing_ones(receiver: MockProcess) -> None:
    assert receiver.client.get("/orders/17").json() == {
        "order_id": "17",
        "customer_id": "cus_17",
        "email": "customer-17@example.test",
        "phone": "+4900017",
        "payment_id": "pay_17",
        "amount_cents": 4900,
        "currency": "EUR",
        "status": "delivered",
    }
    missing = receiver.client.get("/orders/missing17")
    assert (missing.status_code, code(missing)) == (404, "not_found")
    assert receiver.rows(effect="order")[-1]["status"] == 404


def test_putting_the_same_record_again_leaves_the_same_state(receiver: MockProcess, key: str) -> None:
    assert receiver.client.get(f"/customers/{key}").status_code == 404
    first = put(receiver, key, {"name": "Ada"}, Idempotency_Key="k-1")
    assert first.headers["ETag"] == '"1"'
    assert first.json() == {"name": "Ada", "customer_id": key, "version": 1, "last_key": "k-1"}
    again = put(receiver, key, {"name": "Ada"}, Idempotency_Key="k-1")
    assert again.json()["version"] == 2
    assert "Idempotency-Replayed" not in again.headers
    assert receiver.client.get(f"/customers/{key}").json() == again.json()
    applied = [row for row in receiver.rows("/effects", effect="customer") if row["id"] == key]
    assert [row["body"] for row in applied] == [{"name": "Ada"}] * 2


def test_a_stale_version_is_refused(receiver: MockProcess, key: str) -> None:
    assert put(receiver, key, {"a": 1}, If_Match='"1"').status_code == 412
    assert put(receiver, key, {"a": 1}, If_Match="*").status_code == 412
    assert put(receiver, key, {"a": 1}).status_code == 200
    assert put(receiver, key, {"a": 2}, If_Match='"1"').json()["version"] == 2
    stale = put(receiver, key, {"a": 3}, If_Match='"1"')
    assert (stale.status_code, code(stale)) == (412, "precondition_failed")
    assert put(receiver, key, {"a": 3}, If_Match="*").status_code == 200
    assert receiver.rows(effect="customer")[-2]["applied"] is False


def test_a_record_is_an_object(receiver: MockProcess, key: str) -> None:
    assert put(receiver, key, [1]).status_code == 400
    assert put(receiver, key, {}).status_code == 200


def test_an_endpoint_that_is_not_there_has_a_code_of_its_own(receiver: MockProcess) -> None:
    nowhere = receiver.client.get("/nowhere")
    assert (nowhere.status_code, code(nowhere)) == (404, "no_such_endpoint")
    assert code(receiver.client.delete("/charges")) == "no_such_endpoint"
    assert receiver.client.get("/requests", params={"after": "x"}).status_code == 400
