"""What is encrypted is opened where it was encrypted for, the same twice, and by none but its key."""

import json
import subprocess
import sys
from typing import Any

import pytest

from services import state, vault
from services.codec import codec
from services.encrypted import Encrypted, Parcel, ParcelCodec
from services.messages import Question
from services.send import Told
from services.tables import record
from services.vault import PLAIN, Unreadable, Vault, key_of, new_key
from tests.services.seen import KEY, approval, asking, begun, intent, row
from tools.outcome import Done

WORD = "kingfisher"
A, B = new_key(), new_key()


@pytest.fixture(autouse=True)
def keys() -> Any:
    vault.use(Vault([A]))
    yield
    vault.use(Vault())


def test_the_same_bytes_for_the_same_place_are_encrypted_the_same_twice() -> None:
    one, other = Vault([A]), Vault([B, A])
    first = one.encrypt(b"x", one.newest, "run/1")
    assert first == other.encrypt(b"x", one.newest, "run/1") != one.encrypt(b"x", one.newest, "run/2")
    assert first != other.encrypt(b"x", other.newest, "run/1")
    assert one.decrypt(first, "run/1") == other.decrypt(first, "run/1") == b"x"


def test_without_keys_nothing_is_encrypted_and_what_was_plain_stays_readable() -> None:
    assert Vault().newest == PLAIN and Vault().encrypt(b"{}", PLAIN, "p") == b"{}"
    assert Vault([A]).decrypt(b"{}", "p") == Vault([A]).decrypt(b"", "p") + b"{}" == b"{}"


@pytest.mark.parametrize("data", [b"", b"{}", WORD.encode(), bytes(range(256)) * 200])
def test_any_bytes_come_back(data: bytes) -> None:
    kept = Vault([A])
    assert kept.decrypt(kept.encrypt(data, kept.newest, "p"), "p") == data


def test_a_key_that_is_missing_is_named_and_says_what_helps() -> None:
    encrypted = Vault([A]).encrypt(b"x", Vault([A]).newest, "p")
    with pytest.raises(Unreadable, match=f"the key {key_of(encrypted)}.*PAWL_ENCRYPTION_KEYS"):
        Vault([B]).decrypt(encrypted, "p")


@pytest.mark.parametrize("at", [10, 20, -1])
def test_what_was_changed_or_moved_is_told(at: int) -> None:
    kept = Vault([A])
    encrypted = bytearray(kept.encrypt(WORD.encode(), kept.newest, "p"))
    with pytest.raises(Unreadable, match="moved there"):
        kept.decrypt(bytes(encrypted), "q")
    encrypted[at] ^= 1
    with pytest.raises(Unreadable, match="damaged"):
        kept.decrypt(bytes(encrypted), "p")


@pytest.mark.parametrize(
    "key", ["", "short", "é" * 20, A[:-4], A + "AAAA"], ids=["empty", "short", "not ascii", "cut off", "too long"]
)
def test_what_is_no_key_is_refused_without_showing_it(key: str) -> None:
    with pytest.raises(ValueError, match="64 bytes") as caught:
        Vault([key])
    assert not key or key not in str(caught.value)


@pytest.mark.parametrize(("words", "code"), [((), 0), (("--help",), 2), (("a", "b"), 2)])
def test_a_key_is_printed_to_nobody_who_asks_for_something_else(words: tuple[str, ...], code: int) -> None:
    made = subprocess.run(
        [sys.executable, "-m", "services.vault", *words], capture_output=True, text=True, timeout=20, check=False
    )
    assert made.returncode == code
    if code == 0:
        assert Vault([made.stdout.strip()]).newest != PLAIN and not made.stderr
    else:
        assert made.stderr.startswith("usage: python -m services.vault") and not made.stdout


def test_a_value_of_another_version_is_told_without_its_values() -> None:
    with pytest.raises(Unreadable) as caught:
        codec(Question).deserialize(json.dumps({"key": 1, "text": [WORD]}).encode())
    assert "text" in str(caught.value) and WORD not in str(caught.value)


def test_an_encrypted_value_and_a_parcel_come_back() -> None:
    key = vault.in_use().newest
    kept = Encrypted(codec(Told), "run/call", key)
    told = Told(Done({"memo": WORD}), 1.0)
    assert kept.deserialize(kept.serialize(told)) == told and WORD.encode() not in kept.serialize(told)
    parcels = ParcelCodec(codec(Question), "ask")
    arrived = parcels.deserialize(parcels.serialize(Parcel(approval(), key)))
    assert arrived is not None and (arrived.key, arrived.open()) == (key, approval())


def test_a_parcel_under_a_lost_key_fails_when_it_is_opened_not_when_it_arrives() -> None:
    parcels = ParcelCodec(codec(Question), "ask")
    data = parcels.serialize(Parcel(approval(), vault.in_use().newest))
    vault.use(Vault([B]))
    arrived = parcels.deserialize(data)
    assert arrived is not None
    with pytest.raises(Unreadable):
        arrived.open()


def test_of_a_row_only_texts_are_encrypted() -> None:
    waiting = asking(approval()).row
    assert waiting is not None
    waiting = waiting.model_copy(update={"reason": WORD})
    kept = state.encrypted_row("r1", vault.in_use().newest)
    data = kept.serialize(waiting)
    assert kept.deserialize(data) == waiting
    shown = json.loads(data)
    assert shown["state"] == "waiting_approval" and shown["pass_number"] == 1
    assert WORD not in data.decode() and approval().text not in data.decode()
    vault.use(Vault())
    with pytest.raises(Unreadable):
        kept.deserialize(data)
    blank = state.encrypted_row("r1", lenient=True).deserialize(data)
    assert blank == waiting.model_copy(update={"reason": "", "questions": ()})


def test_tables_are_read_with_the_key_and_say_what_is_missing_without() -> None:
    key = vault.in_use().newest

    def entry(name: str, body: bytes) -> dict[str, Any]:
        return {"service_name": "Agent", "service_key": "r1", "key": name, "value": body.hex()}

    rows = [
        entry("begun", state.encrypted_begun("r1", key).serialize(begun())),
        entry("run", state.encrypted_row("r1", key).serialize(row(reason=WORD))),
        entry(f"open/{KEY}", state.encrypted_intent("r1", f"open/{KEY}", key).serialize(intent())),
    ]
    assert record(rows).intents == (intent(),) and record(rows).row == row(reason=WORD)
    assert record(rows).begun == begun() and not record(rows).unreadable
    vault.use(Vault())
    locked = record(rows)
    assert locked.row == row(reason="") and locked.begun == begun(task="") and locked.intents == ()
    assert sorted(locked.unreadable) == ["begun", f"open/{KEY}", "run"]
    assert all(key in why for why in locked.unreadable.values())
