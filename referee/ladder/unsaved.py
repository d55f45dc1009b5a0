"""Games that were played and are not durable yet: they wait for others (group commit), or for room on the disk."""

import time
from collections.abc import Sequence

from referee.ladder.pairs import PairResult
from referee.store.errors import StoreError
from referee.store.rows import Finished, Unplayable
from referee.store.store import Store

_AGAIN = 1.0  # seconds between attempts while the store takes nothing


class Unsaved:
    """What the store is to take. Nothing is dropped before it did."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._finished: list[Finished] = []
        self._unplayable: list[Unplayable] = []
        self._oldest = 0.0
        self._failing = 0.0  # since when
        self._next = 0.0  # no attempt before

    def __bool__(self) -> bool:
        return bool(self._finished or self._unplayable)

    @property
    def troubled(self) -> float:
        """Seconds since the store began to refuse; 0: it takes what it is given."""
        return time.monotonic() - self._failing if self._failing else 0.0

    @property
    def resting(self) -> bool:
        """Whether it refused a moment ago and is not to be asked now."""
        return time.monotonic() < self._next

    def add(self, finished: Sequence[Finished], unplayable: Sequence[Unplayable]) -> None:
        """They wait from now on."""
        if not self:
            self._oldest = time.monotonic()
        self._finished += finished
        self._unplayable += unplayable

    def save(self, age: float, again: bool = False) -> list[PairResult]:
        """Commit all if the oldest has waited for `age` seconds; the pairs that are finished by it.

        Raises StoreError; then all goes on waiting. After that it asks again only now and then, or when told to
        (`again`).
        """
        now = time.monotonic()
        if not self or now - self._oldest < age or (self.resting and not again):
            return []
        try:
            results = self._store.add(self._finished, self._unplayable)
        except StoreError:
            self.refused()
            raise
        self._finished, self._unplayable = [], []
        self.accepted()
        return results

    def accepted(self) -> None:
        """The store took something."""
        self._failing = self._next = 0.0

    def refused(self) -> None:
        """The store took nothing: not now."""
        now = time.monotonic()
        self._failing = self._failing or now
        self._next = now + _AGAIN
