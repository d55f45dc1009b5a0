"""The registry of public keys: a JSON file that commands edit and a running server reads again.

A key belongs to one owner and is valid for the bots of this owner that it names; a bot has one owner.
"""

import contextlib
import fcntl
import os
import re
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from ggp.protocol.errors import Problem, in_words
from ggp.protocol.input_files import NotRegular, open_input
from ggp.protocol.printed import escaped
from ggp.protocol.safe_files import open_lock, replace_file, resolve_file, without_mark
from ggp.protocol.transports.keys import is_key

MOST_BYTES = 16 * 1024 * 1024
LOCK_PATIENCE = 10.0  # seconds
OWNER_OR_BOT = re.compile(r"[A-Za-z0-9_.-]{1,40}")

Name = Annotated[str, Meta(pattern=rf"\A{OWNER_OR_BOT.pattern}\Z")]
Bound = Annotated[int, Meta(ge=0, le=10**12)] | None


class RegistryError(Problem, ValueError):
    """A registry cannot be read or changed, or a change is invalid. str() says what to do."""

    code = "bad-registry"


class Refusal(StrEnum):
    """Why a key is refused."""

    UNKNOWN = "unknown key"
    REVOKED = "revoked key"
    EXPIRED = "key that was replaced, and whose grace is over"


class KeyLimits(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Limits of an owner, for all its bots together. None is the server's default."""

    connections: Bound = None
    matches: Bound = None  # at once
    messages: Bound = None  # a second
    bytes: Bound = None  # a second

    def over(self, defaults: Mapping[str, int]) -> dict[str, int]:
        """Return the defaults by name, replaced by these limits."""
        own = {name: getattr(self, name) for name in self.__struct_fields__}
        return {**defaults, **{name: value for name, value in own.items() if value is not None}}


class KeyEntry(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, kw_only=True):
    """One key: its owner, the bots that it speaks for, and its dates."""

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
    """The content of a registry."""

    keys: tuple[KeyEntry, ...] = ()
    limits: dict[Name, KeyLimits] = {}  # by owner


def now() -> datetime:
    """Return the current time in UTC, in whole seconds."""
    return datetime.fromtimestamp(int(time.time()), UTC)


class KeyRegistry:
    """The registry of a running server, which reads the file again when it has changed.

    While the file is broken or gone, its last valid content stays in force and `problem` says so. Without any, every
    key is refused.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problem = ""
        self.error: RegistryError | None = None  # behind `problem`
        self._seen: tuple[int, ...] | None = None
        self._entries: dict[str, KeyEntry] = {}
        self._limits: dict[str, KeyLimits] = {}
        self._expiries: list[datetime] = []  # that `changed` has not reported, the next one last
        self._news = False  # the keys were read again, which `changed` has not reported
        self._unsaid = False  # a change that `unsaid` has not reported
        self.refresh()
        self._unsaid = False

    def refresh(self) -> bool:
        """Read the file if it has changed. Return True if its content or `problem` has changed."""
        before, seen = self.problem, _stat(self.path)
        if seen is not None and seen == self._seen:
            return False
        self._seen = seen
        try:
            book = read(self.path)
        except RegistryError as error:
            self.error = error
            self.problem = f"{error} (until then the keys of before are in force)" if self._entries else str(error)
            self._unsaid = self._unsaid or self.problem != before
            return self.problem != before
        self.problem, self.error = "", None
        self._entries = {entry.key: entry for entry in book.keys}
        self._limits = dict(book.limits)
        self._expiries = sorted((entry.expires for entry in book.keys if entry.expires is not None), reverse=True)
        self._news = self._unsaid = True
        return True

    def unsaid(self) -> bool:
        """Return whether any `refresh` has found a change since the last call."""
        self.refresh()
        unsaid, self._unsaid = self._unsaid, False
        return unsaid

    def changed(self, when: datetime | None = None) -> bool:
        """Return True if other keys may be valid than at the last call: the file was read, or a key has expired."""
        changed, self._news, when = self._news, False, when or now()
        while self._expiries and self._expiries[-1] <= when:
            self._expiries.pop()
            changed = True
        return changed

    def find(self, key: str, when: datetime | None = None) -> KeyEntry | Refusal:
        """Return the entry of a key that is valid at that time (now by default), or why it is refused."""
        entry = self._entries.get(key)
        if entry is None:
            return Refusal.UNKNOWN
        return entry.refusal(when or now()) or entry

    def limits(self, owner: str) -> KeyLimits:
        return self._limits.get(owner) or KeyLimits()

    def __len__(self) -> int:
        return len(self._entries)


def read(path: Path) -> Book:
    """Read a registry. Raises RegistryError."""
    try:
        with open_input(path) as file:
            mode = os.fstat(file.fileno()).st_mode
            if mode & stat.S_IWOTH:
                raise RegistryError(f"every user may change {path}: chmod o-w {path}", code="unsafe-mode")
            data = file.read(MOST_BYTES + 1)
    except NotRegular:
        raise RegistryError(
            f"{path} is not a regular file: name the registry that ggp keys allow makes", code="not-a-file"
        ) from None
    except OSError as error:
        raise _unreadable(path, error) from None
    if len(data) > MOST_BYTES:
        raise RegistryError(f"{path} has more than {MOST_BYTES} bytes: is it a registry of keys?", code="too-long")
    try:
        book = msgspec.json.decode(without_mark(data), type=Book)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise RegistryError(
            f"{path} is no registry of keys: {' '.join(in_words(error).split())[:200]}", code="not-a-registry"
        ) from None
    _check(book, path)
    return book


@contextlib.contextmanager
def change(path: Path) -> Iterator[Callable[[Book], None]]:
    """Lock a registry, and yield the function that writes its new content.

    A crash leaves the old file or the new one, never half of one.

    Raises:
        RegistryError: The file is as it was.
    """
    with _locked(path):
        yield lambda book: _write(path, book)


def _write(path: Path, book: Book) -> None:
    _check(book, path)
    text = escaped(msgspec.json.format(msgspec.json.encode(book), indent=1).decode()).encode()
    try:
        replace_file(path, text + b"\n", 0o644)
    except OSError as error:
        raise RegistryError(f"cannot write {path}: {error.strerror}", code="cannot-write") from None


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold the lock, which is a file of its own because the registry itself is replaced."""
    lock = path.with_name(f".{path.name}.lock")
    try:
        resolve_file(path)  # another user's link is not even read
        descriptor = open_lock(lock)
    except OSError as error:
        raise RegistryError(f"cannot change {path}: {lock}: {error.strerror}", code="cannot-write") from None
    try:
        give_up = time.monotonic() + LOCK_PATIENCE
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > give_up:
                    raise RegistryError(
                        f"{path} is being changed by another command: try again", code="locked"
                    ) from None
                time.sleep(0.02)
        yield
    finally:
        os.close(descriptor)


def _check(book: Book, path: Path) -> None:
    """Check what the types cannot express. Raises RegistryError."""
    owners: dict[str, str] = {}
    keys: set[str] = set()
    for entry in book.keys:
        if not is_key(entry.key):
            raise RegistryError(f"{path}: {entry.key[:60]!r} is no public key: 40 characters of Z85", code="bad-key")
        if entry.key in keys:
            raise RegistryError(f"{path}: the key {entry.key} is there twice", code="duplicate-key")
        keys.add(entry.key)
        if any(date is not None and date.tzinfo is None for date in (entry.created, entry.expires, entry.revoked)):
            raise RegistryError(
                f"{path}: the dates of {entry.key} have no time zone: write 2026-01-31T12:00:00Z", code="no-time-zone"
            )
        for bot in entry.bots:
            if owners.setdefault(bot, entry.owner) != entry.owner:
                raise RegistryError(
                    f"{path}: the bot {bot} is both {owners[bot]}'s and {entry.owner}'s", code="shared-name"
                )


def _stat(path: Path) -> tuple[int, ...] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size, found.st_mode


def _unreadable(path: Path, error: OSError) -> RegistryError:
    if isinstance(error, FileNotFoundError):
        return RegistryError(
            f"{path} does not exist: ggp keys allow OWNER/BOT KEY --registry {path} makes it", code="no-registry"
        )
    return RegistryError(f"cannot read {path}: {error.strerror}", code="cannot-read")


# -- edits: pure functions from Book to Book --------------------------------------------------------------------------


MOST = 10**12


def allow(book: Book, owner: str, bot: str, key: str, when: datetime) -> Book:
    """Allow a key to speak for a bot of an owner. A key of this owner may be there already."""
    for name in (owner, bot):
        if not OWNER_OR_BOT.fullmatch(name):
            raise RegistryError(
                f"a name has 1 to 40 letters, digits, `_`, `.` or `-`, not {name[:60]!r}", code="bad-name"
            )
    taken = next((entry.owner for entry in book.keys if bot in entry.bots and entry.owner != owner), None)
    if taken is not None:
        raise RegistryError(f"the bot {bot} is {taken}'s: choose another name", code="name-taken")
    present = next((entry for entry in book.keys if entry.key == key), None)
    if present is None:
        new = KeyEntry(key=key, owner=owner, bots=(bot,), created=when)
        return Book((*book.keys, new), book.limits)
    if present.owner != owner:
        raise RegistryError(
            f"that key is {present.owner}'s: every owner needs a key of its own (ggp keys new)", code="shared-key"
        )
    if (refusal := present.refusal(when)) is not None:
        raise RegistryError(f"that is a {refusal}: make a new one (ggp keys new)", code="key-invalid")
    if bot in present.bots:
        raise RegistryError(f"that key speaks for {owner}/{bot} already", code="already-allowed")
    return _with(book, present, bots=(*present.bots, bot))


def revoke(book: Book, what: str, when: datetime) -> tuple[Book, list[KeyEntry]]:
    """Revoke a key, all keys of OWNER/BOT, or all keys of OWNER, and return the revoked entries.

    When OWNER/BOT is revoked, a key still speaks for its other bots.
    """
    entries = select(book, what, when)
    bot = "" if entries[0].key == what else what.partition("/")[2]
    for entry in entries:
        left = tuple(name for name in entry.bots if name != bot)
        book = _with(book, entry, bots=left) if bot and left else _with(book, entry, revoked=when)
    return book, entries


def rotate(book: Book, what: str, key: str, when: datetime, grace: timedelta) -> tuple[Book, list[KeyEntry]]:
    """Replace the keys that `what` selects by a new one, and return their entries. They stay valid for `grace`."""
    if any(entry.key == key for entry in book.keys):
        raise RegistryError("that key is in the registry already: make a new one (ggp keys new)", code="duplicate-key")
    entries = select(book, what, when)
    if len({entry.owner for entry in entries}) != 1:
        raise RegistryError(f"{what} is not one owner's: rotate key by key", code="several-owners")
    bots = tuple(dict.fromkeys(bot for entry in entries for bot in entry.bots))
    until = when + grace
    for entry in entries:
        book = _with(book, entry, expires=min(until, entry.expires) if entry.expires else until)
    return Book((*book.keys, KeyEntry(key=key, owner=entries[0].owner, bots=bots, created=when)), book.limits), entries


def limit(book: Book, owner: str, words: Mapping[str, str]) -> Book:
    """Change limits of an owner, each to a whole number or `default`."""
    if not any(entry.owner == owner for entry in book.keys):
        raise RegistryError(f"there is no owner {owner[:60]}; {_names(book)}", code="no-such-owner")
    own = book.limits.get(owner, KeyLimits())
    for name, text in words.items():
        if name not in KeyLimits.__struct_fields__:
            raise RegistryError(
                f"there is no limit {name[:60]!r}: {' '.join(KeyLimits.__struct_fields__)}", code="no-such-limit"
            )
        own = msgspec.structs.replace(own, **{name: _bound(name, text)})
    others = {name: limits for name, limits in book.limits.items() if name != owner}
    return Book(book.keys, others | ({owner: own} if own != KeyLimits() else {}))


def select(book: Book, what: str, when: datetime) -> list[KeyEntry]:
    """Return the valid entries of a key, OWNER/BOT or OWNER. Raises RegistryError if there is none."""
    meant = [entry for entry in book.keys if entry.key == what]
    if not meant:
        owner, slash, bot = what.partition("/")
        meant = [entry for entry in book.keys if entry.owner == owner and (not slash or bot in entry.bots)]
    valid = [entry for entry in meant if entry.refusal(when) is None]
    if not meant:
        raise RegistryError(
            f"{what[:60]} is neither a key here nor OWNER/BOT nor OWNER; {_names(book)}", code="no-such-key"
        )
    if not valid:
        raise RegistryError(f"{what[:60]} has no valid key any more", code="no-valid-key")
    return valid


def _with(book: Book, entry: KeyEntry, **changes: object) -> Book:
    new = msgspec.structs.replace(entry, **changes)
    return Book(tuple(new if old.key == entry.key else old for old in book.keys), book.limits)


def _bound(name: str, text: str) -> int | None:
    if text == "default":
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 13 and int(text) <= MOST):
        raise RegistryError(f"{name} is a whole number, or `default`, not {text[:40]!r}", code="bad-limit")
    return int(text)


def _names(book: Book) -> str:
    names = sorted({f"{entry.owner}/{bot}" for entry in book.keys for bot in entry.bots})
    return f"there are {' '.join(names[:10])}{' …' if len(names) > 10 else ''}" if names else "it is empty"
