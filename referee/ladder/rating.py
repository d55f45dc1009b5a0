"""Rate the versions in a pool by its stored results. This loads numpy, which stored standings do not need."""

from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter

import numpy as np

from ggp.referee.ladder.store.model import PairScore, PoolEntry
from ggp.referee.ratings.bradley_terry import MODELS, Counts, Floats, Ints, Matrix, Priors
from ggp.referee.ratings.ratings import Ratings, rate
from ggp.referee.ratings.standings import RatingTable

# -- results per ordered pair of versions, as arrays: a million games are rated quickly -----------------------------


_COLUMNS = ("first", "second", "wins", "ties", "losses", "forfeit_wins", "forfeit_losses", "void")
_IDS = 1 << 31  # above every id of a version


class ResultsTable:
    """A growing table of meetings. The same meetings give the same arrays, in whatever order and portions they came."""

    def __init__(self, meetings: Sequence[PairScore] = ()) -> None:
        self._rows = _merged(_rows(meetings))
        self._fresh: list[PairScore] = []
        self._repeats = np.zeros((0, 5), dtype=np.int64)

    @classmethod
    def of(cls, counts: Sequence[str], repeats: Sequence[tuple[int, int, int, int, int]] = ()) -> "ResultsTable":
        """Make a table of the store's `meeting_counts`; `repeats` (of the store) are games that ratings leave out."""
        made = cls()
        made._repeats = np.array(repeats, dtype=np.int64).reshape(-1, 5)
        if counts:
            columns = [np.fromstring(values, np.int64, sep=",") for values in counts]
            made._rows = _merged(np.stack(columns, axis=1))
        return made

    def add(self, meetings: Iterable[PairScore]) -> None:
        """Count more meetings."""
        self._fresh += meetings

    def plus(self, meetings: Sequence[PairScore]) -> "ResultsTable":
        """Return a new table that counts these, too."""
        other = ResultsTable()
        other._rows, other._fresh = self.rows, list(meetings)
        return other

    @property
    def rows(self) -> Ints:
        """Return a row for each ordered pair that met, sorted.

        The columns are both ids, wins, ties, losses, forfeit wins, forfeit losses, void.
        """
        if self._fresh:
            self._rows = _merged(np.concatenate([self._rows, _rows(self._fresh)]))
            self._fresh.clear()
        return self._rows

    def ids(self) -> Ints:
        """Return the ids of the versions with a game that counts, rising."""
        rows = self.rows
        return np.unique(rows[rows[:, 2:7].any(axis=1), :2])

    def totals(self, ids: Sequence[int]) -> tuple[Ints, Floats]:
        """Return for each of these versions, whose ids rise, the games that count and the points in them."""
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
        """Return the results among these versions, named by their ids, which rise and hold all of `self.ids()`."""
        rows = self.rows
        rows = rows[rows[:, 2:7].any(axis=1)]
        first, second = np.searchsorted(ids, rows[:, 0]), np.searchsorted(ids, rows[:, 1])
        wins, ties, losses, forfeit_wins, forfeit_losses = rows[:, 2:7].astype(np.float64).T
        scored = np.stack([wins + forfeit_wins, ties, losses + forfeit_losses])
        if len(self._repeats) and len(rows):
            keys, repeated = (table[:, 0] * _IDS + table[:, 1] for table in (rows, self._repeats))
            places = np.minimum(np.searchsorted(keys, repeated), len(keys) - 1)
            here = keys[places] == repeated
            scored[:, places[here]] -= self._repeats[here, 2:].T
        return Counts(tuple(map(str, ids.tolist())), Matrix(first, second, *np.maximum(scored, 0)))


def _rows(meetings: Sequence[PairScore]) -> Ints:
    columns = [np.fromiter(map(attrgetter(name), meetings), np.int64, len(meetings)) for name in _COLUMNS]
    return np.stack(columns, axis=1)


def _merged(rows: Ints) -> Ints:
    """Merge lines of one ordered pair and sort them: sums do not depend on their order, to the last bit."""
    keys = rows[:, 0] * _IDS + rows[:, 1]
    if (keys[1:] > keys[:-1]).all():
        return rows
    order = np.argsort(keys, kind="stable")
    rows, keys = rows[order], keys[order]
    starts = np.flatnonzero(np.diff(keys, prepend=-1))
    if len(starts) == len(rows):
        return rows
    merged = rows[starts]
    merged[:, 2:] = np.add.reduceat(rows[:, 2:], starts, axis=0)
    return merged


# -- Rates the versions of a pool from their results, with parents and anchors.


def rate_seats(
    meetings: Iterable[PairScore] | ResultsTable,
    seats: Sequence[PoolEntry],
    model: str = "davidson",
    start: Ratings | RatingTable | None = None,
) -> Ratings:
    """Rate every version that has a game or is active, named by its id. A forfeit is a loss.

    `start` are earlier ratings to start from, which helps if they rate the same versions.

    Raises:
        CountsError: There are fewer than two versions.
    """
    table = meetings if isinstance(meetings, ResultsTable) else ResultsTable(list(meetings))
    return rate_tally(table, seats, [seat.id for seat in seats if seat.active], model, start)


def rate_tally(
    tally: ResultsTable,
    seats: Sequence[PoolEntry],
    here: Sequence[int],
    model: str = "davidson",
    start: Ratings | RatingTable | None = None,
) -> Ratings:
    """Rate the versions with a game, and those with the ids `here`, by a table. Otherwise like rate_seats."""
    ids = np.union1d(tally.ids(), np.array(here, dtype=np.int64))
    present = set(ids.tolist())
    anchors = {str(seat.id): seat.anchor for seat in seats if seat.anchor is not None and seat.id in present}
    priors = Priors(parents=parents_of(seats, present), anchors=anchors)
    return rate(tally.counts(ids), MODELS[model], priors, start=start)


def parents_of(seats: Sequence[PoolEntry], present: set[int]) -> Mapping[str, str]:
    """Return the nearest rated ancestor of every version, by name. A circle of parents is cut open."""
    direct = {seat.id: seat.parent for seat in seats if seat.parent is not None}
    parents: dict[str, str] = {}
    for child in sorted(present):
        parent, seen = direct.get(child), {child}
        while parent is not None and parent not in present and parent not in seen:
            seen.add(parent)
            parent = direct.get(parent)
        if parent is not None and parent in present and not _descends(parents, str(parent), str(child)):
            parents[str(child)] = str(parent)
    return parents


def elo_and_error(ratings: Ratings, ids: Sequence[int]) -> tuple[Floats, Floats]:
    """Return ratings and standard errors of these rated versions in Elo, as they are printed."""
    elo, errors = ratings.scale()
    index = {name: number for number, name in enumerate(ratings.counts.names)}
    places = [index[str(id)] for id in ids]
    return elo[places], errors[places]


def _descends(parents: Mapping[str, str], name: str, forebear: str) -> bool:
    while name in parents:
        if name == forebear:
            return True
        name = parents[name]
    return name == forebear
