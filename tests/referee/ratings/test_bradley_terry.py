"""Our models reproduce published ratings to their printed digits."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pytest

from ggp.referee.ratings.bradley_terry import MODELS, NO_TIES, RAO_KUPPER, Counts, OutcomeModel, Priors
from ggp.referee.ratings.ratings import rate, worths
from ggp.referee.ratings.scale import ELO, expected_share

PLAIN = Priors(plain=True)
PUDDINGS = """12 19 22 16 · 13 16 19 12 · 23 19 19 10 · 14 18 23 13 · 24 23 19 9 · 34 19 20 15 · 15 13 19 18
· 25 16 20 12 · 35 16 15 17 · 45 17 14 16 · 16 18 21 12 · 26 22 20 12 · 36 13 18 10 · 46 14 19 18 · 56 11 21 12"""
JOURNALS = [
    ("Biometrika", "CommStat", 730, 0, 33),
    ("Biometrika", "JASA", 498, 0, 320),
    ("Biometrika", "JRSSB", 221, 0, 284),
    ("CommStat", "JASA", 68, 0, 813),
    ("CommStat", "JRSSB", 17, 0, 276),
    ("JASA", "JRSSB", 142, 0, 325),
]


def puddings() -> Counts:
    """i j w_ij w_ji ties of Davidson (1970)."""
    rows = []
    for words in (part.split() for part in PUDDINGS.split("·")):
        wins, losses, ties = map(int, words[1:])
        rows.append((words[0][0], words[0][1], wins, ties, losses))
    return Counts.of(rows, names="123456")


def test_davidson_puddings() -> None:
    ratings = rate(puddings(), priors=PLAIN, advantage=False)
    assert [f"{worth:.4f}" for worth in worths(ratings)] == ["0.1388", "0.1730", "0.1617", "0.1654", "0.1587", "0.2024"]
    assert f"{ratings.tie:.4f}" == "0.7468"


def test_agresti_journals() -> None:
    """Bradley-Terry: without ties ν is 0 and both models are the same."""
    for model in (
        rate(Counts.of(JOURNALS), priors=PLAIN, advantage=False),
        rate(Counts.of(JOURNALS), RAO_KUPPER, PLAIN, False),
    ):
        assert model.tie == 0
        found = [model.difference(name, "Biometrika") for name in ("CommStat", "JASA", "JRSSB")]
        assert [f"{one.elo / ELO:.4f}" for one in found] == ["-2.9491", "-0.4796", "0.2690"]
        assert [f"{one.se / ELO:.4f}" for one in found] == ["0.1025", "0.0606", "0.0708"]


def test_an_anchor_shows_the_same_error_bars() -> None:
    """Against a soft anchor, the error bar is that of the difference to it."""
    ratings = rate(Counts.of(JOURNALS), priors=Priors(plain=True, anchors={"Biometrika": 0}), advantage=False)
    lines = {line.name: line for line in ratings.standings()}
    assert lines["Biometrika"].elo == pytest.approx(0, abs=1e-6) and lines["Biometrika"].se == 0
    assert f"{lines['CommStat'].elo / ELO:.4f} {lines['CommStat'].se / ELO:.4f}" == "-2.9491 0.1025"


def test_glicko_2_example() -> None:
    games = [(GlickoPlayer(1400, 30), 1.0), (GlickoPlayer(1550, 100), 0.0), (GlickoPlayer(1700, 300), 0.0)]
    after = update(GlickoPlayer(1500, 200, 0.06), games)
    assert f"{after.rating:.7f} {after.deviation:.7f}" == "1464.0506705 151.5165241"
    assert f"{after.volatility:.10f}" == "0.0599959843"
    assert abs(after.rating - 1464.06) < 0.011 and abs(after.volatility - 0.05999) < 1e-5  # as the paper rounds


def test_glicko_2_without_games_only_widens() -> None:
    after = update(GlickoPlayer(1500, 200, 0.06), [])
    assert (after.rating, after.volatility) == (1500, 0.06)
    assert after.deviation == pytest.approx((200**2 + (0.06 * 173.7178) ** 2) ** 0.5)


def test_glicko_2_of_a_surprise() -> None:
    """The other branch of the volatility's bracket: a result far from what was expected."""
    after = update(GlickoPlayer(1500, 30, 0.06), [(GlickoPlayer(2400, 30), 1.0)] * 20)
    assert after.volatility > 0.06 and after.rating > 1600


# --- one rating period of Glicko-2: M. Glickman, "Example of the Glicko-2 system", steps 2 to 8 ---

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


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("tie", [0.0, 0.3, 1.0, 2.5])
def test_the_expected_share_is_that_of_the_models(model: OutcomeModel, tie: float) -> None:
    apart = np.linspace(-3000, 3000, 41)
    win, tied, _ = model.probabilities(apart / ELO, math.log(tie) if tie else NO_TIES)
    found = [expected_share(model.name, elo, tie) for elo in apart.tolist()]
    assert found == pytest.approx((win + tied / 2).tolist(), abs=1e-12)
    assert [expected_share(model.name, elo, tie) for elo in (0, 1e6)] == pytest.approx([0.5, 1])
