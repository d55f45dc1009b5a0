"""The likelihood of a record of a sequential test under a fixed score or a fixed t value; it decides nothing.

Sources: M. Van den Bergh, "Comments on Normalized Elo" (sections 1 and 4), for the maximum likelihood estimate of a
distribution on given values whose mean, or whose t value (μ − ½) / σ, is fixed.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

NELO_PER_T = 800 / math.log(10)  # normalised Elo for a t value of 1 in one game
EMPTY_CELL = 1e-3  # what stands for a count of 0: every likelihood stays finite
_ROUNDS = 100


@dataclass(frozen=True, slots=True)
class Sample:
    """Counts of games (loss, tie, win) or of pairs (scores 0, ¼, ½, ¾, 1), worst first, as a distribution of scores.

    `total` games or pairs; `games` is the games in one of them; `scores` and `shares` per cell, no share being 0;
    `mean` and `variance` of one score. ValueError if there are not 3 or 5 counts, or one is negative.
    """

    counts: tuple[float, ...]
    total: float
    games: int
    scores: tuple[float, ...]
    shares: tuple[float, ...]
    mean: float
    variance: float

    @classmethod
    def of(cls, counts: Sequence[float]) -> "Sample":
        if len(counts) not in (3, 5) or min(counts) < 0:
            raise ValueError("a record is 3 counts of games or 5 of pairs, none negative")
        filled = [count or EMPTY_CELL for count in counts]
        total = math.fsum(filled)
        shares = tuple(count / total for count in filled)
        scores = tuple(cell / (len(counts) - 1) for cell in range(len(counts)))
        mean, variance = moments(scores, shares)
        return cls(tuple(counts), total, 1 if len(counts) == 3 else 2, scores, shares, mean, variance)

    @property
    def t_per_nelo(self) -> float:
        """The t value of one score, for a normalised Elo of 1 (σ of a pair's mean is σ of a game / √2)."""
        return math.sqrt(self.games) / NELO_PER_T


def moments(values: Sequence[float], shares: Sequence[float]) -> tuple[float, float]:
    """Mean and variance of a distribution."""
    mean = math.fsum(value * share for value, share in zip(values, shares, strict=True))
    return mean, math.fsum(share * (value - mean) ** 2 for value, share in zip(values, shares, strict=True))


def tilt_to_mean(sample: Sample, mean: float) -> list[float] | None:
    """ln(share / likeliest share) of every cell if the mean score is fixed (proposition 1.1); None: there is none."""
    return _tilt([score - mean for score in sample.scores], sample.shares)


def tilt_to_t(sample: Sample, t: float) -> list[float] | None:
    """The same if (mean − ½) / σ is fixed, by the iteration of section 4.1; None: it finds none."""
    scores, likeliest = sample.scores, [1 / len(sample.scores)] * len(sample.scores)
    change = math.inf
    for _ in range(_ROUNDS):
        mean, variance = moments(scores, likeliest)
        if variance <= 0:
            return None
        sigma = math.sqrt(variance)
        tilt = _tilt([s - 0.5 - t * sigma * (1 + ((mean - s) / sigma) ** 2) / 2 for s in scores], sample.shares)
        if tilt is None:
            return None
        before, likeliest = likeliest, [p * math.exp(-e) for p, e in zip(sample.shares, tilt, strict=True)]
        last, change = change, max(abs(new - old) for new, old in zip(likeliest, before, strict=True))
        if last < 1e-6 and change >= last:  # as near as rounding lets it
            return tilt
    return None


def _tilt(values: Sequence[float], shares: Sequence[float]) -> list[float] | None:
    """ln(1 + xv) of every value v, x being the root of the secular equation Σ p·v / (1 + xv) = 0.

    None if all values have one sign: there is no root. Where the root is close to a pole −1/v the factors are taken
    from that pole, x = −1/v + d: a cell that hardly occurred keeps its digits.
    """
    least, most = min(values), max(values)
    if not least < 0 < most:
        return None
    upward = math.fsum(p * v for p, v in zip(shares, values, strict=True)) > 0  # the root is positive
    pole = least if upward else most
    rest = [(pole - value) / pole for value in values]

    def secular(d: float) -> tuple[float, float]:
        parts = [(p, v / (r + d * v)) for p, v, r in zip(shares, values, rest, strict=True)]
        return math.fsum(p * part for p, part in parts), -math.fsum(p * part * part for p, part in parts)

    d = _falling_root(secular, *((1 / least, 0.0) if upward else (0.0, 1 / most)))
    x = d - 1 / pole
    return [
        math.log1p(x * value) if abs(x * value) < 0.5 else math.log(kept + d * value)
        for value, kept in zip(values, rest, strict=True)
    ]


def _falling_root(function: Callable[[float], tuple[float, float]], low: float, high: float) -> float:
    """The root between `low` and `high`, one of them 0 and a pole, of a function that falls.

    `function` gives value and slope. Newton steps that stay inside the bracket; else halving, by magnitude where
    the root may be close to 0.
    """
    x = (low + high) / 2
    for _ in range(200):
        value, slope = function(x)
        if value == 0:
            break
        low, high = (x, high) if value > 0 else (low, x)
        step = x - value / slope
        if not low < step < high:
            step = (low + high) / 2 if low and high else (low + high) / 1024
        if abs(step - x) <= 1e-16 * abs(step) or not low < step < high:
            break
        x = step
    return x
