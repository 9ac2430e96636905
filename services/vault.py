"""Encryption of what is kept in Restate's journal and state. `python -m services.vault` prints a new key.

Rule: the same bytes under the same key and for the same place give the same ciphertext, because Restate compares what
a replay writes with what was written (AES-SIV). Whoever writes names the key, which comes from something recorded, so
that a replay after a change of keys writes as before; whoever reads finds the key's name in front of the bytes. Bytes
that were written without a key stay readable.
Must not know: what the bytes mean, who keeps them.
"""

import sys
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error
from collections.abc import Sequence
from datetime import timedelta
from hashlib import sha256
from typing import Any

from restate.exceptions import RetryableError

KEY_BYTES = 64
"""AES-256-SIV: half for the authentication, half for the encryption."""
MARK = b"\0pawl1"
"""In front of encrypted bytes. No JSON begins with a zero byte."""
NAME_BYTES = 4
"""Of a key's name, which is shown in hexadecimal."""
PLAIN = ""
"""The name of no key: what is written under it is not encrypted."""


HELD_S = 5.0
"""Between two looks of a run at what it cannot read: a cancel waits no longer, and it costs next to nothing."""


class Unreadable(RetryableError):
    """What was kept cannot be read; the text says why and what helps, and nothing of what was kept. Whoever needs it is
    held until it can be read."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence, retry_after=timedelta(seconds=HELD_S))


class Vault:
    """Some keys. The first is for what is new, all of them read."""

    def __init__(self, keys: Sequence[str] = ()) -> None:
        """Raises ValueError with a sentence that does not hold the key."""
        raw = [_raw(key) for key in keys]
        self.newest = _name(raw[0]) if raw else PLAIN
        self._ciphers = {_name(key): _cipher(key) for key in raw}

    def encrypt(self, data: bytes, key: str, place: str) -> bytes:
        """The bytes under the key of that name; as they are under PLAIN. Raises Unreadable where it has no such key."""
        if key == PLAIN:
            return data
        return MARK + bytes.fromhex(key) + bytes(self._cipher(key).encrypt(data, [place.encode()]))

    def decrypt(self, data: bytes, place: str) -> bytes:
        """The bytes that were encrypted for `place`. Raises Unreadable."""
        key = key_of(data)
        if key == PLAIN:
            return data
        cipher = self._cipher(key)
        from cryptography.exceptions import InvalidTag

        try:
            return bytes(cipher.decrypt(data[len(MARK) + NAME_BYTES :], [place.encode()]))
        except InvalidTag:
            raise Unreadable(f"what is kept as {place} is damaged, or was moved there from another place") from None

    def _cipher(self, key: str) -> Any:
        if key not in self._ciphers:
            raise Unreadable(
                f"this is encrypted under the key {key}, which PAWL_ENCRYPTION_KEYS does not hold: give it back, "
                "behind the newest one, and what waits here goes on"
            )
        return self._ciphers[key]


def key_of(data: bytes) -> str:
    """The name of the key that the bytes are under."""
    return data[len(MARK) : len(MARK) + NAME_BYTES].hex() if data.startswith(MARK) else PLAIN


def _raw(key: str) -> bytes:
    text = key.rstrip("=").replace("+", "-").replace("/", "_")
    try:
        raw = urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (Error, ValueError):
        raw = b""
    # The decoder skips what it does not know.
    if len(raw) != KEY_BYTES or urlsafe_b64encode(raw).decode().rstrip("=") != text:
        raise ValueError(f"a key is {KEY_BYTES} bytes in base64; `python -m services.vault` prints a new one")
    return raw


def _name(key: bytes) -> str:
    """Tells keys apart and says nothing of them."""
    return sha256(b"pawl key name" + key).digest()[:NAME_BYTES].hex()


def _cipher(key: bytes) -> Any:
    # Only who encrypts loads the library.
    from cryptography.hazmat.primitives.ciphers.aead import AESSIV

    return AESSIV(key)


_vault = Vault()


def use(vault: Vault) -> None:
    """From now on this process encrypts and decrypts with these keys. Called once, by the composition."""
    global _vault  # noqa: PLW0603  the SDK and module-level objects hold codecs before the settings are read
    _vault = vault


def in_use() -> Vault:
    return _vault


def encrypts() -> bool:
    """Whether what is new is encrypted."""
    return _vault.newest != PLAIN


def new_key() -> str:
    from cryptography.hazmat.primitives.ciphers.aead import AESSIV

    return urlsafe_b64encode(AESSIV.generate_key(8 * KEY_BYTES)).decode()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.stderr.write("usage: python -m services.vault, without arguments, prints a new PAWL_ENCRYPTION_KEYS key\n")
        sys.exit(2)
    sys.stdout.write(f"{new_key()}\n")
