"""Counts the games of a pool per ordered pair of bots. A forfeit is a loss like any other."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Row = tuple[str, str, float, float, float]  # first, second, the first's wins, ties, losses


class CountsError(ValueError):
    """Counts that cannot be rated; the message names the bot."""


@dataclass(frozen=True, slots=True)
class Matrix:
    """Outcomes per ordered pair: indices of bots, and wins, ties and losses of the first (weights: not only whole)."""

    first: Ints
    second: Ints
    wins: Floats
    ties: Floats
    losses: Floats

    @property
    def games(self) -> Floats:
        return self.wins + self.ties + self.losses


@dataclass(frozen=True, slots=True)
class Counts:
    """A pool's results. Games that are void, by faults of both sides or of the engine, are not among them."""

    names: tuple[str, ...]
    played: Matrix

    @classmethod
    def of(cls, played: Iterable[Row], names: Iterable[str] = ()) -> "Counts":
        """From rows, of which several may be of one ordered pair; bots are numbered as they come, `names` first.

        CountsError for a bot against itself or a negative count.
        """
        played = list(played)
        index: dict[str, int] = {}
        for name in names:
            index.setdefault(name, len(index))
        for first, second, *numbers in played:
            if first == second:
                raise CountsError(f"{first} plays against itself")
            if not all(0 <= number < float("inf") for number in numbers):
                raise CountsError(f"{first} against {second}: a count is negative or no number")
            index.setdefault(first, len(index))
            index.setdefault(second, len(index))
        return cls(tuple(index), _matrix(played, index))

    @property
    def games(self) -> Floats:
        """Games of every bot."""
        return self._per_bot(self.played.games, self.played.games)

    @property
    def scores(self) -> Floats:
        """Points of every bot."""
        half = self.played.ties / 2
        return self._per_bot(self.played.wins + half, self.played.losses + half)

    def _per_bot(self, first: Floats, second: Floats) -> Floats:
        size = len(self.names)
        return sums(self.played.first, first, size) + sums(self.played.second, second, size)


def sums(index: Ints, values: Floats, size: int) -> Floats:
    """The sum of the values of every index below `size`."""
    return np.bincount(index, values, size).astype(np.float64, copy=False)


def _matrix(rows: list[Row], index: dict[str, int]) -> Matrix:
    """One line per ordered pair, in the order of first appearance; empty ones are left out."""
    sums: dict[tuple[int, int], list[float]] = {}
    for first, second, wins, ties, losses in rows:
        cell = sums.setdefault((index[first], index[second]), [0.0, 0.0, 0.0])
        cell[0] += wins
        cell[1] += ties
        cell[2] += losses
    filled = {pair: cell for pair, cell in sums.items() if any(cell)}
    pairs = np.array(list(filled), dtype=np.int64).reshape(-1, 2)
    cells = np.array(list(filled.values()), dtype=np.float64).reshape(-1, 3)
    return Matrix(pairs[:, 0], pairs[:, 1], cells[:, 0].copy(), cells[:, 1].copy(), cells[:, 2].copy())
