"""CURVE keys as text (Z85, 40 characters), and key pairs in files. The lobby decides which keys it admits.

A key pair file is TOML with `public` and `secret`, readable only by its owner. A file with only a public key may also
be just the 40 characters.
"""

import os
import stat
import struct
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

import zmq
from zmq.utils import z85

from ggp.protocol.errors import Problem
from ggp.protocol.input_files import open_input
from ggp.protocol.safe_files import create_file

_LARGEST = 4096  # bytes of a file
_NEEDED = "give the file that ggp keys new made, which also has the secret key"
_HEAD = "# A key pair of the General Game Protocol. This file is your identity: share the public key only.\n"


class KeyFileError(Problem, ValueError):
    """An unusable key or key file; str() says what to do."""

    code = "bad-key-file"


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A key pair in Z85; repr does not show the secret key."""

    public: str
    secret: str = field(repr=False)


def new_pair() -> KeyPair:
    """Return a new key pair.

    No public key begins with `-`, because commands would read it as an option.
    """
    while True:
        public, secret = zmq.curve_keypair()
        if not public.startswith(b"-"):
            return KeyPair(public.decode(), secret.decode())


def write_pair(path: Path, pair: KeyPair) -> None:
    """Create a key pair file that only its owner can read.

    Raises:
        KeyFileError: The file exists or cannot be created.
    """
    text = f'{_HEAD}public = "{pair.public}"\nsecret = "{pair.secret}"\n'
    try:
        create_file(path, text.encode(), 0o600)
    except FileExistsError:
        raise KeyFileError(
            f"{path} exists, and an overwritten key would be lost for ever: name another file", code="exists"
        ) from None
    except OSError as error:
        raise KeyFileError(f"cannot write {path}: {error.strerror}", code="cannot-write") from None


def read_pair(path: Path) -> KeyPair:
    """Return the key pair in a file.

    Raises:
        KeyFileError: The file is invalid or cannot be read, or others than its owner may read it.
    """
    table = _read_table(path, private=True)
    public, secret = table.get("public"), table.get("secret")
    if secret is None and isinstance(public, str) and is_key(public):
        raise KeyFileError(f"{path} holds only a public key: {_NEEDED}", code="no-secret-key")
    if not (isinstance(secret, str) and is_key(secret)):
        raise KeyFileError(
            f'{path} holds no secret key: it needs a line secret = "…", as ggp keys new writes it', code="no-secret-key"
        )
    if zmq.curve_public(secret.encode()).decode() != public:
        raise KeyFileError(
            f"{path}: the public key does not belong to the secret key: make a new pair with ggp keys new",
            code="key-mismatch",
        )
    return KeyPair(public, secret)


def read_public(text: str) -> str:
    """Return a public key.

    Args:
        text: The 40 characters, or a file that holds them or a key pair.

    Raises:
        KeyFileError: There is no public key.
    """
    if is_key(text):
        return text
    try:
        table = _read_table(Path(text), private=False)
    except FileNotFoundError:
        raise KeyFileError(
            f"{text[:80]} is neither a public key (40 characters of Z85) nor a file with one", code="no-public-key"
        ) from None
    public = table.get("public")
    if not (isinstance(public, str) and is_key(public)):
        raise KeyFileError(
            f"{text} holds no public key: give 40 characters of Z85, or a file made by ggp keys new",
            code="no-public-key",
        )
    return public


def is_key(text: str) -> bool:
    """Return True for 40 characters of Z85 that encode 32 bytes."""
    try:
        return len(z85.decode(text)) == 32
    except (ValueError, KeyError, struct.error):  # wrong length, wrong alphabet, or five characters that exceed 32 bits
        return False


def _read_table(path: Path, *, private: bool) -> dict[str, object]:
    """Return the file's TOML table; a file of 40 characters is a public key.

    Raises:
        KeyFileError: The file is invalid or cannot be read.
        FileNotFoundError: There is no such file; only if not `private`.
    """
    try:
        with open_input(path) as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            data = file.read(_LARGEST + 1)
    except FileNotFoundError:
        if not private:
            raise
        if is_key(str(path)):
            raise KeyFileError(f"{path} is a public key: {_NEEDED}", code="no-secret-key") from None
        raise KeyFileError(f"{path} does not exist: create it with ggp keys new {path}", code="no-such-file") from None
    except (OSError, ValueError) as error:  # ValueError: a name that holds a NUL
        raise KeyFileError(
            f"cannot read {path}: {getattr(error, 'strerror', None) or error}", code="cannot-read"
        ) from None
    if len(data) > _LARGEST:
        raise KeyFileError(f"{path} is not a key file: it has more than {_LARGEST} bytes", code="too-long")
    try:
        text = data.decode("utf-8-sig")
        table: dict[str, object] = {"public": text.strip()} if is_key(text.strip()) else tomllib.loads(text)
    except (ValueError, RecursionError):
        raise KeyFileError(f"{path} is not a key file as ggp keys new writes it", code="not-a-key-file") from None
    if private and "secret" in table and mode & 0o077:
        raise KeyFileError(
            f"others may read or change {path} (mode {mode:03o}): run chmod 600 {path}", code="unsafe-mode"
        )
    return table
