"""Makes the keys of Restate's request identity: `python -m services.identity make DIR`.

Rule: the private key is written once, for its owner only, and never printed. A key that is there is never overwritten.
Must not know: how the worker checks a signature.
"""

import sys
from pathlib import Path
from typing import Annotated

import typer
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

PRIVATE, PUBLIC = "restate-identity.pem", "restate-identity.pub"
SERVER_SETTING = "RESTATE_WORKER__INVOKER__REQUEST_IDENTITY_PRIVATE_KEY_PEM_FILE"
PREFIX = "publickeyv1_"
BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


class KeyThere(Exception):
    """There is a key already; the text says where."""


def make(folder: Path) -> tuple[Path, str]:
    """A new key pair: the file of the private one, and the public one as `PAWL_IDENTITY_KEYS` takes it. Raises
    KeyThere."""
    folder.mkdir(parents=True, exist_ok=True)
    private = folder / PRIVATE
    key = Ed25519PrivateKey.generate()
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    try:
        private.touch(mode=0o600, exist_ok=False)
    except FileExistsError:
        raise KeyThere(
            f"{private} is there already; give another folder, or remove it where no server uses it."
        ) from None
    private.write_bytes(pem)
    public = name_of(key.public_key())
    (folder / PUBLIC).write_text(f"{public}\n")
    return private, public


def name_of(key: Ed25519PublicKey) -> str:
    return PREFIX + base58(key.public_bytes(Encoding.Raw, PublicFormat.Raw))


def base58(data: bytes) -> str:
    number, text = int.from_bytes(data), ""
    while number:
        number, digit = divmod(number, 58)
        text = BASE58[digit] + text
    return BASE58[0] * (len(data) - len(data.lstrip(b"\0"))) + text


app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)


@app.callback()
def about() -> None:
    """Keys with which a worker tells Restate's calls from anybody else's."""


@app.command(name="make")
def make_command(folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where the two files go.")]) -> None:
    """Make a key pair and say which setting takes which half."""
    try:
        private, public = make(folder)
    except (KeyThere, OSError) as error:
        print(f"pawl: {error}", file=sys.stderr)
        raise typer.Exit(2) from None
    print(f"the server signs with it:     {SERVER_SETTING}={private.resolve()}")
    print(f"""the worker checks against it: PAWL_IDENTITY_KEYS='["{public}"]'""")


if __name__ == "__main__":
    app()
