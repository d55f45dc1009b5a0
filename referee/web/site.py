"""What `ggp web` reads: the store of a ladder, and the matches that its workers are playing. It blocks."""

import contextlib
import threading
from collections.abc import Iterator
from typing import NamedTuple

from protocol.records import Record
from referee.ladder.queries import format_of, read_game
from referee.ladder.source import Trouble, ViewError, store_url
from referee.records import LiveHead, LiveMatch, find_live, interrupted, live_base, running
from referee.store.model import StoreError
from referee.store.store import Store


class FoundMatch(NamedTuple):
    """A match: its record so far; `live` is where more of it comes from while it is played."""

    record: Record
    live: LiveMatch | None = None


class Site:
    """See the module. Any thread may call it."""

    def __init__(self, word: str, name: str) -> None:
        """`word`: the ladder as on a command line. Raises ViewError, ConfigError."""
        self.word, self.name = word, name
        self.form = format_of(word)
        self._url = store_url(word)
        self._base = live_base(self._url)
        self._lock = threading.Lock()
        self._store: Store | None = None

    @contextlib.contextmanager
    def store(self) -> Iterator[Store]:
        """The store, opened when it is first needed, and again after an error. Raises StoreError."""
        with self._lock:
            store = self._store = self._store or Store.open(self._url)
        try:
            yield store
        except StoreError:
            with self._lock:
                self._store = None if self._store is store else self._store
            raise

    def playing(self) -> list[LiveHead]:
        """The matches that are being played now, oldest first."""
        return running(self._base)

    def find(self, key: str) -> FoundMatch | None:
        """A match by its key: being played, stored, or finished and not stored yet. Raises StoreError, Trouble."""
        live = find_live(self._base, key)
        if live is not None and live.playing() and (record := live.read()) is not None:
            return FoundMatch(record, live)
        with self.store() as store, contextlib.suppress(ViewError):
            return FoundMatch(read_game(store, key))
        if live is not None and (record := live.read()) is not None:
            return FoundMatch(record, None if record.end else live)
        done = interrupted(self._base).get(key)
        return FoundMatch(done) if done is not None else None

    def follow(self, key: str) -> LiveMatch | Record | None:
        """Where a Follower reads a match; None if it cannot be found now."""
        with contextlib.suppress(StoreError, Trouble):
            found = self.find(key)
            return found and (found.live or found.record)
        return None

    def close(self) -> None:
        with self._lock:
            if self._store is not None:
                self._store.close()
                self._store = None
