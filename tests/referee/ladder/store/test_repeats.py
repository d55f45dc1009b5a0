"""Games that repeat others, in the store: found as they come, by the games again, and left out of ratings and tests."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from ggp.referee.cli import ladder_bots, ladder_standings
from ggp.referee.ladder.standings import read_standings, standings_json
from ggp.referee.ladder.store.model import FinishedGame
from ggp.referee.ratings.repeats import Observations
from tests.support.cli import ggp_in_process as ggp
from tests.support.stores import Filled, match

Capture = pytest.CaptureFixture[str]


def play(filled: Filled, pairs: Sequence[tuple[int, int, int]], first: str = "ann", second: str = "bob") -> None:
    """Pairs by their opening and the moves of both games; the winner of a game follows from its moves."""
    for opening, *moves in pairs:
        pair = filled.issue(first, second)
        games = list[FinishedGame]()
        for game, line in enumerate(moves):
            one = match(pair, game, line % 2, names=(first, second))
            games.append(replace(one, result=replace(one.result, opening=opening, moves=line)))
        filled.store.add(games)


def repeats(filled: Filled) -> int:
    return sum(sum(counts) for _, _, *counts in filled.store.repeats(filled.pools["fast"]))


def test_games_that_repeat_are_counted_as_they_come(tmp_path: Path) -> None:
    with Filled(tmp_path) as filled:
        for number, want in enumerate([0, 0, 4, 6], 1):  # two games a pair, each of its own seating
            play(filled, [(7, 10, 21)])
            assert repeats(filled) == want, f"after {number} pairs"
        play(filled, [(8, 10, 21)])
        assert repeats(filled) == 6, "another opening is something else"
        play(filled, [(7, 12, 21)])
        assert repeats(filled) == 4, "one game that differs makes those of its seating evidence"


def test_the_store_finds_what_the_rule_says(tmp_path: Path) -> None:
    chance = Random(2)
    with Filled(tmp_path) as filled:
        games = [(chance.randrange(6), chance.choice([2, 2, 2, 4]), chance.choice([3, 3, 5])) for _ in range(24)]
        play(filled, games)
        rule = Observations()
        for opening, *moves in games:
            for game, line in enumerate(moves):
                rule.add((game, opening), line, line)
        assert repeats(filled) == rule.repeated > 0


def test_ratings_leave_repeats_out_and_say_so(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "few").mkdir()
    with Filled(tmp_path) as filled, Filled(tmp_path / "few") as few:
        play(filled, [(7, 10, 21)] * 20)
        play(few, [(7, 10, 21)])
        (pool,), (other,) = filled.store.pools(), few.store.pools()
        found, want = read_standings(filled.store, pool), read_standings(few.store, other)
        assert found.fit is not None and want.fit is not None
        assert [(row.elo, row.se) for row in found.fit.rows] == [(row.elo, row.se) for row in want.fit.rows]
        assert [place.score.games for place in found.places][:2] == [40, 40], "the score is of all games"
        assert found.repeated == 38 and want.repeated == 0
        assert not any(row.enough for row in found.places + want.places)
        assert [row["note"] for row in standings_json(found)["ratings"]] == ["provisional"] * 4
        ladder_standings.show_standings(found)
    told = capsys.readouterr().out
    assert "38 of 40 games repeat others and do not count in the ratings" in told and "openings = 4" in told
    assert "provisional: " in told and "; 20 games of a bot are enough" in told


def test_a_pair_of_bots_and_its_test_leave_repeats_out(tmp_path: Path, capsys: Capture) -> None:
    with Filled(tmp_path) as filled:
        play(filled, [(7, 10, 21)] * 20)
        play(filled, [(7, 21, 10)] * 3, "bob", "ann")
    file = str(tmp_path / "club.db")
    assert ladder_bots.run_pair(["ann", "bob", file, "--elo0", "0", "--elo1", "20"]) == 0
    told = capsys.readouterr().out
    assert "22 of 23 pairs repeat others and do not count" in told and "too few games for an Elo" in told
    rated = ggp("rate", file, "--json")
    assert rated.json["repeated"] == 42 and [line["games"] for line in rated.json["ratings"]] == [46, 46]
    judged = ggp("sprt", file, "--preset", "gate", "--json").json
    assert (judged["games"], judged["repeated"]) == (2, 44)


def test_the_check_reads_moves_from_the_records(tmp_path: Path) -> None:
    """Games whose moves are unknown repeat nothing until the check has read their records."""
    with Filled(tmp_path) as filled:
        filled.meet("ann", "bob", *[(0, "rules"), (1, "rules")] * 5)
        assert repeats(filled) == 0
        assert filled.store.check().lines == [], "unknown moves are no damage"
        filled.store.repair()
        assert repeats(filled) == 8 and filled.store.check().lines == []
