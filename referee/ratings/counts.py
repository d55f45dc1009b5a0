"""What was played in a pool: counts per ordered pair of bots, played games and forfeits apart. It rates nothing."""

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
    """A pool's results. `forfeits` counts games that the first won (`wins`) or lost because the other forfeited.

    Faults of both sides or of the engine are void: they are in neither.
    """

    names: tuple[str, ...]
    played: Matrix
    forfeits: Matrix

    @classmethod
    def of(cls, played: Iterable[Row], forfeits: Iterable[Row] = (), names: Iterable[str] = ()) -> "Counts":
        """From rows, of which several may be of one ordered pair; bots are numbered as they come, `names` first.

        CountsError for a bot against itself, a negative count, or a forfeit that is a tie.
        """
        played, forfeits = list(played), list(forfeits)
        index: dict[str, int] = {}
        for name in names:
            index.setdefault(name, len(index))
        for first, second, *numbers in [*played, *forfeits]:
            if first == second:
                raise CountsError(f"{first} plays against itself")
            if not all(0 <= number < float("inf") for number in numbers):
                raise CountsError(f"{first} against {second}: a count is negative or no number")
            index.setdefault(first, len(index))
            index.setdefault(second, len(index))
        if any(ties for _, _, _, ties, _ in forfeits):
            raise CountsError("a forfeit cannot be a tie")
        return cls(tuple(index), _matrix(played, index), _matrix(forfeits, index))

    @property
    def games(self) -> Floats:
        """Played games of every bot."""
        return self._per_bot(self.played.games, self.played.games)

    @property
    def scores(self) -> Floats:
        """Points of every bot in played games."""
        half = self.played.ties / 2
        return self._per_bot(self.played.wins + half, self.played.losses + half)

    @property
    def forfeited(self) -> Floats:
        """Of every bot: its games that ended by a forfeit of either side."""
        size, forfeits = len(self.names), self.forfeits
        return sums(forfeits.first, forfeits.games, size) + sums(forfeits.second, forfeits.games, size)

    def forfeit_rates(self) -> Floats:
        """Of every bot: its forfeits / all its games."""
        size, forfeits = len(self.names), self.forfeits
        lost = sums(forfeits.first, forfeits.losses, size) + sums(forfeits.second, forfeits.wins, size)
        games = self.games + self.forfeited
        return np.divide(lost, games, out=np.zeros_like(lost), where=games > 0)

    def _per_bot(self, first: Floats, second: Floats) -> Floats:
        size = len(self.names)
        return sums(self.played.first, first, size) + sums(self.played.second, second, size)


def sums(index: Ints, values: Floats, size: int) -> Floats:
    """The sum of the values of every index below `size`."""
    return np.bincount(index, values, size).astype(np.float64, copy=False)


def weighted(counts: Counts) -> tuple[Matrix, Matrix]:
    """The outcomes that rate both bots, and those that rate the forfeiting one alone.

    The forfeiting bot is rated fully, the winner with the weight 1 − the loser's forfeit rate: that much of the
    game is an ordinary loss, the rest moves the loser against a winner who stands still.
    """
    forfeits, rates = counts.forfeits, counts.forfeit_rates()
    won, lost = rates[forfeits.second], rates[forfeits.first]
    none = np.zeros_like(won)
    shared = Matrix(forfeits.first, forfeits.second, forfeits.wins * (1 - won), none, forfeits.losses * (1 - lost))
    alone = Matrix(forfeits.first, forfeits.second, forfeits.wins * won, none, forfeits.losses * lost)
    if not len(forfeits.first):
        return counts.played, alone
    return _joined(counts.played, shared), alone


def _joined(one: Matrix, other: Matrix) -> Matrix:
    return Matrix(
        np.concatenate([one.first, other.first]),
        np.concatenate([one.second, other.second]),
        np.concatenate([one.wins, other.wins]),
        np.concatenate([one.ties, other.ties]),
        np.concatenate([one.losses, other.losses]),
    )


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
