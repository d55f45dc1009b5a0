"""Bradley-Terry ratings: the maximum of the log-posterior by Newton's method and its curvature, in natural units.

The module also has the counts, the models of a game, and the priors.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ggp.protocol.errors import Problem
from ggp.referee.ratings.scale import ELO
from ggp.referee.ratings.standings import TIES

# -- Counts the games of a pool per ordered pair of bots. A forfeit is a loss.


Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Row = tuple[str, str, float, float, float]  # first, second, the first's wins, ties, losses


class CountsError(Problem, ValueError):
    """Counts that cannot be rated; the message names the bot."""

    code = "bad-counts"


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
        """Return the games of every pair."""
        return self.wins + self.ties + self.losses


@dataclass(frozen=True, slots=True)
class Counts:
    """A pool's results. Games that are void, by faults of both sides or of the engine, are not among them."""

    names: tuple[str, ...]
    played: Matrix

    @classmethod
    def of(cls, played: Iterable[Row], names: Iterable[str] = ()) -> "Counts":
        """Count rows, several of which may be of one ordered pair. Bots are numbered as they come, `names` first.

        Raises:
            CountsError: A bot plays against itself, or a count is negative.
        """
        played = list(played)
        index: dict[str, int] = {}
        for name in names:
            index.setdefault(name, len(index))
        for first, second, *numbers in played:
            if first == second:
                raise CountsError(f"{first} plays against itself", code="self-play")
            if not all(0 <= number < float("inf") for number in numbers):
                raise CountsError(f"{first} against {second}: a count is negative or no number", code="bad-count")
            index.setdefault(first, len(index))
            index.setdefault(second, len(index))
        return cls(tuple(index), _matrix(played, index))

    @property
    def games(self) -> Floats:
        """Return the games of every bot."""
        return self._per_bot(self.played.games, self.played.games)

    @property
    def scores(self) -> Floats:
        """Return the points of every bot."""
        half = self.played.ties / 2
        return self._per_bot(self.played.wins + half, self.played.losses + half)

    def _per_bot(self, first: Floats, second: Floats) -> Floats:
        size = len(self.names)
        return sums(self.played.first, first, size) + sums(self.played.second, second, size)


def sums(index: Ints, values: Floats, size: int) -> Floats:
    """Return the sum of the values of every index below `size`."""
    return np.bincount(index, values, size).astype(np.float64, copy=False)


def _matrix(rows: list[Row], index: dict[str, int]) -> Matrix:
    """Return one line per ordered pair, in the order of first appearance, without empty ones."""
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


# -- Models of the outcome of one game: probabilities, log-likelihood and its derivatives per ordered pair.


NO_TIES = -math.inf
_TINY = 1e-300


@dataclass(frozen=True, slots=True)
class Derivatives:
    """The value of a log-likelihood, and per pair its gradients and negative second derivatives."""

    value: float
    x: Floats
    t: Floats
    xx: Floats
    xt: Floats
    tt: Floats


@dataclass(frozen=True, slots=True)
class OutcomeModel:
    """A model's name, what its parameter of ties is called, and its functions of (x, t)."""

    name: str
    tie: str
    probabilities: Callable[[Floats, float], tuple[Floats, Floats, Floats]]
    derivatives: Callable[[Matrix, Floats, float], Derivatives]


def _davidson(x: Floats, t: float) -> tuple[Floats, Floats, Floats]:
    """Return P(win), P(tie), P(loss) for the first. The largest exponent is taken out of all, against overflow."""
    half = x / 2
    most = np.maximum(np.abs(half), t)
    win, tie, loss = np.exp(half - most), np.exp(t - most), np.exp(-half - most)
    total = win + tie + loss
    return win / total, tie / total, loss / total


def _davidson_derivatives(counts: Matrix, x: Floats, t: float) -> Derivatives:
    """Return the derivatives of Davidson's model: (wins − losses) / 2 and the ties are sufficient.

    Nothing is said as 1 − a share, so that 10¹² wins beside one loss keep their digits.
    """
    win, tie, loss = _davidson(x, t)
    lead, decided = win - loss, win + loss
    tied = counts.games * tie
    value = (
        counts.wins @ np.log1p((tie + loss) / np.maximum(win, _TINY))
        + counts.ties @ np.log1p(decided / np.maximum(tie, _TINY))
        + counts.losses @ np.log1p((win + tie) / np.maximum(loss, _TINY))
    )
    return Derivatives(
        -float(value),
        (counts.wins * (tie + 2 * loss) - counts.losses * (tie + 2 * win) - counts.ties * lead) / 2,
        counts.ties * decided - (counts.wins + counts.losses) * tie,
        counts.games * (win * loss + tie * decided / 4),
        -tied * lead / 2,
        tied * decided,
    )


def _rao_kupper(x: Floats, t: float) -> tuple[Floats, Floats, Floats]:
    """Return P(win), P(tie), P(loss) for the first: P(tie) = P(win)·P(loss)·(e^(2δ) − 1)."""
    delta = math.exp(min(t, 5.0)) if t > NO_TIES else 0.0
    win, loss = _sigmoid(x - delta), _sigmoid(-x - delta)
    return win, win * loss * math.expm1(2 * delta), loss


def _rao_kupper_derivatives(counts: Matrix, x: Floats, t: float) -> Derivatives:
    """Return the derivatives in δ, in which the log-likelihood is concave, turned into those in t = ln δ."""
    delta = math.exp(min(t, 5.0)) if t > NO_TIES else 0.0
    up, down = x - delta, -x - delta
    wins, losses = counts.wins + counts.ties, counts.losses + counts.ties
    miss, keep = _sigmoid(-up), _sigmoid(-down)
    bend, curve = wins * miss * (1 - miss), losses * keep * (1 - keep)
    value = -(wins @ np.logaddexp(0, -up)) - losses @ np.logaddexp(0, -down)
    slope, hollow = -wins * miss - losses * keep, bend + curve
    if delta:
        value += counts.ties.sum() * (2 * delta + math.log(-math.expm1(-2 * delta)))
        away = -math.expm1(-2 * delta)
        slope = slope + counts.ties * 2 / away
        hollow = hollow + counts.ties * 4 * math.exp(-2 * delta) / away**2
    return Derivatives(
        float(value),
        wins * miss - losses * keep,
        delta * slope,
        bend + curve,
        delta * (curve - bend),
        delta**2 * hollow - delta * slope,
    )


def _sigmoid(x: Floats) -> Floats:
    return np.exp(-np.logaddexp(0, -x))


DAVIDSON = OutcomeModel("davidson", TIES["davidson"], _davidson, _davidson_derivatives)
RAO_KUPPER = OutcomeModel("rao-kupper", TIES["rao-kupper"], _rao_kupper, _rao_kupper_derivatives)
MODELS: Mapping[str, OutcomeModel] = {model.name: model for model in (DAVIDSON, RAO_KUPPER)}


# -- Priors: the spread of a pool, parents, anchors, first seat and ties, as a quadratic form.


@dataclass(frozen=True, slots=True)
class Priors:
    """Standard deviations in Elo. `parents`: the version before a bot; `anchors`: a bot's fixed rating, held softly.

    θ ~ N(pool mean, `pool`), of a bot with a parent ~ N(parent, `parent`), of an anchor also ~ N(its rating,
    `anchor`); first-seat advantage ~ N(0, `advantage`); ln ν (or ln δ) ~ N(`tie_mean`, `tie`). The pool mean is 0,
    or, if there are anchors, free. `plain`: no prior but the anchors, which makes the estimate the likeliest one.
    """

    parents: Mapping[str, str] = field(default_factory=dict)
    anchors: Mapping[str, float] = field(default_factory=dict)
    plain: bool = False
    pool: float = 350.0
    parent: float = 125.0
    anchor: float = 1.0
    advantage: float = 200.0
    tie_mean: float = -1.0
    tie: float = 1.5


def of_ratings(priors: Priors, names: Sequence[str]) -> tuple[Floats, Floats]:
    """Return the prior as precision P and vector b, natural units: ln density = −θᵀPθ/2 + bᵀθ + constant.

    Raises:
        CountsError: An anchor is not one of the bots, or parents form a circle.
    """
    index = {name: number for number, name in enumerate(names)}
    precision, pull = np.zeros((len(names), len(names))), np.zeros(len(names))
    for name, rating in priors.anchors.items():
        if name not in index:
            raise CountsError(f"the anchor {name} has no game", code="anchor-without-games")
        weight = (ELO / priors.anchor) ** 2
        precision[index[name], index[name]] += weight
        pull[index[name]] += weight * rating / ELO
    if priors.plain:
        return precision, pull
    parents = {child: parent for child, parent in priors.parents.items() if child in index and parent in index}
    _refuse_circles(parents)
    for child, parent in parents.items():
        pair, weight = np.ix_([index[child], index[parent]], [index[child], index[parent]]), (ELO / priors.parent) ** 2
        precision[pair] += weight * np.array([[1.0, -1.0], [-1.0, 1.0]])
    roots = np.array([index[name] for name in names if name not in parents])
    weight = (ELO / priors.pool) ** 2
    precision[roots, roots] += weight
    if priors.anchors:  # the free mean is integrated out
        precision[np.ix_(roots, roots)] -= weight / len(roots)
    return precision, pull


def _refuse_circles(parents: Mapping[str, str]) -> None:
    for child in parents:
        name, seen = child, set[str]()
        while name in parents:
            if name in seen:
                raise CountsError(f"the parents of {child} go in a circle", code="parent-cycle")
            seen.add(name)
            name = parents[name]


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


@dataclass(frozen=True, slots=True)
class StartingPoint:
    """Where a fit begins: θ of every bot, the first-seat advantage, t of the model's ties."""

    theta: Floats
    advantage: float
    t: float


def fit(
    counts: Counts, model: OutcomeModel, priors: Priors, advantage: bool = True, start: StartingPoint | None = None
) -> Fit:
    """Return the most probable ratings; with `priors.plain` the likeliest ones, of mean 0 without an anchor.

    `start` is a point near them, if one is known.

    Raises:
        CountsError: There is no maximum. The message names the bot.
    """
    if len(counts.names) < 2:
        raise CountsError(
            f"{counts.names[0]} is alone: a rating needs two bots" if counts.names else "no game", code="too-few-bots"
        )
    played = counts.played
    if priors.plain and (reason := why_infinite(counts.names, played)):
        raise CountsError(f"{reason}; a prior makes it finite", code="infinite-rating")
    ties = bool(played.ties.any())
    if priors.plain and ties and not (played.wins.any() or played.losses.any()):
        raise CountsError(
            f"every game is a tie: {model.tie} is infinite; a prior makes it finite", code="infinite-rating"
        )
    objective = Objective(counts.names, played, model, priors, advantage, ties or not priors.plain)
    try:
        point, steps = _climb(objective, objective.begin(start))
    except CountsError:
        if start is None:
            raise
        point, steps = _climb(objective, objective.begin(None))  # from too far away it may not find the way
    theta, a, t = objective.parts(point)
    _, _, curvature = objective.at(point)
    return Fit(theta, a, t, _inverse(curvature), advantage, steps)


def _inverse(curvature: Floats) -> Floats:
    """Return the covariance. Raises CountsError if the results leave a direction open."""
    try:
        covariance = np.asarray(np.linalg.inv(curvature), dtype=np.float64)
    except np.linalg.LinAlgError:
        covariance = np.full_like(curvature, math.inf)
    if not 0 <= float(covariance.diagonal().min()) <= float(covariance.diagonal().max()) < _OPEN:
        raise CountsError(
            "sitting first cannot be told apart from being stronger: leave it out, or take a prior",
            code="no-seat-estimate",
        )
    return covariance


class Objective:
    """The log-posterior as a function of one vector: ratings, then a (if it is free), then t (if it is free)."""

    def __init__(
        self, names: tuple[str, ...], played: Matrix, model: OutcomeModel, priors: Priors, a: bool, t: bool
    ) -> None:
        self.names, self._played, self._model, self._priors = names, played, model, priors
        self._size, self._a, self._t = len(names), a, t
        self._precision, self._pull = of_ratings(priors, names)

    def begin(self, start: StartingPoint | None) -> Floats:
        """Return the vector to begin with: that of the start, or of the prior."""
        theta, a, t = np.zeros(self._size), 0.0, self._priors.tie_mean
        if self._t and start is None:
            t = self._tie()
        if start is not None and len(start.theta) == self._size:
            theta, a, t = start.theta, start.advantage, max(start.t, -30.0)
        elif self._priors.anchors:
            theta = theta + sum(self._priors.anchors.values()) / len(self._priors.anchors) / ELO
        return np.concatenate([theta, [a] * self._a, [t] * self._t])

    def _tie(self) -> float:
        """Return the best t if all bots were equal: from far away each step would bring it only 1 nearer."""
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
        """Split a vector into ratings, a and t."""
        a = float(point[self._size]) if self._a else 0.0
        return point[: self._size], a, float(point[-1]) if self._t else NO_TIES

    def value(self, point: Floats) -> float:
        """Return the log-posterior, except for a constant."""
        theta, a, t = self.parts(point)
        return self._derivatives(theta, a, t).value + self._log_prior(theta, a, t)

    def at(self, point: Floats) -> tuple[float, Floats, Floats]:
        """Return value, gradient and negative Hessian."""
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
    """Add the part of the games, with x = θ_first − θ_second + a for every pair."""
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
    """Find the maximum by Newton's method with halved steps, and return it with the number of steps."""
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
    raise CountsError(f"{_runaway(objective, step)} is infinite; a prior makes it finite", code="infinite-rating")


def _shortened(objective: Objective, point: Floats, step: Floats, value: float) -> Floats:
    """Halve a step until it does not lead below `value`."""
    for _ in range(60):
        step = step / 2
        if objective.value(point + step) >= value:
            break
    return step


def _direction(gradient: Floats, hessian: Floats) -> Floats:
    """Return the Newton step, or a shorter step uphill where the surface is not concave (Rao-Kupper)."""
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


# -- The graph of scores: without a prior a rating is finite only if every bot scored against every other, directly or
# through others (Ford 1957).


def why_infinite(names: Sequence[str], counts: Matrix) -> str:
    """Return "" if all ratings are finite without a prior.

    Otherwise return a sentence that names a bot whose rating is infinite, or two bots that no chain of games connects.
    """
    beat = np.zeros((len(names), len(names)), dtype=np.bool_)  # who won or tied against whom
    for scored, one, other in (
        (counts.wins + counts.ties > 0, counts.first, counts.second),
        (counts.losses + counts.ties > 0, counts.second, counts.first),
    ):
        beat[one[scored], other[scored]] = True
    connected = reached(beat | beat.T, 0)
    if not connected.all():
        apart = names[int(np.argmin(connected))]
        return f"no chain of games connects {names[0]} and {apart}: their difference has no estimate"
    above, below = closed_part(beat.T), closed_part(beat)
    if len(below) == len(names):
        return ""
    part, sign, reason = above, "infinite", "no other bot scored against it"
    if len(below) < len(above):
        part, sign, reason = below, "minus infinite", "it scored against no other bot"
    name, more = names[int(part[0])], len(part) - 1
    among = f" (and of the {more} others that scored against it and each other)" if more else ""
    return f"the rating of {name}{among} is {sign}: {reason.replace('it', 'them') if more else reason}"


def reached(graph: NDArray[np.bool_], start: int) -> NDArray[np.bool_]:
    """Return which nodes of a graph (edges from row to column) can be reached from one of them, itself included."""
    seen = np.zeros(len(graph), dtype=np.bool_)
    edge = seen.copy()
    edge[start] = True
    while edge.any():
        seen |= edge
        edge = graph[edge].any(axis=0) & ~seen
    return seen


def closed_part(graph: NDArray[np.bool_]) -> Ints:
    """Return the nodes of a strongly connected component that no edge leaves, in rising order."""
    node = 0
    while True:
        seen = reached(graph, node)
        ahead = np.flatnonzero(seen & ~reached(graph.T, node))
        if not len(ahead):
            return np.flatnonzero(seen)
        node = int(ahead[len(ahead) // 2])  # the middle one: along a chain each step halves what is left
