"""Published numbers of rating models come out of ours, to the digits that were printed."""

import pytest

from referee.ratings.bradley_terry import ELO, RAO_KUPPER, Counts, Priors
from referee.ratings.ratings import rate, worths
from tests.support.glicko import GlickoPlayer, update

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
