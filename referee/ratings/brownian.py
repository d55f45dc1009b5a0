"""A Brownian motion between two barriers: how probably, where and when it is stopped. It knows nothing of games.

It stands for the log-likelihood ratio of a sequential test. D. Siegmund, "Sequential Analysis" (1985), chapter III:
with drift μ and variance σ² a unit of time, each formula is a sum over the images of the start in the barriers, an
image at distance ξ having the weight e^(μξ/σ²).
"""

import math
from dataclasses import dataclass

_SPREAD = 4.0  # widths of the corridor; e^(−π²·16/2) of the paths are then still inside


@dataclass(frozen=True, slots=True)
class Corridor:
    """Starts at 0, stops at `low` < 0 or `high` > 0; `drift` and `variance` > 0 for a unit of time."""

    low: float
    high: float
    drift: float
    variance: float

    def worse(self, time: float, place: float) -> float:
        """The probability of an outcome no better than being at `place` at `time`.

        Worst is stopping low early, then stopping low late, being lower or higher at `time`, stopping high late,
        and best stopping high early. With `place` = `high` the path has just stopped there, likewise `low`.
        """
        if self.variance * time > (_SPREAD * (self.high - self.low)) ** 2:
            return 1 - self.ends_high()
        return min(1.0, max(0.0, self._stopped_low(time) + self._inside(time, place)))

    def ends_high(self, start: float = 0.0) -> float:
        """The probability of stopping high in the end, from `start`."""
        rate = 2 * self.drift / self.variance
        up, width = start - self.low, self.high - self.low
        if abs(rate) * width < 1e-9:
            return up / width
        if rate > 0:
            return math.expm1(-rate * up) / math.expm1(-rate * width)
        return math.exp(rate * (width - up)) * math.expm1(rate * up) / math.expm1(rate * width)

    def time_left(self, start: float = 0.0) -> float:
        """The expected time until it stops, from `start`."""
        if abs(self.drift) * (self.high - self.low) < 1e-6 * self.variance:
            return (self.high - start) * (start - self.low) / self.variance
        return (self.low + (self.high - self.low) * self.ends_high(start) - start) / self.drift

    def _stopped_low(self, time: float) -> float:
        """The probability of having stopped low by `time`: the inverse Gaussian law of every image."""
        sigma, drift = math.sqrt(self.variance * time), abs(self.drift)
        gamma = self.drift / self.variance
        total = []
        for image in self._images(sigma):
            distance = 2 * image * (self.high - self.low) - self.low
            way = abs(distance)
            rate = abs(gamma) * way
            near = gamma * self.low - rate + _log_phi((drift * time - way) / sigma)
            far = gamma * self.low + rate + _log_phi((-drift * time - way) / sigma)
            total.append(math.copysign(math.exp(near) + math.exp(far), distance))
        return math.fsum(total)

    def _inside(self, time: float, place: float) -> float:
        """The probability of not having stopped by `time` and being no higher than `place`."""
        sigma, shift = math.sqrt(self.variance * time), self.drift * time
        gamma = self.drift / self.variance
        total = []
        for image in self._images(sigma):
            for sign, origin in ((1, 0.0), (-1, 2 * self.low)):
                source = origin + 2 * image * (self.high - self.low)
                ends = [(end - source - shift) / sigma for end in (self.low, place)]
                if ends[0] > 0:  # take the smaller tails: the difference keeps its digits
                    ends = [-ends[1], -ends[0]]
                upper, lower = (math.exp(gamma * source + _log_phi(end)) for end in reversed(ends))
                total.append(sign * (upper - lower))
        return math.fsum(total)

    def _images(self, sigma: float) -> range:
        """Those that are not farther than nine standard deviations after all reflections."""
        far = math.ceil(4.5 * sigma / (self.high - self.low)) + 2
        return range(-far, far + 1)


def phi(x: float) -> float:
    """The normal distribution function."""
    return math.erfc(-x / math.sqrt(2)) / 2


def _log_phi(x: float) -> float:
    """ln Φ(x), also where Φ is too small for a float (Mills' ratio)."""
    if x > -30:
        return math.log(phi(x))
    return -x * x / 2 - math.log(-x * math.sqrt(2 * math.pi)) + math.log1p(-1 / (x * x) + 3 / x**4)
