"""Ratings of a pool: what the fit says in Elo, with error bars, neighbours, and where the model misfits."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from referee.ratings.brownian import phi
from referee.ratings.counts import Counts, Floats
from referee.ratings.fit import Fit, fit
from referee.ratings.outcome_models import DAVIDSON, NO_TIES, Model
from referee.ratings.priors import ELO, Priors


@dataclass(frozen=True, slots=True)
class Difference:
    """How much stronger one bot is than another: Elo, standard error, LOS = Φ(elo / se)."""

    elo: float
    se: float
    los: float


@dataclass(frozen=True, slots=True)
class Standing:
    """A bot's line: `se` is against the anchors (their mean), without anchors against the mean of the pool.

    `next` is the difference to the next lower bot, None for the last.
    """

    name: str
    elo: float
    se: float
    games: int
    score: float
    next: Difference | None


@dataclass(frozen=True, slots=True)
class Misfit:
    """An ordered pair's games: points of the first, points expected, and the deviance 2·Σ n·ln(n / expected n)."""

    first: str
    second: str
    games: float
    score: float
    expected: float
    deviance: float


@dataclass(frozen=True, slots=True)
class Ratings:
    """The ratings of a pool, Elo, in the order of `counts.names`. `fitted` is what a later `rate` may start from."""

    counts: Counts
    model: Model
    anchors: tuple[str, ...]
    fitted: Fit
    elo: Floats

    @property
    def advantage(self) -> float:
        """What sitting first is worth, Elo."""
        return self.fitted.advantage * ELO

    @property
    def advantage_se(self) -> float:
        """0 if it is fixed."""
        size = len(self.elo)
        return math.sqrt(self.fitted.covariance[size, size]) * ELO if self.fitted.with_advantage else 0.0

    @property
    def tie(self) -> float:
        """ν of Davidson, δ of Rao and Kupper; 0: there are no ties."""
        return math.exp(self.fitted.t) if self.fitted.t > NO_TIES else 0.0

    def difference(self, one: str, other: str) -> Difference:
        """Between any two bots; also between an anchor and its unpinned twin, an entry of its own."""
        names = self.counts.names
        return self._difference(names.index(one), names.index(other))

    def drifts(self, twin: str, anchor: str, sigmas: float = 3.0) -> bool:
        """Whether an anchor's unpinned twin has left it: the pool's scale moves, or the anchor is not what it was.

        Twins must not be pinned, and never meet their anchor; both play the rest of the pool.
        """
        apart = self.difference(twin, anchor)
        return abs(apart.elo) > sigmas * apart.se

    def errors(self) -> Floats:
        """Standard errors, Elo, in the order of `counts.names`: sd(θ_i − the mean θ of the anchors or of the pool)."""
        names = self.counts.names
        reference = np.zeros(len(names))
        chosen = [names.index(name) for name in self.anchors] or list(range(len(names)))
        reference[chosen] = 1 / len(chosen)
        covariance = self.fitted.covariance[: len(names), : len(names)]
        towards = covariance @ reference
        variance = covariance.diagonal() - 2 * towards + reference @ towards
        return np.sqrt(np.maximum(variance, 0)) * ELO

    def standings(self) -> list[Standing]:
        """Best first."""
        errors, games, scores = self.errors(), self.counts.games, self.counts.scores
        order = sorted(range(len(self.elo)), key=lambda index: (-self.elo[index], self.counts.names[index]))
        return [
            Standing(
                self.counts.names[bot],
                float(self.elo[bot]),
                float(errors[bot]),
                int(games[bot]),
                float(scores[bot]),
                self._difference(bot, lower) if lower is not None else None,
            )
            for bot, lower in zip(order, [*order[1:], None], strict=True)
        ]

    def misfits(self) -> list[Misfit]:
        """Every ordered pair that met, the worst fit first."""
        played, names = self.counts.played, self.counts.names
        games = played.games  # a sum over all pairs: taken once
        theta = self.elo / ELO
        x = theta[played.first] - theta[played.second] + self.fitted.advantage
        shares = self.model.probabilities(x, self.fitted.t)
        deviance = np.zeros_like(x)
        for count, share in zip((played.wins, played.ties, played.losses), shares, strict=True):
            met = count > 0
            deviance[met] += 2 * count[met] * np.log(count[met] / (games[met] * share[met]))
        points, expected = played.wins + played.ties / 2, games * (shares[0] + shares[1] / 2)
        return [
            Misfit(
                names[played.first[pair]],
                names[played.second[pair]],
                float(games[pair]),
                float(points[pair]),
                float(expected[pair]),
                max(0.0, float(deviance[pair])),
            )
            for pair in np.argsort(-deviance, kind="stable").tolist()
        ]

    def degrees_of_freedom(self) -> int:
        """Of the sum of all deviances: free shares of all pairs less the parameters; at least 0."""
        outcomes = 2 if self.tie else 1
        parameters = len(self.elo) - 1 + self.fitted.with_advantage + (outcomes - 1)
        return max(0, outcomes * len(self.counts.played.first) - parameters)

    def _difference(self, one: int, other: int) -> Difference:
        cells = self.fitted.covariance
        variance = cells[one, one] + cells[other, other] - 2 * cells[one, other]
        elo, se = float(self.elo[one] - self.elo[other]), math.sqrt(max(0.0, variance)) * ELO
        return Difference(elo, se, phi(elo / se) if se else 0.5)


def rate(
    counts: Counts,
    model: Model = DAVIDSON,
    priors: Priors | None = None,
    advantage: bool = True,
    start: Ratings | None = None,
) -> Ratings:
    """Rate a pool. `advantage` False: sitting first is worth nothing. `start`: ratings of before, to refit quickly.

    CountsError if there are fewer than two bots, or if a rating is infinite (only without prior): it names the bot.
    """
    priors = priors or Priors()
    before = start.fitted if start is not None and start.counts.names == counts.names else None
    found = fit(counts, model, priors, advantage, before)
    return Ratings(counts, model, tuple(priors.anchors), found, found.theta * ELO)


def worths(ratings: Ratings) -> Sequence[float]:
    """Bradley-Terry worths e^θ, of sum 1."""
    worth = np.exp(ratings.elo / ELO - (ratings.elo / ELO).max())
    return [float(value) for value in worth / worth.sum()]
