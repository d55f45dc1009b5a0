"""What a pool's games came to, per ordered pair of versions: arrays, so that a million games are rated quickly.

It knows nothing of pairs, batches or who is entered; whoever rates it says under which names.
"""

from collections.abc import Iterable, Sequence
from operator import attrgetter

import numpy as np

from referee.ladder.pairs import Meeting
from referee.ratings.counts import Counts, Floats, Ints, Matrix

_COLUMNS = ("first", "second", "wins", "ties", "losses", "forfeit_wins", "forfeit_losses", "void")
_IDS = 1 << 31  # above every id of a version


class Tally:
    """Grows by meetings. The same meetings give the same arrays, in whatever order and portions they came."""

    def __init__(self, meetings: Sequence[Meeting] = ()) -> None:
        self._rows = _merged(_rows(meetings))
        self._fresh: list[Meeting] = []

    def add(self, meetings: Iterable[Meeting]) -> None:
        """Count these too."""
        self._fresh += meetings

    def plus(self, meetings: Sequence[Meeting]) -> "Tally":
        """Another, with these too; this one stays as it is."""
        other = Tally()
        other._rows, other._fresh = self.rows, list(meetings)
        return other

    @property
    def rows(self) -> Ints:
        """A line per ordered pair that met: both ids, wins, ties, losses, forfeit wins, forfeit losses, void."""
        if self._fresh:
            self._rows = _merged(np.concatenate([self._rows, _rows(self._fresh)]))
            self._fresh.clear()
        return self._rows

    def ids(self) -> Ints:
        """Who has a game that counts, by id."""
        rows = self.rows
        return np.unique(rows[rows[:, 2:7].any(axis=1), :2])

    def totals(self, ids: Sequence[int]) -> tuple[Ints, Floats]:
        """Of each of these versions, whose ids rise: the games that count, and the points in them."""
        rows, chosen = self.rows, np.array(ids, dtype=np.int64)
        games, points = np.zeros(len(ids), dtype=np.int64), np.zeros(len(ids))
        played = rows[:, 2:7].sum(axis=1)
        of_first = rows[:, 2] + rows[:, 3] / 2 + rows[:, 5]
        for side, scored in enumerate((of_first, played - of_first)):
            places = np.minimum(np.searchsorted(chosen, rows[:, side]), len(ids) - 1)
            here = chosen[places] == rows[:, side]
            np.add.at(games, places[here], played[here])
            np.add.at(points, places[here], scored[here])
        return games, points

    def counts(self, ids: Ints) -> Counts:
        """What was played among these versions, under their ids as names. `ids` rise and hold all that `ids` says."""
        rows = self.rows
        rows = rows[rows[:, 2:7].any(axis=1)]
        first, second = np.searchsorted(ids, rows[:, 0]), np.searchsorted(ids, rows[:, 1])
        wins, ties, losses, forfeit_wins, forfeit_losses = rows[:, 2:7].astype(np.float64).T
        return Counts(
            tuple(map(str, ids.tolist())),
            Matrix(first, second, wins + forfeit_wins, ties.copy(), losses + forfeit_losses),
        )


def _rows(meetings: Sequence[Meeting]) -> Ints:
    columns = [np.fromiter(map(attrgetter(name), meetings), np.int64, len(meetings)) for name in _COLUMNS]
    return np.stack(columns, axis=1)


def _merged(rows: Ints) -> Ints:
    """One line per ordered pair, rising: sums do not depend on the way here, to the last bit."""
    keys = rows[:, 0] * _IDS + rows[:, 1]
    order = np.argsort(keys, kind="stable")
    rows, keys = rows[order], keys[order]
    starts = np.flatnonzero(np.diff(keys, prepend=-1))
    if len(starts) == len(rows):
        return rows
    merged = rows[starts]
    merged[:, 2:] = np.add.reduceat(rows[:, 2:], starts, axis=0)
    return merged
