"""Who was paired with whom how often, pairs that are still to be played included. It knows no results."""

from collections.abc import Mapping, Sequence
from itertools import chain

import numpy as np

from referee.ratings.counts import Ints


class Encounters:
    """Counts of pairs: between any two versions, and of each."""

    def __init__(self, met: Mapping[tuple[int, int], int]) -> None:
        self._met = dict(met)
        self._ids: list[int] = []
        self._table, self._each = self._tabled()

    def add(self, one: int, other: int, times: int = 1) -> None:
        """One pair more."""
        two = (one, other) if one < other else (other, one)
        self._met[two] = self._met.get(two, 0) + times
        places = [self._places.get(id) for id in two]
        for place in places:
            if place is not None:
                self._each[place] += times
        low, high = places
        if low is not None and high is not None:
            self._table[low, high] += times
            self._table[high, low] += times

    def table(self, ids: Sequence[int]) -> tuple[Ints, Ints]:
        """Among the versions with these rising ids: pairs of any two (symmetric), and all pairs of each one.

        The latter count pairs with others too. Whoever keeps the arrays copies them: later pairs change them.
        """
        if list(ids) != self._ids:
            self._ids = list(ids)
            self._table, self._each = self._tabled()
        return self._table, self._each

    def _tabled(self) -> tuple[Ints, Ints]:
        self._places = {id: place for place, id in enumerate(self._ids)}
        count, size = len(self._met), len(self._ids)
        pairs = np.fromiter(chain.from_iterable(self._met), np.int64, 2 * count).reshape(-1, 2)
        times = np.fromiter(self._met.values(), np.int64, count)
        table, each = np.zeros((size, size), dtype=np.int64), np.zeros(size, dtype=np.int64)
        if not size:
            return table, each
        chosen = np.array(self._ids, dtype=np.int64)
        places = np.minimum(np.searchsorted(chosen, pairs), size - 1)
        here = chosen[places] == pairs
        for side in (0, 1):
            np.add.at(each, places[here[:, side], side], times[here[:, side]])
        low, high = places[here.all(axis=1)].T
        table[low, high] = table[high, low] = times[here.all(axis=1)]
        return table, each
