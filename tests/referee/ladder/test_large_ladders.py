"""What is read or reckoned another way so that ladders of 10⁶ games stay quick says the same as the plain way."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import astuple, replace
from itertools import islice
from pathlib import Path
from random import Random

import numpy as np
import pytest

from ggp.referee.ladder.queries import PoolSummary, RecentGames, recent_games
from ggp.referee.ladder.rating import ResultsTable, rate_seats
from ggp.referee.ladder.standings import BotScore, make_fit, read_standings, standings_json
from ggp.referee.ladder.store.model import GameRow, Pairing, PairScore, PoolEntry
from ggp.referee.ratings.ratings import Ratings, starting_point
from ggp.referee.ratings.standings import RatingTable, Standing
from ggp.referee.server.web.pages import render
from tests.support.schedule_runs import seats_of
from tests.support.stores import Filled, ladder, match, meetings_in

BOTS = ["ann", "bob", "cat", "dan", "eve"]
ENDINGS = [
    (0, "rules"),
    (1, "rules"),
    (-1, "rules"),
    (0, "resignation"),
    (1, "time"),
    (0, "illegal_move"),
    (-1, "ply_limit"),
]
SEEDS = range(3)


def a_random_ladder(folder: Path, seed: int, pairs: int = 40) -> Filled:
    """Games of all kinds between bots of which one meets few others; nothing is rated yet."""
    chance, filled = Random(seed), Filled(folder, ladder(BOTS))
    pool = filled.pools["fast"]
    names = {entry.id: entry.label for entry in filled.store.seats(pool)}
    ids = list(names)
    two = [chance.sample(ids[: 5 if chance.random() < 0.2 else 4], 2) for _ in range(pairs)]
    games = []
    for pair in filled.store.issue(pool, 0, [Pairing(*one) for one in two]):
        both = names[pair.first], names[pair.second]
        for game in range(chance.choice([2, 2, 2, 1])):
            winner, termination = chance.choice(ENDINGS)
            games.append(match(pair, game, winner, termination, names=both, plies=chance.randrange(2, 9)))
    filled.store.add(games)
    return filled


@pytest.fixture(params=SEEDS)
def filled(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Filled]:
    with a_random_ladder(tmp_path, request.param) as made:
        yield made


# -- ratings that begin at those that were kept ----------------------------------------------------------------------


def random_meetings(chance: Random, bots: int, games: int) -> list[PairScore]:
    """Of bots of which each stands 40 Elo above the one before; some have no game."""
    met: dict[tuple[int, int], list[int]] = {}
    for _ in range(games):
        first, second = chance.sample(range(1, bots + 1), 2)
        won = 1 / (1 + math.exp(-(first - second) / 4.3))
        kind = chance.choices([0, 1, 2, 3, 4, 5], [won, 0.2, 1 - won, won / 9, (1 - won) / 9, 0.05])[0]
        met.setdefault((first, second), [0] * 6)[kind] += 1
    return [PairScore(*both, *counts) for both, counts in sorted(met.items())]


def printed(ratings: Ratings, seats: Sequence[PoolEntry]) -> list[str]:
    """Every number of a fit, finer than any page or table shows it."""
    fit = make_fit(ratings, 1, seats)
    rows = [
        [f"{value:.7f}" if isinstance(value, float) else str(value) for value in (*astuple(row)[:5], *after)]
        for row in fit.rows
        for after in [astuple(row.next) if row.next else ()]
    ]
    rest = (fit.advantage, fit.advantage_se, fit.tie, fit.deviance)
    misfits = [f"{one.first} {one.second} {one.score:.6f} {one.expected:.6f} {one.deviance:.6f}" for one in fit.misfits]
    return ["; ".join(row) for row in rows] + [f"{value:.6f}" for value in rest] + misfits


def kept_table(elo: dict[str, float], advantage: float, tie: float, model: str = "davidson") -> RatingTable:
    """Ratings of before, by name."""
    rows = [Standing(name, value, 1.0, 1, 1.0) for name, value in elo.items()]
    return RatingTable(1, model, advantage, 1.0, tie, rows)


@pytest.mark.parametrize("model", ["davidson", "rao-kupper"])
@pytest.mark.parametrize("anchored", [False, True])
def test_a_fit_ends_at_the_same_ratings_wherever_it_begins(model: str, anchored: bool) -> None:
    for seed in range(6):
        chance = Random(seed)
        bots = chance.randrange(2, 25)
        seats = list(seats_of(bots))
        if anchored:
            seats[0] = replace(seats[0], anchor=1500.0)
        if bots > 3:
            seats[3] = replace(seats[3], parent=2)
        before = random_meetings(chance, bots, 10 * bots)
        now = before + random_meetings(chance, bots, 5 * bots)
        cold = rate_seats(now, seats, model)
        kept = make_fit(rate_seats(before, seats, model), 1, seats)
        again = make_fit(cold, 1, seats)
        wild = kept_table({str(id): chance.gauss(0, 2000) for id in range(1, bots + 1)}, 900.0, 7.0, model)
        few = kept_table({"1": 30.0, "99": 5.0}, 0.0, 0.1, model)
        for start in (kept, again, wild, few):
            warm = rate_seats(now, seats, model, start)
            assert printed(warm, seats) == printed(cold, seats), (seed, start)
            assert np.abs(warm.elo - cold.elo).max() < 1e-6
        assert rate_seats(now, seats, model, again).fitted.steps <= min(2, cold.fitted.steps)


def test_what_no_fit_can_begin_from_is_left() -> None:
    names = ["1", "2"]
    for bad in (
        kept_table({}, 0.0, 0.5),
        kept_table({"3": 1.0}, 0.0, 0.5),
        kept_table({"1": 1.0}, 0.0, 0.0),
        kept_table({"1": math.nan}, 0.0, 0.5),
        kept_table({"1": math.inf}, 0.0, 0.5),
        kept_table({"1": 1.0}, math.nan, 0.5),
        kept_table({"1": 1.0}, 0.0, math.inf),
    ):
        assert starting_point(bad, names) is None
    point = starting_point(kept_table({"1": 1.0}, 0.0, 1.0), names)
    assert point is not None and point.theta[0] == point.theta[1] and point.t == 0.0


def test_standings_say_the_same_with_and_without_kept_ratings(filled: Filled) -> None:
    (pool,) = filled.store.pools()
    cold = standings_json(read_standings(filled.store, pool))
    seats, meetings = filled.store.seats(pool.id), filled.store.meetings(pool.id)
    half = make_fit(rate_seats(meetings[: len(meetings) // 2], seats), 1, seats)
    filled.store.save_fit(pool.id, half)  # of fewer games than there are
    assert filled.store.fit(pool.id) == half
    warm = standings_json(read_standings(filled.store, pool))
    assert [one["name"] for one in warm["ratings"]] == [one["name"] for one in cold["ratings"]]
    for one, two in zip(warm["ratings"], cold["ratings"], strict=True):
        for key in ("elo", "se"):
            assert one[key] == pytest.approx(two[key], abs=1e-7)
        assert {key: one[key] for key in one if key not in ("elo", "se", "next")} == {
            key: two[key] for key in two if key not in ("elo", "se", "next")
        }
    for key in ("advantage", "tie", "deviance"):
        assert warm[key] == pytest.approx(cold[key], abs=1e-7)


# -- meetings and games ----------------------------------------------------------------------------------------------


def test_the_numbers_of_meetings_are_those_of_the_meetings(filled: Filled) -> None:
    pool = filled.pools["fast"]
    meetings, counts = filled.store.meetings(pool), filled.store.meeting_counts(pool)
    assert meetings_in(counts) == [astuple(met) for met in meetings] and len(meetings) > 5
    assert (ResultsTable.of(counts).rows == ResultsTable(meetings).rows).all()
    backward = [",".join(values.split(",")[::-1]) for values in counts]
    assert (ResultsTable.of(backward).rows == ResultsTable(meetings).rows).all()
    assert ResultsTable.of([]).rows.shape == ResultsTable([]).rows.shape
    assert filled.store.meeting_counts(pool + 1) == []


def test_the_newest_games_of_a_bot_are_those_of_the_list(filled: Filled) -> None:
    (pool,) = filled.store.pools()
    for seat in filled.store.seats(pool.id):
        listed = list(filled.store.games(pool.id, bot=seat.id))
        for most in (0, 1, 7, 500):
            found = filled.store.newest_of(pool.id, seat.id, most)
            assert [game.key for game in found] == [row.key for row in listed[:most]]
            summary = recent_games(filled.store, pool, seat, most)
            expected = by_the_list(listed[:most], seat, pool.openings)
            for name in ("games", "black", "white", "ends", "faults", "ms", "plies"):
                assert getattr(summary, name) == getattr(expected, name), (seat.label, name)


def by_the_list(rows: Sequence[GameRow], seat: PoolEntry, openings: int) -> RecentGames:
    """The sums of recent_games, row by row."""
    found = RecentGames()
    for row in rows:
        mine = 1 if row.first == seat.label else 2
        found.games += 1
        found.ends[row.termination] += 1
        found.ms += (row.ms1, row.ms2)[mine - 1]
        found.plies += max(0, row.plies - openings) / 2
        if row.culprit == seat.label:
            found.faults[row.termination] += 1
        if row.winner:
            score = BotScore(wins=1) if row.winner == mine else BotScore(losses=1)
            if (row.result[0] == "B") == (row.winner == mine):
                found.black += score
            else:
                found.white += score
    return found


def test_bot_pages_say_the_same_when_all_meetings_are_read_at_once(filled: Filled) -> None:
    (row,) = filled.store.pools()
    single, whole = PoolSummary(filled.store, row), PoolSummary(filled.store, row, whole=True)
    for seat in single.standings.seats:
        one, two = single.bot(seat), whole.bot(seat)
        assert one == two and list(one.opponents) == list(two.opponents)
    for name in islice(BOTS, 2):
        values = {"root": "../", "name": name, "ladder": "test", "kept": {}}
        assert render("bot.html", pools=[single], **values) == render("bot.html", pools=[whole], **values)
