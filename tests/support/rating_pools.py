"""Pools of results for tests of ratings: even ones, and simulated ones whose truth is known."""

from itertools import permutations

import numpy as np

from referee.ratings.bradley_terry import ELO, Counts, Floats, OutcomeModel, Row


class RatingPool(Counts):
    """Counts that give their rows again."""

    def played_rows(self) -> list[Row]:
        cells = (self.played.first, self.played.second, self.played.wins, self.played.ties, self.played.losses)
        return [
            (self.names[first], self.names[second], wins, ties, losses)
            for first, second, wins, ties, losses in zip(*(cell.tolist() for cell in cells), strict=True)
        ]


def pool_of(names: str, games: int = 10) -> RatingPool:
    """Everybody against everybody from both seats, all even: `games` wins, ties and losses each."""
    even = Counts.of([(one, other, games, games, games) for one, other in permutations(names, 2)])
    return RatingPool(even.names, even.played)


def simulated(
    model: OutcomeModel, bots: int, games: int, seed: int, advantage: float, t: float
) -> tuple[Floats, Counts]:
    """True ratings (Elo, sd 150) and so many random games of random ordered pairs under `model`."""
    chance = np.random.default_rng(seed)
    truth = chance.normal(0, 150, bots)
    first = chance.integers(0, bots, games)
    second = (first + chance.integers(1, bots, games)) % bots
    win, tie, _ = model.probabilities((truth[first] - truth[second] + advantage) / ELO, t)
    draw = chance.random(games)
    rows: list[Row] = [
        (str(one), str(other), float(u < w), float(w <= u < w + d), float(u >= w + d))
        for one, other, u, w, d in zip(first.tolist(), second.tolist(), draw, win, tie, strict=True)
    ]
    return truth, Counts.of(rows, names=map(str, range(bots)))
