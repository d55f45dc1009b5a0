"""Ratings of a pool in Elo: the fit with error bars, the distances to the next bot, and where the model misfits."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ggp.referee.ratings.bradley_terry import (
    DAVIDSON,
    NO_TIES,
    Counts,
    Fit,
    Floats,
    Ints,
    Matrix,
    OutcomeModel,
    Priors,
    StartingPoint,
    fit,
    reached,
)
from ggp.referee.ratings.scale import ELO
from ggp.referee.ratings.sprt import phi
from ggp.referee.ratings.standings import WORST, Difference, Drift, PairMisfit, RatingTable, Standing


@dataclass(frozen=True, slots=True)
class Ratings:
    """The ratings of a pool, Elo, in the order of `counts.names`. `fitted` is what a later `rate` may start from."""

    counts: Counts
    model: OutcomeModel
    anchors: Mapping[str, float]
    fitted: Fit
    elo: Floats

    @property
    def advantage(self) -> float:
        """Return the Elo that seat 1 is worth."""
        return self.fitted.advantage * ELO

    @property
    def advantage_se(self) -> float:
        """Return the standard error of `advantage`; 0 if it is fixed."""
        size = len(self.elo)
        return math.sqrt(self.fitted.covariance[size, size]) * ELO if self.fitted.with_advantage else 0.0

    @property
    def tie(self) -> float:
        """Return the parameter of ties: ν of Davidson or δ of Rao and Kupper; 0 without ties."""
        return math.exp(self.fitted.t) if self.fitted.t > NO_TIES else 0.0

    def groups(self) -> Ints:
        """Return the group of each bot, in the order of `counts.names`.

        Bots of different groups have never met, not even through others, so nothing tells how their ratings compare.
        Groups count from 1, the largest first. 0: all bots are of one group, or the bot has no game.
        """
        return _groups(len(self.counts.names), self.counts.played)

    def comparable(self, one: str, other: str) -> bool:
        """Return whether games connect two bots."""
        names, groups = self.counts.names, self.groups()
        return bool(groups[names.index(one)] == groups[names.index(other)])

    def difference(self, one: str, other: str) -> Difference:
        """Return the difference of any two bots; an anchor and its unpinned twin are two."""
        names = self.counts.names
        return self._difference(names.index(one), names.index(other), self._unshifted(), self._held())

    def drift(self, twin: str, anchor: str, sigmas: float = 3.0) -> Drift | None:
        """Return how far an anchor's unpinned twin has left it, or None if it has not.

        A twin that left says that the scale of the pool moves, or that the anchor changed. A twin is not pinned and
        never meets its anchor; both play the rest of the pool.
        """
        apart = self.difference(twin, anchor)
        return Drift(twin, anchor, apart.elo, apart.se) if abs(apart.elo) > sigmas * apart.se else None

    def scale(self, among: Collection[str] | None = None) -> tuple[Floats, Floats]:
        """Return Elo as it is printed and the standard error of each number, in the order of `counts.names`.

        With anchors: an anchor has its given rating and no error, and the others have the mean and the error that
        they have if all anchors are exactly there (the conditional normal distribution). Without: 0 is the mean of
        the bots that have a game, of all or of those `among` them, and the error is of the difference to that mean.
        Of several groups, each without an anchor has its own mean for zero.
        """
        return self._scale(among, self.groups())

    def _scale(self, among: Collection[str] | None, groups: Ints) -> tuple[Floats, Floats]:
        size, elo = len(self.counts.names), self._unshifted()
        covariance = self.fitted.covariance[:size, :size]
        variance = covariance.diagonal().copy()
        if held := self._held():
            towards = covariance[held]
            variance -= (towards * np.linalg.solve(towards[:, held], towards)).sum(axis=0)
            variance[held] = 0
        else:
            weights = self._mean_weights(among)
            towards = covariance @ weights
            variance += weights @ towards - 2 * towards
            elo = elo - weights @ elo
        anchored = set(groups[held].tolist())
        for group in sorted(set(groups.tolist()) - anchored - {0}):
            here = groups == group
            weights = self._mean_weights(among, here)
            towards = covariance @ weights
            own = covariance.diagonal() + weights @ towards - 2 * towards
            variance, elo = np.where(here, own, variance), np.where(here, elo - weights @ elo, elo)
        return elo, np.sqrt(np.maximum(variance, 0)) * ELO

    def standings(self, among: Collection[str] | None = None) -> list[Standing]:
        """Return the standings, best first, on the scale of `among`. `next` is the next lower bot (of those `among`).

        Of several groups, one comes after the other, and bots without a game last; `next` is of the same group.
        """
        names, games, scores = self.counts.names, self.counts.games, self.counts.scores
        groups = self.groups()
        (elo, errors), held, unshifted = self._scale(among, groups), self._held(), self._unshifted()
        last = int(groups.max(initial=0)) + 1
        place = np.where(groups == 0, last, groups)
        order = sorted(range(len(elo)), key=lambda index: (place[index], -elo[index], names[index]))
        lower: list[int | None] = []  # the worst first
        below: int | None = None
        for bot in reversed(order):
            lower.append(below if below is not None and place[below] == place[bot] else None)
            if among is None or names[bot] in among:
                below = bot
        return [
            Standing(
                names[bot],
                float(elo[bot]),
                float(errors[bot]),
                int(games[bot]),
                float(scores[bot]),
                self._difference(bot, next, unshifted, held) if next is not None else None,
                int(groups[bot]),
            )
            for bot, next in zip(order, reversed(lower), strict=True)
        ]

    def table(self, among: Collection[str] | None = None) -> RatingTable:
        """Return the standings with what they rest on, as `standings` does."""
        return RatingTable(
            games=int(self.counts.played.games.sum()),
            model=self.model.name,
            advantage=self.advantage,
            advantage_se=self.advantage_se,
            tie=self.tie,
            rows=tuple(self.standings(among)),
            anchors=self.anchors,
            deviance=self.deviance(),
            freedom=self.degrees_of_freedom(),
            misfits=tuple(self.misfits(WORST)),
        )

    def deviance(self) -> float:
        """Return the deviance of all ordered pairs that met."""
        return math.fsum(self._fitness()[-1].tolist())

    def misfits(self, most: int | None = None) -> list[PairMisfit]:
        """Return the ordered pairs that met, the worst fit first: all, or the first `most`."""
        played, names, columns = self.counts.played, self.counts.names, self._fitness()
        return [
            PairMisfit(
                names[played.first[pair]], names[played.second[pair]], *(float(column[pair]) for column in columns)
            )
            for pair in _greatest(columns[-1], most).tolist()
        ]

    def degrees_of_freedom(self) -> int:
        """Return the degrees of freedom of the deviance: free shares of all pairs less the parameters; at least 0."""
        outcomes = 2 if self.tie else 1
        parameters = len(self.elo) - 1 + self.fitted.with_advantage + (outcomes - 1)
        return max(0, outcomes * len(self.counts.played.first) - parameters)

    def _fitness(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Return games, points, expected points and deviance of the ordered pairs that met, as in `counts.played`."""
        played = self.counts.played
        games, theta = played.games, self.elo / ELO
        x = theta[played.first] - theta[played.second] + self.fitted.advantage
        shares = self.model.probabilities(x, self.fitted.t)
        deviance = np.zeros_like(x)
        for count, share in zip((played.wins, played.ties, played.losses), shares, strict=True):
            met = count > 0
            deviance[met] += 2 * count[met] * np.log(count[met] / (games[met] * share[met]))
        expected = games * (shares[0] + shares[1] / 2)
        return games, played.wins + played.ties / 2, expected, np.maximum(deviance, 0.0)

    def _held(self) -> list[int]:
        """Return the places of the anchors."""
        return [self.counts.names.index(name) for name in self.anchors]

    def _unshifted(self) -> Floats:
        """Return the ratings of the fit; with anchors, those that follow if every anchor is exactly at its rating."""
        held = self._held()
        if not held:
            return self.elo
        towards, given = self.fitted.covariance[held, : len(self.elo)], np.array(list(self.anchors.values()))
        elo = self.elo + np.linalg.solve(towards[:, held], given - self.elo[held]) @ towards
        elo[held] = given
        return elo

    def _difference(self, one: int, other: int, elo: Floats, held: list[int]) -> Difference:
        """Return a difference. `held` are the places of the anchors: the difference of two of them is known."""
        gap, variance = float(elo[one] - elo[other]), 0.0
        if one not in held or other not in held:
            covariance = self.fitted.covariance
            apart = covariance[one] - covariance[other]
            variance = float(apart[one] - apart[other])
            if held:
                towards = np.linalg.solve(covariance[np.ix_(held, held)], apart[held])
                variance -= float(apart[held] @ towards)
        if variance <= 0:
            return Difference(gap, 0.0, 0.5 if gap == 0 else float(gap > 0))
        se = math.sqrt(variance) * ELO
        return Difference(gap, se, phi(gap / se))

    def _mean_weights(self, among: Collection[str] | None, here: NDArray[np.bool_] | None = None) -> Floats:
        """Return equal weights for the bots that have a game, or for all if none has one, among `here` if given."""
        names, counts = self.counts.names, self.counts
        chosen = np.array([among is None or name in among for name in names])
        met = counts.games > 0
        if here is not None:
            met &= here
            chosen = chosen & here if (chosen & here).any() else here.copy()
        if (chosen & met).any():
            chosen &= met
        elif not chosen.any():
            chosen[:] = True
        return np.asarray(chosen / chosen.sum(), dtype=np.float64)


def rate(
    counts: Counts,
    model: OutcomeModel = DAVIDSON,
    priors: Priors | None = None,
    advantage: bool = True,
    start: "Ratings | RatingTable | None" = None,
) -> Ratings:
    """Rate a pool.

    Args:
        counts: The results.
        model: How probable wins, ties and losses are.
        priors: What is known before; by default the spread of a pool.
        advantage: False if sitting first is worth nothing.
        start: Earlier ratings, from which the fit takes fewer steps. It ends at the same ratings from anywhere, but
            for less than 10⁻⁶ Elo. Ratings by another model are ignored.

    Raises:
        CountsError: There are fewer than two bots, or a rating is infinite (only without prior). It names the bot.
    """
    priors = priors or Priors()
    before: StartingPoint | None = None
    if isinstance(start, RatingTable):
        before = starting_point(start, counts.names) if start.model == model.name else None
    elif start is not None and start.counts.names == counts.names:
        before = StartingPoint(start.fitted.theta, start.fitted.advantage, start.fitted.t)
    found = fit(counts, model, priors, advantage, before)
    return Ratings(counts, model, dict(priors.anchors), found, found.theta * ELO)


def starting_point(table: RatingTable, names: Sequence[str]) -> StartingPoint | None:
    """Return where to begin the rating of these bots, some of which may be new; None if nothing is known."""
    elo = {row.name: row.elo for row in table.rows}
    known = [elo[name] for name in names if name in elo]
    if not known or not table.tie > 0:
        return None
    mean = math.fsum(known) / len(known)
    theta = np.array([elo.get(name, mean) for name in names]) / ELO
    point = StartingPoint(theta, table.advantage / ELO, math.log(table.tie))
    return point if np.isfinite([*theta, point.advantage, point.t]).all() else None


def worths(ratings: Ratings) -> Sequence[float]:
    """Return Bradley-Terry worths e^θ, which sum to 1."""
    worth = np.exp(ratings.elo / ELO - (ratings.elo / ELO).max())
    return [float(value) for value in worth / worth.sum()]


def _groups(size: int, played: Matrix) -> Ints:
    """Return the group of each bot: see Ratings.groups."""
    met = np.zeros((size, size), dtype=np.bool_)
    here = played.games > 0
    met[played.first[here], played.second[here]] = met[played.second[here], played.first[here]] = True
    found = list[Ints]()
    left = met.any(axis=1)
    while left.any():
        together = reached(met, int(np.argmax(left)))
        found.append(np.flatnonzero(together))
        left &= ~together
    groups = np.zeros(size, dtype=np.int64)
    if len(found) > 1:
        for number, members in enumerate(sorted(found, key=lambda group: (-len(group), group[0])), 1):
            groups[members] = number
    return groups


def _greatest(values: Floats, most: int | None) -> Ints:
    """Return the indices of the greatest values, largest first, equal ones in order, without sorting the others."""
    here = np.arange(len(values))
    if most is not None and most < len(values):
        least = np.partition(values, len(values) - most)[len(values) - most] if most else math.inf
        here = np.flatnonzero(values >= least)
    return here[np.argsort(-values[here], kind="stable")][:most]
