"""Games that repeat: what bots that do not randomise play again is one observation, what chance repeats is evidence."""

from collections.abc import Callable, Sequence
from random import Random

import pytest

from ggp.referee.ratings.repeats import FEWEST, Observations, line_digest
from ggp.referee.ratings.sequential import PlayedPair, SequentialTest
from ggp.referee.ratings.sprt import Hypotheses, effect, log_likelihood_ratio


def observed(games: Sequence[tuple[object, object, int]]) -> Observations:
    found = Observations()
    for start, line, outcome in games:
        found.add(start, line, outcome)
    return found


@pytest.mark.parametrize("games", [1, 2])
def test_fewer_than_three_games_show_nothing(games: int) -> None:
    assert observed([("", "a", 2)] * games).counts == {2: games}


@pytest.mark.parametrize("games", [FEWEST, 4, 40])
def test_from_three_games_on_a_repeated_game_counts_once(games: int) -> None:
    found = observed([("", "a", 2)] * games)
    assert found.counts == {2: 1} and (found.games, found.distinct, found.repeated) == (games, 1, games - 1)


@pytest.mark.parametrize("before", [1, 2, 3, 40])
def test_one_game_that_differs_makes_all_of_them_evidence(before: int) -> None:
    found = observed([*[("", "a", 2)] * before, ("", "b", 0), ("", "a", 2)])
    assert found.counts == {2: before + 1, 0: 1} and found.repeated == 0 and found.distinct == 2


def test_openings_and_seats_are_looked_at_one_by_one() -> None:
    found = observed([(start, "a", 1) for start in ("x", "y") for _ in range(5)] + [("z", "a", 1), ("z", "b", 1)])
    assert found.counts == {1: 4} and found.distinct == 4


def test_the_order_of_games_does_not_matter() -> None:
    chance = Random(5)
    for _ in range(200):
        games: list[tuple[object, object, int]] = []
        for start in range(4):
            games += [(start, line, line % 3) for line in chance.choices(range(2), k=chance.randrange(7))]
        want = observed(games)
        chance.shuffle(games)
        assert (+observed(games).counts, observed(games).distinct) == (+want.counts, want.distinct)


def test_games_of_unknown_moves_are_evidence() -> None:
    found = Observations()
    found.add_plain(2, 10)
    assert found.counts == {2: 10} and found.repeated == 0


def test_a_digest_tells_moves_and_results_apart() -> None:
    said = [(["A1", "B2"], "B+1"), (["A1", "B2"], "W+1"), (["A1"], "B+1"), (["A1 B2"], "B+1"), ([], ""), (["=B+1"], "")]
    digests = [line_digest(moves, result) for moves, result in said]
    assert len(set(digests)) == len(said) and all(0 <= digest < 2**63 for digest in digests)
    assert line_digest(["A1", "B2"], "B+1") == digests[0]


def test_a_sequential_test_reads_a_repeated_pair_once() -> None:
    hypotheses = Hypotheses(0, 20)
    test = SequentialTest(hypotheses)
    test.expect(range(200))
    for number in range(200):
        test.offer(number, PlayedPair(4, (2, 2), 7, (1, 2)))
    verdict = test.verdict(over=True)
    assert test.penta == [0, 0, 0, 0, 200] and test.counts == [0, 0, 0, 0, 1] and not test.accepted
    assert test.llr == log_likelihood_ratio([0, 0, 0, 0, 1], hypotheses)
    assert (verdict.games, verdict.repeated, verdict.enough) == (2, 398, False)


def test_the_model_of_games_reads_repeated_games_once_too() -> None:
    test = SequentialTest(Hypotheses(0, 20, model="bayes"))
    test.expect(range(50))
    for number in range(50):
        test.offer(number, PlayedPair(2, (2, 0), 7, (1, 2)))
    assert test.games == [50, 0, 50] and test.counts == [1, 0, 1]


# -- coverage: how often the printed 95 % interval holds the true value -----------------------------------------------


PAIRS = (0.15, 0.1, 0.3, 0.15, 0.3)  # how probable 0, ½, 1, 1½, 2 points of a pair are
TRUE = effect([round(share * 10**9) for share in PAIRS]).elo


def coverage(play: Callable[[Random], tuple[Observations, list[int]]], repeated: int = 400) -> tuple[float, float]:
    """The shares of the intervals that hold the true value: by observations, and by all pairs."""
    chance, held = Random(11), [0, 0]
    assert TRUE is not None
    for _ in range(repeated):
        found, penta = play(chance)
        for which, counts in enumerate([[found.counts[points] for points in range(5)], penta]):
            said = effect(counts)
            assert said.elo_low is not None and said.elo_high is not None
            held[which] += said.elo_low <= TRUE <= said.elo_high
    return held[0] / repeated, held[1] / repeated


def chance_in_a_tiny_game(chance: Random) -> tuple[Observations, list[int]]:
    """Two random bots from one opening, in a game with five pairs of move lists: each comes again many times."""
    found, penta = Observations(), [0] * 5
    for points in chance.choices(range(5), PAIRS, k=60):
        found.add("", points, points)
        penta[points] += 1
    return found, penta


def bots_without_chance(chance: Random) -> tuple[Observations, list[int]]:
    """From each of forty openings they play the same pair ten times."""
    found, penta = Observations(), [0] * 5
    for opening, points in enumerate(chance.choices(range(5), PAIRS, k=40)):
        for _ in range(10):
            found.add(opening, opening, points)
        penta[points] += 10
    return found, penta


def test_chance_that_repeats_itself_stays_evidence() -> None:
    by_observations, by_pairs = coverage(chance_in_a_tiny_game)
    assert by_observations == by_pairs and 0.92 <= by_observations <= 0.98


def test_intervals_of_bots_without_chance_hold_what_they_promise() -> None:
    by_observations, by_pairs = coverage(bots_without_chance)
    assert 0.92 <= by_observations <= 0.98
    assert by_pairs < 0.6, "counted ten times over, the same games make intervals that are far too narrow"
