"""Who is let in: the registry of public keys, a JSON file that commands edit and a running server reads again.

A key belongs to one owner and may speak for his bots that it names; a bot has one owner. Key files and the keys
themselves are protocol.transports.keys; whom a connection belongs to is zap.
"""

import contextlib
import fcntl
import os
import re
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from protocol.printed import escaped
from protocol.safe_files import open_lock, replace_file, resolve_file
from protocol.transports.keys import is_key

MOST_BYTES = 16 * 1024 * 1024
LOCK_PATIENCE = 10.0  # seconds
OWNER_OR_BOT = re.compile(r"[A-Za-z0-9_.-]{1,40}")

Name = Annotated[str, Meta(pattern=rf"\A{OWNER_OR_BOT.pattern}\Z")]
Bound = Annotated[int, Meta(ge=0, le=10**12)] | None


class RegistryError(ValueError):
    """A registry that cannot be read or changed, or a change that cannot be; str() says what to do."""


class Refusal(StrEnum):
    """Why a key is not let in."""

    UNKNOWN = "unknown key"
    REVOKED = "revoked key"
    EXPIRED = "key that was replaced, and whose grace is over"


class Limits(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What an owner may take, all his bots together; None is the server's own default."""

    connections: Bound = None
    matches: Bound = None  # at once
    messages: Bound = None  # a second
    bytes: Bound = None  # a second

    def over(self, defaults: Mapping[str, int]) -> dict[str, int]:
        """The defaults by name with these in their place."""
        own = {name: getattr(self, name) for name in self.__struct_fields__}
        return {**defaults, **{name: value for name, value in own.items() if value is not None}}


class Entry(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, kw_only=True):
    """One key: whose it is, which bots it speaks for, from when to when."""

    key: str
    owner: Name
    bots: Annotated[tuple[Name, ...], Meta(min_length=1, max_length=1000)]
    created: datetime
    expires: datetime | None = None  # a newer key takes its place from then on
    revoked: datetime | None = None

    def refusal(self, now: datetime) -> Refusal | None:
        if self.revoked is not None:
            return Refusal.REVOKED
        return Refusal.EXPIRED if self.expires is not None and self.expires <= now else None


class Book(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All that the file says."""

    keys: tuple[Entry, ...] = ()
    limits: dict[Name, Limits] = {}  # by owner


def now() -> datetime:
    """UTC, in whole seconds."""
    return datetime.fromtimestamp(int(time.time()), UTC)


class Registry:
    """The file as a server sees it: `refresh` notices a change, `find` says whose a key is.

    A file that is broken or gone leaves what it said before in force, and `problem` says so; at the start that is
    nothing, so nobody is let in.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problem = ""
        self._seen: tuple[int, ...] | None = None
        self._entries: dict[str, Entry] = {}
        self._limits: dict[str, Limits] = {}
        self.refresh()

    def refresh(self) -> bool:
        """Look at the file, which costs microseconds if nobody changed it; True if it, or `problem`, is another."""
        before, seen = self.problem, _look(self.path)
        if seen is not None and seen == self._seen:
            return False
        self._seen = seen
        try:
            book = read(self.path)
        except RegistryError as error:
            self.problem = f"{error} (until then the keys of before are in force)" if self._entries else str(error)
            return self.problem != before
        self.problem = ""
        self._entries = {entry.key: entry for entry in book.keys}
        self._limits = dict(book.limits)
        return True

    def find(self, key: str, when: datetime | None = None) -> Entry | Refusal:
        """Whose key it is, if it is valid at that time (now)."""
        entry = self._entries.get(key)
        if entry is None:
            return Refusal.UNKNOWN
        return entry.refusal(when or now()) or entry

    def limits(self, owner: str) -> Limits:
        return self._limits.get(owner) or Limits()

    def __len__(self) -> int:
        return len(self._entries)


def read(path: Path) -> Book:
    """What a registry's file says. Raises RegistryError."""
    try:
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
            mode = os.fstat(file.fileno()).st_mode
            if not stat.S_ISREG(mode):
                raise RegistryError(f"{path} is not a regular file: name the registry that ggp keys allow makes")
            if mode & stat.S_IWOTH:
                raise RegistryError(f"anybody may change {path}: chmod o-w {path}")
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise _unreadable(path, error) from None
    if len(data) > MOST_BYTES:
        raise RegistryError(f"{path} has more than {MOST_BYTES} bytes: is it a registry of keys?")
    try:
        book = msgspec.json.decode(data, type=Book)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise RegistryError(f"{path} is no registry of keys: {' '.join(str(error).split())[:200]}") from None
    _check(book, path)
    return book


@contextlib.contextmanager
def change(path: Path) -> Iterator[Callable[[Book], None]]:
    """Nobody else changes the file meanwhile: read it, and give the new Book to what this yields. Raises
    RegistryError; then the file is as it was. A crash leaves the file of before or the new one, never half of one."""
    with _locked(path):
        yield lambda book: _write(path, book)


def _write(path: Path, book: Book) -> None:
    _check(book, path)
    text = escaped(msgspec.json.format(msgspec.json.encode(book), indent=1).decode()).encode()
    try:
        replace_file(path, text + b"\n", 0o644)
    except OSError as error:
        raise RegistryError(f"cannot write {path}: {error.strerror}") from None


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """The lock is a file of its own, because the registry itself is replaced."""
    lock = path.with_name(f".{path.name}.lock")
    try:
        resolve_file(path)  # another user's link is not even read
        descriptor = open_lock(lock)
    except OSError as error:
        raise RegistryError(f"cannot change {path}: {lock}: {error.strerror}") from None
    try:
        give_up = time.monotonic() + LOCK_PATIENCE
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > give_up:
                    raise RegistryError(f"{path} is being changed by another command: try again") from None
                time.sleep(0.02)
        yield
    finally:
        os.close(descriptor)


def _check(book: Book, path: Path) -> None:
    """What the types cannot say. Raises RegistryError."""
    owners: dict[str, str] = {}
    keys: set[str] = set()
    for entry in book.keys:
        if not is_key(entry.key):
            raise RegistryError(f"{path}: {entry.key[:60]!r} is no public key: 40 characters of Z85")
        if entry.key in keys:
            raise RegistryError(f"{path}: the key {entry.key} is there twice")
        keys.add(entry.key)
        if any(date is not None and date.tzinfo is None for date in (entry.created, entry.expires, entry.revoked)):
            raise RegistryError(f"{path}: the dates of {entry.key} have no time zone: write 2026-01-31T12:00:00Z")
        for bot in entry.bots:
            if owners.setdefault(bot, entry.owner) != entry.owner:
                raise RegistryError(f"{path}: the bot {bot} is both {owners[bot]}'s and {entry.owner}'s")


def _look(path: Path) -> tuple[int, ...] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size, found.st_mode


def _unreadable(path: Path, error: OSError) -> RegistryError:
    if isinstance(error, FileNotFoundError):
        return RegistryError(f"{path} does not exist: ggp keys allow OWNER/BOT KEY --registry {path} makes it")
    return RegistryError(f"cannot read {path}: {error.strerror}")
