"""CURVE keys as text (Z85, 40 characters) and pairs of them in files; the lobby decides which keys it admits.

A pair's file is TOML with `public` and `secret`, for its owner's eyes only. A file with a public key alone may
also hold just the 40 characters.
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
_NEEDED = "the secret half is needed here, which is in the file that ggp keys new made"
_HEAD = "# A key pair of the General Game Protocol. This file is your identity: share the public key only.\n"


class KeyFileError(Problem, ValueError):
    """An unusable key or key file; str() says what to do."""

    code = "bad-key-file"


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A key pair in Z85; repr does not show the secret half."""

    public: str
    secret: str = field(repr=False)


def new_pair() -> KeyPair:
    """Return a new pair. No public key begins with `-`, which a command would take for an option."""
    while True:
        public, secret = zmq.curve_keypair()
        if not public.startswith(b"-"):
            return KeyPair(public.decode(), secret.decode())


def write_pair(path: Path, pair: KeyPair) -> None:
    """Create a file that only its owner may read. Raises KeyFileError if it exists or cannot be created."""
    text = f'{_HEAD}public = "{pair.public}"\nsecret = "{pair.secret}"\n'
    try:
        create_file(path, text.encode(), 0o600)
    except FileExistsError:
        raise KeyFileError(
            f"{path} is there already, and a lost key cannot be had again: name another file", code="exists"
        ) from None
    except OSError as error:
        raise KeyFileError(f"cannot write {path}: {error.strerror}", code="cannot-write") from None


def read_pair(path: Path) -> KeyPair:
    """Read the pair in a file. Raises KeyFileError, even if only others than the owner may read the file."""
    table = _read_table(path, private=True)
    public, secret = table.get("public"), table.get("secret")
    if secret is None and isinstance(public, str) and is_key(public):
        raise KeyFileError(f"{path} holds only the public half of a pair: {_NEEDED}", code="no-secret-key")
    if not (isinstance(secret, str) and is_key(secret)):
        raise KeyFileError(
            f'{path} holds no secret key: it says secret = "…", as ggp keys new writes it', code="no-secret-key"
        )
    if zmq.curve_public(secret.encode()).decode() != public:
        raise KeyFileError(
            f"{path}: the public key is not that of the secret one: make a new pair with ggp keys new",
            code="key-mismatch",
        )
    return KeyPair(public, secret)


def read_public(text: str) -> str:
    """Return a public key, given as 40 characters or as a file with it or with a pair. Raises KeyFileError."""
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
            f"{text} holds no public key: 40 characters of Z85, or a file of ggp keys new", code="no-public-key"
        )
    return public


def is_key(text: str) -> bool:
    """Return True for the 40 characters of Z85 that encode 32 bytes."""
    try:
        return len(z85.decode(text)) == 32
    except (ValueError, KeyError, struct.error):  # its length, its alphabet, five characters of more than 32 bits
        return False


def _read_table(path: Path, *, private: bool) -> dict[str, object]:
    """Read the file; 40 characters are a public key. Raises FileNotFoundError only if not `private`."""
    try:
        with open_input(path) as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            data = file.read(_LARGEST + 1)
    except FileNotFoundError:
        if not private:
            raise
        if is_key(str(path)):
            raise KeyFileError(f"{path} is a public key: {_NEEDED}", code="no-secret-key") from None
        raise KeyFileError(f"{path} does not exist: ggp keys new {path}", code="no-such-file") from None
    except (OSError, ValueError) as error:  # ValueError: a name that holds a NUL
        raise KeyFileError(
            f"cannot read {path}: {getattr(error, 'strerror', None) or error}", code="cannot-read"
        ) from None
    if len(data) > _LARGEST:
        raise KeyFileError(f"{path} is no file of a key: it has more than {_LARGEST} bytes", code="too-long")
    try:
        text = data.decode("utf-8-sig")
        table: dict[str, object] = {"public": text.strip()} if is_key(text.strip()) else tomllib.loads(text)
    except (ValueError, RecursionError):
        raise KeyFileError(
            f"{path} is no file of a key: it is not as ggp keys new writes it", code="not-a-key-file"
        ) from None
    if private and "secret" in table and mode & 0o077:
        raise KeyFileError(f"others may read or change {path} (mode {mode:03o}): chmod 600 {path}", code="unsafe-mode")
    return table
