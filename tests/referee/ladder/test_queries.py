"""What is computed from a store for every view: expected points, points of a plot, the time that a clock allows."""

import math
from pathlib import Path

import pytest

from ggp.referee.ladder import queries
from ggp.referee.ladder.queries import PoolSummary, expectations, thinned
from ggp.referee.ladder.rating import rate_seats
from ggp.referee.ladder.standings import BotScore, make_fit
from ggp.referee.match.clock import TimeControl
from tests.support.stores import Filled, a_season


@pytest.fixture
def filled(tmp_path: Path) -> Filled:
    return Filled(tmp_path)


def test_a_pool_adds_up_from_every_side(filled: Filled) -> None:
    """The scores of the bots against each other, in the standings and by the fit."""
    with filled:
        a_season(filled)
        (row,) = filled.store.pools()
        pool = PoolSummary(filled.store, row)
        bots = {place.seat.id: pool.bot(place.seat) for place in pool.standings.places}
        for place in pool.standings.places:
            bot = bots[place.seat.id]
            assert (bot.score, bot.rank) == (place.score, pool.ranks[place.seat.id])
            expected = pool.expected(bot)
            assert sum((first + second for first, second in bot.opponents.values()), BotScore()) == bot.score
            for other, (first, second) in bot.opponents.items():
                mine, its = expected[other], pool.expected(bots[other])[place.seat.id]
                assert mine is not None and its is not None
                assert mine + its == pytest.approx((first + second).games)
        assert pool.seat1.games == pool.totals.games == sum(bot.first.games for bot in bots.values())
        assert sum(pool.faults.values()) == sum(pool.totals.faults.values())


def test_expected_points_are_those_of_the_fit(filled: Filled) -> None:
    a_season(filled)
    id = filled.pools["fast"]
    seats, meetings = filled.store.seats(id), filled.store.meetings(id)
    fit = make_fit(rate_seats(meetings, seats), 1, seats)
    found = expectations(meetings, fit)
    for met, points in zip(meetings, found, strict=True):
        assert points is not None and 0 <= points <= met.games
    for pair in fit.misfits:
        both = int(pair.first), int(pair.second)
        (number,) = (n for n, met in enumerate(meetings) if (met.first, met.second) == both)
        expected = found[number]
        assert expected is not None
        if meetings[number].games == pair.games:
            assert expected == pytest.approx(pair.expected)
    assert expectations(meetings, None) == [None] * len(meetings)


def test_curves_keep_their_end() -> None:
    points = [(n, float(n)) for n in range(1001)]
    few = thinned(points, 100)
    assert few[0] == points[0] and few[-1] == points[-1] and len(few) <= 102
    assert thinned(points[:1], 100) == points[:1]


@pytest.mark.parametrize(
    ("control", "plies", "ms"),
    [
        ("10+0.1", 20, 12_000),
        ("10", 20, 10_000),
        ("40/600", 41, 1_200_000),
        ("60+5/30", 7, 120_000),
        ("1/move", 5, 5000),
        ("60+5x30", 2, 120_000),
    ],
)
def test_what_a_clock_allows(control: str, plies: int, ms: int) -> None:
    assert queries.allowed(TimeControl.parse(control), plies) == ms


def test_no_clock_allows_no_share() -> None:
    assert queries.allowed(TimeControl.parse("none"), 10) is None
    assert math.isfinite(queries.allowed(TimeControl.parse("5x30"), 0) or 0)
