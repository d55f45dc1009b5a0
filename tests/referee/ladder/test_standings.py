"""The standings as values: scores from meetings, what a fit keeps, when a kept fit may still be shown."""

from dataclasses import replace
from unittest.mock import Mock

import pytest

from ggp.referee.ladder.rating import rate_seats
from ggp.referee.ladder.standings import (
    BotScore,
    Standings,
    is_current,
    make_fit,
    named_table,
    places,
    rate_pool,
    standings_json,
)
from ggp.referee.ladder.store.model import PairScore, PoolEntry, PoolRow
from ggp.referee.ratings.standings import RatingTable
from tests.support.stores import scores

SEATS = [PoolEntry(1, "ann", "ann", "aa"), PoolEntry(2, "bob", "bob", "bb"), PoolEntry(3, "cat", "cat", "cc")]
MEETINGS = [
    PairScore(1, 2, wins=8, ties=1, losses=3, forfeit_wins=2),
    PairScore(2, 1, wins=4, losses=6, forfeit_losses=1, void=1),
    PairScore(2, 3, wins=5, ties=2, losses=3),
]


def _fit(seats: list[PoolEntry] = SEATS, meetings: list[PairScore] = MEETINGS, everyone: bool = False) -> RatingTable:
    return make_fit(rate_seats(meetings, seats), sum(met.games for met in meetings), seats, everyone)


def test_scores_are_seen_from_both_sides() -> None:
    found = scores(MEETINGS)
    assert found[1] == BotScore(wins=8 + 2 + 6 + 1, ties=1, losses=3 + 4, forfeits=0, gifts=3, void=1)
    assert found[2] == BotScore(wins=3 + 4 + 5, ties=1 + 2, losses=8 + 2 + 6 + 1 + 3, forfeits=3, gifts=0, void=1)
    assert (found[3].games, found[3].points, found[3].share) == (10, 4, 0.4)
    assert BotScore().share == 0


def test_a_fit_says_what_the_ratings_say() -> None:
    ratings, fit = rate_seats(MEETINGS, SEATS), _fit()
    best = ratings.standings()
    assert list(fit.rows) == best
    assert [row.next is None for row in fit.rows] == [False, False, True]
    assert (fit.advantage, fit.advantage_se, fit.tie) == (ratings.advantage, ratings.advantage_se, ratings.tie)
    assert fit.deviance == pytest.approx(sum(pair.deviance for pair in ratings.misfits()))
    assert fit.misfits == tuple(ratings.misfits(5)) and fit.misfits


def test_nothing_is_rated_of_one_bot() -> None:
    empty = Mock(meeting_counts=lambda pool: [], repeats=lambda pool: [], fit=lambda pool: None)
    assert rate_pool(empty, 1, SEATS[:1], "davidson") is None


def test_a_fit_is_current_until_something_changes() -> None:
    fit, scored = _fit(), scores(MEETINGS)
    assert is_current(fit, SEATS, scored)
    assert not is_current(fit, SEATS, scores([*MEETINGS, PairScore(1, 3, wins=1)]))
    assert not is_current(fit, [*SEATS, PoolEntry(4, "dan", "dan", "dd")], scored)
    assert not is_current(fit, [replace(SEATS[0], anchor=1500.0), *SEATS[1:]], scored)


def test_who_leaves_is_no_neighbour_any_more() -> None:
    """bob, in the middle, leaves: the stored difference of ann to bob is not what stands between ann and cat."""
    seats = [SEATS[0], replace(SEATS[1], active=False, entered=False), SEATS[2]]
    fit, scored = _fit(), scores(MEETINGS)
    assert not is_current(fit, seats, scored)
    assert is_current(fit, seats, scored, everyone=True)
    anew = _fit(seats)
    assert is_current(anew, seats, scored) and not is_current(anew, seats, scored, everyone=True)
    first, second = places(seats, scored, anew)
    assert [first.seat.label, second.seat.label] == [
        seats[version - 1].label for version in [int(row.name) for row in anew.rows] if version != 2
    ]
    assert first.next is not None and first.next.elo == pytest.approx(first.elo - second.elo)
    gone = next(place for place in places(seats, scored, anew, everyone=True) if place.seat.id == 2)
    assert gone.note == "withdrawn"


def test_the_suspended_stay_in_the_standings_with_the_reason() -> None:
    seats = [SEATS[0], replace(SEATS[1], active=False, suspended="it does not start"), SEATS[2]]
    notes = {place.seat.label: place.note for place in places(seats, scores(MEETINGS), _fit(seats))}
    assert notes == {"ann": "", "bob": "suspended: it does not start", "cat": "provisional"}


def test_a_place_has_the_games_and_the_share_of_points() -> None:
    ann = next(place for place in places(SEATS, scores(MEETINGS), _fit()) if place.seat.label == "ann")
    assert (ann.score.games, ann.score.share) == (25, 17.5 / 25)


def test_anchors_are_what_elo_is_against() -> None:
    seats = [replace(SEATS[0], anchor=1500.0), SEATS[1], SEATS[2]]
    fit = _fit(seats)
    there = places(seats, scores(MEETINGS), fit)
    assert named_table(seats, fit, there).about().startswith("zero is 1500 Elo below the anchor ann; ")
    (held,) = [place for place in there if place.note == "anchor"]
    assert (held.elo, held.se) == (1500, 0)
    two = [*seats[:2], replace(SEATS[2], anchor=1400.0)]
    fit = _fit(two)
    there = places(two, scores(MEETINGS), fit)
    assert "set by the anchors ann = 1500, cat = 1400; " in named_table(two, fit, there).about()
    assert sorted((row.elo, row.se) for row in fit.rows if int(row.name) in (1, 3)) == [(1400, 0), (1500, 0)]
    assert is_current(fit, two, scores(MEETINGS))


def test_a_fit_with_another_zero_is_not_current() -> None:
    """Earlier versions stored ratings whose mean was not zero, and anchors beside the rating at which they are held."""
    fit, scored = _fit(), scores(MEETINGS)
    assert is_current(fit, SEATS, scored)
    moved = replace(fit, rows=tuple(replace(row, elo=row.elo + 1) for row in fit.rows))
    assert not is_current(moved, SEATS, scored)
    seats = [replace(SEATS[0], anchor=1500.0), SEATS[1], SEATS[2]]
    fit = _fit(seats)
    assert is_current(fit, seats, scored)
    moved = replace(fit, rows=tuple(replace(row, elo=row.elo + 0.1) for row in fit.rows))
    assert not is_current(moved, seats, scored)


def test_a_twin_that_left_its_anchor_is_reported() -> None:
    """The twin is the anchor's version under another name; it scores far less against the same opponents."""
    seats = [
        replace(SEATS[0], anchor=1500.0),
        SEATS[1],
        PoolEntry(4, "ann-free", "ann-free", SEATS[0].version),
        PoolEntry(5, "bob-free", "bob-free", SEATS[1].version),
    ]
    even = [PairScore(1, 2, wins=50, losses=50), PairScore(4, 2, wins=50, losses=50), PairScore(5, 2, wins=9, losses=9)]
    assert _fit(seats, even).drifts == ()
    apart = [even[0], PairScore(4, 2, wins=10, losses=90), even[2]]
    fit = _fit(seats, apart)
    (drift,) = fit.drifts
    assert (drift.twin, drift.anchor) == ("4", "1") and drift.elo < -200 and drift.se > 0
    notes = {place.seat.label: place.note for place in places(seats, scores(apart), fit)}
    assert notes["ann-free"].startswith("drifts from its anchor ann by -") and notes["bob-free"] == "provisional"


def test_a_circle_of_wins_misfits() -> None:
    circle = [
        PairScore(1, 2, wins=99, losses=1),
        PairScore(2, 3, wins=99, losses=1),
        PairScore(3, 1, wins=99, losses=1),
    ]
    assert _fit(SEATS, [*circle, *(PairScore(m.second, m.first, m.losses, 0, m.wins) for m in circle)]).misfits_badly
    assert not _fit().misfits_badly


ISLANDS = [PairScore(1, 2, wins=8, losses=3), PairScore(3, 4, wins=5, losses=3), PairScore(4, 5, wins=2)]
FIVE = [*SEATS, PoolEntry(4, "dan", "dan", "dd"), PoolEntry(5, "eve", "eve", "ee")]

POOL = PoolRow(1, "key", "main", "yugo", {}, "1+0.1", 0, 0)


def test_groups_that_never_met_are_marked_and_not_compared() -> None:
    fit, scored = _fit(FIVE, ISLANDS), scores(ISLANDS)
    assert [set(group) for group in fit.groups] == [{"3", "4", "5"}, {"1", "2"}]
    assert [row.name for row in fit.rows] == [version for group in fit.groups for version in group]
    assert [row.next is None for row in fit.rows] == [False, False, True, False, True]
    assert is_current(fit, FIVE, scored)
    there = places(FIVE, scored, fit)
    assert [place.note.partition(";")[0] for place in there] == ["group 1"] * 3 + ["group 2"] * 2
    said = named_table(FIVE, fit, there).about()
    assert "2 groups of bots never met" in said and "group 1: dan, cat, eve; group 2: ann, bob" in said
    assert said.startswith("zero is the mean of each group; ")
    assert standings_json(Standings(POOL, FIVE, fit, there))["zero"] == "the mean of each group"
    one_shown = Standings(POOL, FIVE, fit, there[:3])
    assert standings_json(one_shown)["zero"] == "the mean of these bots" and "group" not in one_shown.zero()
    for group in fit.groups:
        assert sum(row.elo for row in fit.rows if row.name in group) == pytest.approx(0, abs=1e-9)
    joined = [*ISLANDS, PairScore(2, 3, ties=1)]
    fit = _fit(FIVE, joined)
    assert fit.groups == [] and "group" not in named_table(FIVE, fit, places(FIVE, scores(joined), fit)).about()


def test_a_bot_without_a_game_is_no_group() -> None:
    fit = _fit(FIVE[:4], ISLANDS[:1])
    assert fit.groups == [] and len(fit.rows) == 4
