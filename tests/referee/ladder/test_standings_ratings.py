"""Ratings of a pool's versions: names and ids, parents, anchors and their twins, forfeits, versions without a game."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from ggp.referee.ladder.rating import ResultsTable, elo_and_error, parents_of, rate_seats
from ggp.referee.ladder.store.model import PairScore
from ggp.referee.ratings.bradley_terry import Counts, CountsError, Priors
from ggp.referee.ratings.ratings import rate
from tests.support.schedule_runs import seats_of
from tests.support.stores import by_id

MEETINGS = [
    PairScore(1, 2, wins=7, ties=2, losses=3, forfeit_wins=2, void=5),
    PairScore(2, 1, wins=4, ties=1, losses=6, forfeit_losses=1),
    PairScore(2, 3, wins=9, losses=2),
    PairScore(3, 1, ties=3, losses=4),
]


def test_it_is_the_rating_of_the_same_counts() -> None:
    """Parents and anchors as the mathematics has them; a forfeit is a loss, a void game does not count."""
    one, two, three = seats_of(3)
    seats = [replace(one, anchor=100.0), two, replace(three, parent=2)]
    played = [("1", "2", 9, 2, 3), ("2", "1", 4, 1, 7), ("2", "3", 9, 0, 2), ("3", "1", 0, 3, 4)]
    expected = rate(Counts.of(played, "123"), priors=Priors(parents={"3": "2"}, anchors={"1": 100.0}))
    found = rate_seats(MEETINGS, seats)
    assert found.counts.names == ("1", "2", "3") and found.anchors == {"1": 100.0}
    assert found.elo == pytest.approx(expected.elo, abs=1e-9)
    lines = by_id(found)
    assert list(lines) == sorted(lines, key=lambda id: -lines[id].elo)
    elo, error = elo_and_error(found, [3, 1])
    assert elo.tolist() == [lines[3].elo, lines[1].elo] and error.tolist() == [lines[3].se, lines[1].se]


def test_a_bot_that_ends_lost_games_by_a_fault_gains_nothing() -> None:
    """Three equal bots; one of them forfeits every game that it loses."""
    pairs = [(1, 2), (2, 1), (1, 3), (3, 1), (2, 3), (3, 2)]
    honest = [PairScore(first, second, wins=25, losses=25) for first, second in pairs]
    cheat = [
        replace(one, losses=0, forfeit_losses=25)
        if one.first == 1
        else replace(one, wins=0, forfeit_wins=25)
        if one.second == 1
        else one
        for one in honest
    ]
    found = rate_seats(cheat, seats_of(3))
    assert found.elo == pytest.approx([0, 0, 0], abs=1e-6)
    assert found.elo == pytest.approx(rate_seats(honest, seats_of(3)).elo, abs=1e-6)


def test_the_other_model() -> None:
    assert rate_seats(MEETINGS, seats_of(3), "rao-kupper").model.name == "rao-kupper"


def test_the_order_of_meetings_changes_no_bit() -> None:
    calm = rate_seats(MEETINGS, seats_of(3)).elo.tolist()
    for seed in range(5):
        portions = [
            half for one in MEETINGS for half in (replace(one, wins=0), PairScore(one.first, one.second, one.wins))
        ]
        Random(seed).shuffle(portions)
        assert rate_seats(portions, seats_of(3)).elo.tolist() == calm
        tally = ResultsTable(portions[:3])
        tally.add(portions[3:6])
        assert tally.plus(portions[6:]).rows.tolist() == ResultsTable(MEETINGS).rows.tolist()


def test_totals() -> None:
    games, points = ResultsTable(MEETINGS).totals([1, 3])
    assert games.tolist() == [33, 18] and points.tolist() == [7 + 1 + 2 + 6 + 0.5 + 1 + 4 + 1.5, 2 + 1.5]


def test_who_has_no_game_is_rated_by_the_prior() -> None:
    ratings = rate_seats([], seats_of(4))
    assert np.abs(ratings.elo).max() < 1e-9 and len(by_id(ratings)) == 4
    gone = [replace(seat, active=seat.id < 3) for seat in seats_of(4)]
    assert set(by_id(rate_seats([], gone))) == {1, 2}
    assert set(by_id(rate_seats(MEETINGS, gone))) == {1, 2, 3}, "a version that played is rated, also after it has left"
    with pytest.raises(CountsError):
        rate_seats([], seats_of(1))


def test_parents_are_the_nearest_that_are_rated() -> None:
    seats = [replace(seat, parent=seat.id - 1 or None) for seat in seats_of(5)]
    assert parents_of(seats, {1, 3, 5}) == {"3": "1", "5": "3"}
    circle = [replace(seat, parent=seat.id % 3 + 1) for seat in seats_of(3)]
    assert len(parents_of(circle, {1, 2, 3})) == 2, "cut open"
    assert len(by_id(rate_seats(MEETINGS, circle))) == 3
