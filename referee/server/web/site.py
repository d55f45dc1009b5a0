"""What `ggp web` reads: the store of a ladder, the matches that its workers are playing, and those of a lobby that it
watches. It blocks.
"""

import contextlib
import os
import threading
import time
from collections.abc import Iterator
from hashlib import sha256
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol
from urllib.parse import urlsplit

from cachetools import LRUCache

from ggp.protocol.records import Record
from ggp.referee.ladder.jobs import pool_in
from ggp.referee.ladder.queries import format_of, read_one
from ggp.referee.ladder.source import Trouble, store_url
from ggp.referee.ladder.store.model import PoolRow, StoreError
from ggp.referee.ladder.store.store import Store
from ggp.referee.ladder.toml_file import ConfigError, decode, dotted, read_toml
from ggp.referee.match.resume import interrupted
from ggp.referee.records import LiveHead, LiveMatches, head, live_base
from ggp.referee.server.web.guard import PATIENT
from ggp.referee.server.web.pool_rater import PoolRater

if TYPE_CHECKING:
    from ggp.referee.server.web.lobby_watch import LobbyWatch  # loads ZeroMQ, which a ladder does not need

RECORDS = 32 << 20  # bytes of stored records that are kept ready
QUERY_TIME = 2.0  # seconds that a page may read, and each query of it
PATIENT_TIME = 20.0  # the same for a page that is made for the next visitor, while this one has another answer
_FRESH = 1.0  # seconds for which the matches that wait to be stored are not read again


class Delay(NamedTuple):
    """How far what is shown of a match that is being played stays behind it."""

    ms: int = 0
    plies: int = 0

    def cut(self, record: Record, idle: int) -> Record:
        """The record as it may be shown; `idle`: ms since its last event. One that is over is shown whole."""
        if record.end is not None:
            return record
        shown = max(0, len(record.plies) - self.plies)
        # A ply was over at the latest when the time of all later ones had not begun yet.
        age = idle + sum(ply.ms for ply in record.plies[shown:])
        while shown and age < self.ms:
            shown -= 1
            age += record.plies[shown].ms
        return Record(record.start, record.plies[:shown], None)


class LobbyTerms(NamedTuple):
    """Where bots dial in, "" if that is not known, whether they need keys, and the server's public key if known."""

    address: str
    keys: bool
    server_key: str = ""


def lobby_terms(word: str) -> LobbyTerms | None:
    """What a lobby's file says; None for a ladder."""
    try:
        file = read_toml(Path(word)) if word.endswith(".toml") else {}
    except ConfigError:
        return None
    if (values := file.get("lobby")) is None:
        return None
    from ggp.protocol.transports.keys import (  # these load ZeroMQ, which a ladder does not need
        KeyFileError,
        read_public,
    )
    from ggp.referee.server.lobby.config import FrontTable, LobbyTable, dialled_address

    table = decode(word, "lobby", values, LobbyTable)
    fronts = [decode(word, dotted("front", name), said, FrontTable) for name, said in file.get("front", {}).items()]
    public = ""
    with contextlib.suppress(KeyFileError, OSError):
        public = read_public(str(Path(word).absolute().parent / table.server_key))
    return LobbyTerms(dialled_address(table, fronts), table.keys, public)


def place_of(word: str) -> str:
    """The ladder in a command line that strangers see: no folder, no host."""
    if "://" not in word:
        return Path(word).name
    parts = urlsplit(word)
    return Path(parts.path).name if parts.scheme.startswith("sqlite") else f"{parts.scheme}://{parts.path}"


class LiveSource(Protocol):
    """A match that is being played: the side file of a worker, or what a lobby publishes."""

    def read(self) -> Record | None:
        """The match so far; None if it cannot be read."""

    def playing(self) -> bool:
        """Whether more may come from here."""

    def idle(self) -> int:
        """ms since its last event."""


class DelayedMatch:
    """A match that is being played, as far as it may be shown."""

    def __init__(self, live: LiveSource, delay: Delay) -> None:
        self._live, self._delay = live, delay

    def idle(self) -> int:
        return self._live.idle()

    def playing(self) -> bool:
        return self._live.playing()

    def read(self) -> Record | None:
        record = self._live.read()
        return record and self._delay.cut(record, self.idle())


class FoundMatch(NamedTuple):
    """A match: its record so far; `live` is where more of it comes from while it is played."""

    record: Record
    live: LiveSource | None = None


NO_DELAY = Delay()


class Site:
    """See the module. Any thread may call it."""

    def __init__(self, word: str, name: str, watch: "LobbyWatch | None" = None, delay: Delay = NO_DELAY) -> None:
        """`word`: the ladder as on a command line; "": there are only the matches of the lobby. Raises ViewError,
        ConfigError."""
        self.word, self.name = word, name
        self._watch, self._delay = watch, delay
        self._pools: dict[str, PoolRow] = {}  # by what keys of matches name a pool by
        self.lobby = lobby_terms(word)
        self._url = store_url(word) if word else ""
        if word:
            self.form = format_of(word)
            self.rate = PoolRater(self._url)
        self._base = live_base(self._url) if word else ""
        self._live = LiveMatches(self._base)
        self._records: LRUCache[bytes, tuple[Record, int]] = LRUCache(RECORDS, itemgetter(1))  # with their sizes
        self._lock = threading.Lock()
        self._stores: dict[bool, Store] = {}  # by whether reading may take longer than a visitor waits
        self._file: tuple[int, int] | None = None  # which file the store is
        self._waiting_lock = threading.Lock()
        self._waiting: dict[str, Record] = {}
        self._waiting_until = 0.0

    @contextlib.contextmanager
    def store(self) -> Iterator[Store]:
        """The store, opened when it is first needed, and again after an error or for a new file. Raises StoreError."""
        if not self.word:
            raise StoreError("this site shows live matches only", code="no-store")
        patient = PATIENT.get()
        with self._lock:
            if self._stores and self._file != self._identity():
                self._close()
                self.rate = PoolRater(self._url)
            if (store := self._stores.get(patient)) is None:
                self._file = self._identity()
                store = self._stores[patient] = Store.open(self._url, read_time=PATIENT_TIME if patient else QUERY_TIME)
        try:
            yield store
        except StoreError:
            with self._lock:
                if self._stores.get(patient) is store:
                    self._close()
            raise

    def playing(self) -> list[LiveHead]:
        """The matches that are being played now, oldest first."""
        here = sorted(map(head, self._live.playing()), key=lambda one: one.started)
        heads = [*here, *(self._watch.heads() if self._watch else ())]
        if self._delay == NO_DELAY:
            return heads
        return [one._replace(ply=len(found.record.plies)) for one in heads if (found := self.find(one.match))]

    @property
    def trouble(self) -> str:
        """Why nothing comes from the lobby that is watched, in a sentence; "" while it does."""
        return self._watch.trouble if self._watch else ""

    def find(self, key: str) -> FoundMatch | None:
        """A match by its key: being played, stored, or finished and not stored yet. Raises StoreError, Trouble."""
        live = self._find_live(key)
        if live is not None and live.playing() and (record := live.read()) is not None:
            return FoundMatch(record, live)
        if not self.word:
            return FoundMatch(record) if live is not None and (record := live.read()) is not None else None
        with self.store() as store:
            lines = store.record(key)
        if lines is not None:
            return FoundMatch(self._read(lines, key))
        if live is not None and (record := live.read()) is not None:
            return FoundMatch(record, None if record.end else live)
        done = self._not_stored().get(key)
        return FoundMatch(done) if done is not None else None

    def _read(self, lines: bytes, key: str) -> Record:
        """A stored record. It is kept under the hash of its lines, so that another store has no part of it."""
        digest = sha256(lines).digest()
        with self._lock:
            if (found := self._records.get(digest)) is not None:
                return found[0]
        record = read_one(lines, key)
        with self._lock, contextlib.suppress(ValueError):  # it is larger than the cache
            self._records[digest] = record, 2 * len(lines)  # about what its values take
        return record

    def _find_live(self, key: str) -> LiveSource | None:
        found: LiveSource | None = self._watch.find(key, under_way=bool(self.word)) if self._watch else None
        found = found or (self._live.find(key) if key else None)
        held = found and self._delay != NO_DELAY and self._is_rated(key)
        return DelayedMatch(found, self._delay) if found and held else found

    def _is_rated(self, key: str) -> bool:
        """Whether a match counts for a pool of the store; one of no pool there is taken for rated."""
        pool = self._pool(key)
        return pool.rated if pool else True

    def pool_of(self, key: str) -> str:
        """The name of the pool that a match is of, "" if it is of none."""
        pool = self._pool(key)
        return pool.name if pool else ""

    def _pool(self, key: str) -> PoolRow | None:
        name = pool_in(key)
        if self.word and name not in self._pools:
            with contextlib.suppress(StoreError), self.store() as store:
                self._pools = {pool.key[: len(name)]: pool for pool in store.pools(unrated=True)}
        return self._pools.get(name)

    def without_folders(self, text: str) -> str:
        """A text for strangers: the names of files without the folders of this machine where the ladder is."""
        for word in (self._base, "" if "://" in self.word else self.word):
            if (folder := os.path.dirname(word)) not in ("", "/"):  # noqa: PTH120
                text = text.replace(f"{folder}/", "")
        return text

    def follow(self, key: str) -> LiveSource | Record | None:
        """Where a Follower reads a match; None if it cannot be found now."""
        with contextlib.suppress(StoreError, Trouble):
            found = self.find(key)
            return found and (found.live or found.record)
        return None

    def version(self) -> tuple[object, object]:
        """Return which database is read, and what changes whenever its content does.

        The content of a database that is no file is taken for new each time; so is the database if it is not there.
        """
        if (identity := self._identity()) is None:
            return object() if self._url.startswith("sqlite") else self._url, object()
        found = []
        for path in (self._base, f"{self._base}-wal"):
            with contextlib.suppress(OSError):
                status = os.stat(path)  # noqa: PTH116
                found.append((status.st_ino, status.st_mtime_ns, status.st_size))
        return identity, found

    def close(self) -> None:
        if self._watch is not None:
            self._watch.close()
        with self._lock:
            self._close()

    def _close(self) -> None:
        """Threads that read keep their connections until they have read."""
        for store in self._stores.values():
            store.close()
        self._stores.clear()

    def _identity(self) -> tuple[int, int] | None:
        """Which file an SQLite store is; None if it is not there, or no file."""
        with contextlib.suppress(OSError):
            found = os.stat(self._base)  # noqa: PTH116
            return found.st_dev, found.st_ino
        return None

    def _not_stored(self) -> dict[str, Record]:
        """The matches that workers left; one thread at a time reads them, since they may be large."""
        with self._waiting_lock:
            if time.monotonic() >= self._waiting_until:
                self._waiting = interrupted(self._base)
                self._waiting_until = time.monotonic() + _FRESH
            return self._waiting
