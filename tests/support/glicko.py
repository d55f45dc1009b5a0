"""One rating period of Glicko-2, a model to compare our ratings with those of servers that publish Glicko-2.

M. Glickman, "Example of the Glicko-2 system" (2012/2022), steps 2 to 8; ratings on the scale of 1500.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

_SCALE = 173.7178
_NEAR = 1e-6


@dataclass(frozen=True, slots=True)
class GlickoPlayer:
    """Rating, its deviation (one standard deviation), and volatility."""

    rating: float = 1500.0
    deviation: float = 350.0
    volatility: float = 0.06


def update(player: GlickoPlayer, games: Iterable[tuple[GlickoPlayer, float]], tau: float = 0.5) -> GlickoPlayer:
    """The player after a period of games, each an opponent as before the period and the points (1, ½, 0)."""
    phi = player.deviation / _SCALE
    terms = []
    for opponent, points in games:
        g = 1 / math.sqrt(1 + 3 * (opponent.deviation / _SCALE / math.pi) ** 2)
        expected = 1 / (1 + math.exp(-g * (player.rating - opponent.rating) / _SCALE))
        terms.append((g, expected, points))
    if not terms:
        return GlickoPlayer(player.rating, _SCALE * math.hypot(phi, player.volatility), player.volatility)
    variance = 1 / math.fsum(g * g * e * (1 - e) for g, e, _ in terms)
    surplus = math.fsum(g * (points - e) for g, e, points in terms)
    volatility = _volatility(player.volatility, phi, variance, variance * surplus, tau)
    deviation = 1 / math.sqrt(1 / (phi * phi + volatility**2) + 1 / variance)
    return GlickoPlayer(player.rating + _SCALE * deviation**2 * surplus, _SCALE * deviation, volatility)


def _volatility(sigma: float, phi: float, variance: float, delta: float, tau: float) -> float:
    """Step 5: the root of f by the Illinois algorithm, x being ln σ²."""
    a = math.log(sigma * sigma)

    def f(x: float) -> float:
        spread = phi * phi + variance + math.exp(x)
        return math.exp(x) * (delta * delta - spread) / (2 * spread * spread) - (x - a) / (tau * tau)

    low, steps = a, 1
    if delta * delta > phi * phi + variance:
        high = math.log(delta * delta - phi * phi - variance)
    else:
        while f(a - steps * tau) < 0:
            steps += 1
        high = a - steps * tau
    at_low, at_high = f(low), f(high)
    while abs(high - low) > _NEAR:
        middle = low + (low - high) * at_low / (at_high - at_low)
        at_middle = f(middle)
        if at_middle * at_high <= 0:
            low, at_low = high, at_high
        else:
            at_low /= 2
        high, at_high = middle, at_middle
    return math.exp(low / 2)
