"""The maximum of the log-posterior by Newton's method, and the curvature there; units are natural, not Elo."""

import math
from dataclasses import dataclass

import numpy as np

from referee.ratings.counts import Counts, CountsError, Floats, Matrix, sums
from referee.ratings.existence import why_infinite
from referee.ratings.outcome_models import NO_TIES, Derivatives, Model
from referee.ratings.priors import ELO, Priors, of_ratings

_STEPS = 200
_NEAR = 1e-6  # natural units; a step that is no longer is the last: the error after it is its square
_OPEN = 1e7  # a variance in natural units that no finite estimate has
_TIE_NEAR = 0.01


@dataclass(frozen=True, slots=True)
class Fit:
    """θ of every bot, the first-seat advantage, t of the model's ties, and the covariance of all of them.

    In the covariance the bots come first, then the advantage (if `with_advantage`), then t (if it is finite).
    """

    theta: Floats
    advantage: float
    t: float
    covariance: Floats
    with_advantage: bool
    steps: int


def fit(counts: Counts, model: Model, priors: Priors, advantage: bool = True, start: Fit | None = None) -> Fit:
    """The most probable ratings; with `priors.plain` the likeliest ones, of mean 0 if there is no anchor.

    `start` is an earlier fit of the same names to begin from. CountsError, naming the bot, if there is no maximum.
    """
    if len(counts.names) < 2:
        raise CountsError(f"{counts.names[0]} is alone: a rating needs two bots" if counts.names else "no game")
    played = counts.played
    if priors.plain and (reason := why_infinite(counts.names, played)):
        raise CountsError(f"{reason}; a prior makes it finite")
    ties = bool(played.ties.any())
    if priors.plain and ties and not (played.wins.any() or played.losses.any()):
        raise CountsError(f"every game is a tie: {model.tie} is infinite; a prior makes it finite")
    objective = Objective(counts.names, played, model, priors, advantage, ties or not priors.plain)
    point, steps = _climb(objective, objective.begin(start))
    theta, a, t = objective.parts(point)
    _, _, curvature = objective.at(point)
    return Fit(theta, a, t, _inverse(curvature), advantage, steps)


def _inverse(curvature: Floats) -> Floats:
    """The covariance. CountsError if the results leave a direction open, which all finite ratings then may be."""
    try:
        covariance = np.asarray(np.linalg.inv(curvature), dtype=np.float64)
    except np.linalg.LinAlgError:
        covariance = np.full_like(curvature, math.inf)
    if not 0 <= float(covariance.diagonal().min()) <= float(covariance.diagonal().max()) < _OPEN:
        raise CountsError("sitting first cannot be told apart from being stronger: leave it out, or take a prior")
    return covariance


class Objective:
    """The log-posterior as a function of one vector: ratings, then a (if it is free), then t (if it is free)."""

    def __init__(self, names: tuple[str, ...], played: Matrix, model: Model, priors: Priors, a: bool, t: bool) -> None:
        self.names, self._played, self._model, self._priors = names, played, model, priors
        self._size, self._a, self._t = len(names), a, t
        self._precision, self._pull = of_ratings(priors, names)

    def begin(self, start: Fit | None) -> Floats:
        """The first vector: an earlier fit's, or the prior's."""
        theta, a, t = np.zeros(self._size), 0.0, self._priors.tie_mean
        if self._t and start is None:
            t = self._tie()
        if start is not None and len(start.theta) == self._size:
            theta, a, t = start.theta, start.advantage, max(start.t, -30.0)
        elif self._priors.anchors:
            theta = theta + sum(self._priors.anchors.values()) / len(self._priors.anchors) / ELO
        return np.concatenate([theta, [a] * self._a, [t] * self._t])

    def _tie(self) -> float:
        """Near where t ends: the best one if all bots were equal. From afar each step would bring it by 1 at most."""
        played, one, t = self._played, np.zeros(1, dtype=np.int64), self._priors.tie_mean
        wins, ties, losses = (np.array([count.sum()]) for count in (played.wins, played.ties, played.losses))
        together, pull = Matrix(one, one, wins, ties, losses), 0.0 if self._priors.plain else self._priors.tie**-2
        for _ in range(_STEPS):
            found = self._model.derivatives(together, np.zeros(1), t)
            slope = float(found.t[0]) - pull * (t - self._priors.tie_mean)
            curve = float(found.tt[0]) + pull
            step = slope / curve if curve > 0 else math.copysign(1.0, slope)
            t += max(-1.0, min(1.0, step))
            if abs(step) < _TIE_NEAR:
                break
        return t if math.isfinite(t) else self._priors.tie_mean

    def parts(self, point: Floats) -> tuple[Floats, float, float]:
        """Ratings, a and t."""
        a = float(point[self._size]) if self._a else 0.0
        return point[: self._size], a, float(point[-1]) if self._t else NO_TIES

    def value(self, point: Floats) -> float:
        """The log-posterior, but for a constant."""
        theta, a, t = self.parts(point)
        return self._derivatives(theta, a, t).value + self._log_prior(theta, a, t)

    def at(self, point: Floats) -> tuple[float, Floats, Floats]:
        """Value, gradient and negative Hessian."""
        theta, a, t = self.parts(point)
        found = self._derivatives(theta, a, t)
        gradient, hessian = self._prior_slopes(theta, a, t)
        _add_pairs(gradient, hessian, self._played, found, self._size, self._a, self._t)
        diagonal = np.arange(self._size)
        if self._priors.plain and not self._priors.anchors:  # all ratings may be shifted: hold their mean
            hessian[: self._size, : self._size] += hessian[diagonal, diagonal].mean() / self._size
        return found.value + self._log_prior(theta, a, t), gradient, hessian

    def _derivatives(self, theta: Floats, a: float, t: float) -> Derivatives:
        played = self._played
        return self._model.derivatives(played, theta[played.first] - theta[played.second] + a, t)

    def _log_prior(self, theta: Floats, a: float, t: float) -> float:
        value = float(self._pull @ theta - theta @ self._precision @ theta / 2)
        if self._priors.plain:
            return value
        value -= (a * ELO / self._priors.advantage) ** 2 / 2
        return value - ((t - self._priors.tie_mean) / self._priors.tie) ** 2 / 2 if self._t else value

    def _prior_slopes(self, theta: Floats, a: float, t: float) -> tuple[Floats, Floats]:
        size = self._size + self._a + self._t
        gradient, hessian = np.zeros(size), np.zeros((size, size))
        gradient[: self._size] = self._pull - self._precision @ theta
        hessian[: self._size, : self._size] = self._precision
        if self._a and not self._priors.plain:
            weight = (ELO / self._priors.advantage) ** 2
            gradient[self._size] = -weight * a
            hessian[self._size, self._size] = weight
        if self._t and not self._priors.plain:
            gradient[-1] = -(t - self._priors.tie_mean) / self._priors.tie**2
            hessian[-1, -1] = 1 / self._priors.tie**2
        return gradient, hessian


def _add_pairs(
    gradient: Floats, hessian: Floats, pairs: Matrix, found: Derivatives, size: int, a: bool, t: bool
) -> None:
    """Adds the games' part: x = θ_first − θ_second + a of every pair."""
    gradient[:size] += sums(pairs.first, found.x, size) - sums(pairs.second, found.x, size)
    crossed = sums(pairs.first * size + pairs.second, found.xx, size * size).reshape(size, size)
    crossed += crossed.T
    hessian[:size, :size] -= crossed
    diagonal = np.arange(size)
    hessian[diagonal, diagonal] += crossed.sum(axis=1)
    if a:
        gradient[size] += found.x.sum()
        hessian[size, size] += found.xx.sum()
        _border(hessian, size, pairs, found.xx, size)
    if t:
        gradient[-1] += found.t.sum()
        hessian[-1, -1] += found.tt.sum()
        _border(hessian, len(gradient) - 1, pairs, found.xt, size)
    if a and t:
        hessian[size, -1] += found.xt.sum()
        hessian[-1, size] += found.xt.sum()


def _border(hessian: Floats, line: int, pairs: Matrix, values: Floats, size: int) -> None:
    row = sums(pairs.first, values, size) - sums(pairs.second, values, size)
    hessian[line, :size] += row
    hessian[:size, line] += row


def _climb(objective: Objective, point: Floats) -> tuple[Floats, int]:
    """Newton's method with halved steps; the maximum and how many steps it took."""
    value, gradient, hessian = objective.at(point)
    for count in range(1, _STEPS + 1):
        step = _direction(gradient, hessian)
        largest, gain = float(np.abs(step).max()), float(gradient @ step) / 2
        if largest < _NEAR:
            return point + step, count
        if count > 12 and gain < 1e-6 and largest > 0.05:  # uphill for ever, and hardly
            break
        if largest > 3:
            step = step * (3 / largest)
        new, gradient, hessian = objective.at(point + step)
        if new < value - 1e-12 * abs(value) - 1e-12:
            step = _shortened(objective, point, step, value)
            new, gradient, hessian = objective.at(point + step)
        point, value = point + step, new
    raise CountsError(f"{_runaway(objective, step)} is infinite; a prior makes it finite")


def _shortened(objective: Objective, point: Floats, step: Floats, value: float) -> Floats:
    """A step that does not lead below `value`: halved until it does not."""
    for _ in range(60):
        step = step / 2
        if objective.value(point + step) >= value:
            break
    return step


def _direction(gradient: Floats, hessian: Floats) -> Floats:
    """The Newton step; where the surface is not concave (Rao-Kupper far from its maximum), a shorter way uphill."""
    ridge = 0.0
    scale = float(np.abs(hessian.diagonal()).max()) or 1.0
    while True:
        try:
            held = hessian + ridge * np.eye(len(gradient)) if ridge else hessian
            step = np.asarray(np.linalg.solve(held, gradient), dtype=np.float64)
        except np.linalg.LinAlgError:
            step = np.full_like(gradient, math.nan)
        if gradient @ step >= 0 and np.isfinite(step).all():
            return step
        ridge = ridge * 10 or scale * 1e-9
        if ridge > 1e6 * scale:
            return np.zeros_like(gradient)


def _runaway(objective: Objective, step: Floats) -> str:
    theta, a, t = objective.parts(np.abs(step))
    if max(a, t if t > NO_TIES else 0.0) > theta.max() * 1.001:
        return "the first-seat advantage" if a > t else "the parameter of ties"
    return f"the rating of {objective.names[int(theta.argmax())]}"
