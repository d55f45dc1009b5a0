"""Models of one game's outcome: probabilities, log-likelihood and its derivatives per ordered pair, vectorised.

x = θ_first − θ_second + a in natural units, and a parameter t of ties. Two models, which scale the same results
differently: Davidson (1970), P(win) : P(tie) : P(loss) = e^(x/2) : ν : e^(−x/2) with t = ln ν, and Rao and Kupper
(1967), P(win) = σ(x − δ), P(loss) = σ(−x − δ) with t = ln δ. Without ties, t = −∞: both are Bradley-Terry.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from referee.ratings.counts import Floats, Matrix

NO_TIES = -math.inf
_TINY = 1e-300


@dataclass(frozen=True, slots=True)
class Derivatives:
    """Of the log-likelihood: its value, and per pair the gradients and the negative second derivatives."""

    value: float
    x: Floats
    t: Floats
    xx: Floats
    xt: Floats
    tt: Floats


@dataclass(frozen=True, slots=True)
class Model:
    """A model's name, what its parameter of ties is called, and its functions of (x, t)."""

    name: str
    tie: str
    probabilities: Callable[[Floats, float], tuple[Floats, Floats, Floats]]
    derivatives: Callable[[Matrix, Floats, float], Derivatives]


def _davidson(x: Floats, t: float) -> tuple[Floats, Floats, Floats]:
    """P(win), P(tie), P(loss) for the first; the largest exponent is taken out of all."""
    half = x / 2
    most = np.maximum(np.abs(half), t)
    win, tie, loss = np.exp(half - most), np.exp(t - most), np.exp(-half - most)
    total = win + tie + loss
    return win / total, tie / total, loss / total


def _davidson_derivatives(counts: Matrix, x: Floats, t: float) -> Derivatives:
    """The score (wins − losses) / 2 and the ties are sufficient: their covariance is the information.

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
    """P(tie) = P(win)·P(loss)·(e^(2δ) − 1)."""
    delta = math.exp(min(t, 5.0)) if t > NO_TIES else 0.0
    win, loss = _sigmoid(x - delta), _sigmoid(-x - delta)
    return win, win * loss * math.expm1(2 * delta), loss


def _rao_kupper_derivatives(counts: Matrix, x: Floats, t: float) -> Derivatives:
    """In δ first, which the log-likelihood is concave in, then in t = ln δ."""
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


DAVIDSON = Model("davidson", "ν", _davidson, _davidson_derivatives)
RAO_KUPPER = Model("rao-kupper", "δ", _rao_kupper, _rao_kupper_derivatives)
MODELS: Mapping[str, Model] = {model.name: model for model in (DAVIDSON, RAO_KUPPER)}
